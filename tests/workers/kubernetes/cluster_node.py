"""A node that runs tasks as Jobs, as a process of its own, to be killed: HOME KUBECONFIG."""

import sys
import time
from pathlib import Path

from everloop.adapters.kubernetes.jobs import KubernetesJobs
from everloop.adapters.kubernetes.runner import KubernetesRunner, PodWorkspaces
from everloop.app import Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.workers import KubernetesSettings, Machine, TaskScheduler


def node(engine: Engine, folder: Path, kubeconfig: Path) -> tuple[TaskScheduler, KubernetesJobs]:
    """The scheduler of Jobs of one node, with a folder of its own."""
    chosen = KubernetesSettings(namespace="workers", kubeconfig=str(kubeconfig))
    jobs = KubernetesJobs(folder, chosen)
    machine = Machine((KubernetesRunner(chosen),), jobs, PodWorkspaces())
    settings = Settings(memory=MemorySettings(embedder="none")).workers
    return TaskScheduler(engine.log, engine, engine.world.clock, machine, settings), jobs


def main(home: Path, kubeconfig: Path) -> None:
    """Schedule until somebody ends this process."""
    with Engine.open(home, settings=Settings(memory=MemorySettings(embedder="none"))) as engine:
        scheduler, _ = node(engine, home / "first-node", kubeconfig)
        while True:
            scheduler.tick()
            time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
