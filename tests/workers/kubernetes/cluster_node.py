"""A node of Everloop that runs tasks as Jobs.

As a process of its own, to be killed: HOME KUBECONFIG NAMESPACE.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from everloop.adapters.kubernetes.jobs import KubernetesJobs
from everloop.adapters.kubernetes.runner import KubernetesRunner, PodWorkspaces
from everloop.adapters.processes.task_folders import LocalTaskFolders
from everloop.app import USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.workers import KubernetesSettings, Task, TaskScheduler, TaskSpec, WorkerMachine

WAIT_S = 60.0


def _scheduler(
    engine: Engine, folder: Path, chosen: KubernetesSettings
) -> tuple[TaskScheduler, KubernetesJobs]:
    """The scheduler of Jobs of one node, with a folder of its own."""
    jobs = KubernetesJobs(folder, chosen)
    folders = LocalTaskFolders(folder.parent, folder.name)
    machine = WorkerMachine((KubernetesRunner(chosen),), jobs, PodWorkspaces(), folders)
    settings = Settings(memory=MemorySettings(embedder="none")).workers
    return TaskScheduler(engine.log, engine, engine.ports.clock, machine, settings), jobs


class Node:
    """An engine with the scheduler of Jobs of one node."""

    def __init__(self, home: Path, chosen: KubernetesSettings, name: str) -> None:
        settings = Settings(memory=MemorySettings(embedder="none"))
        self.engine = Engine.open(home, settings=settings)
        self.scheduler: TaskScheduler
        self.jobs: KubernetesJobs
        self._home, self._chosen = home, chosen
        self.take_over(name)

    def take_over(self, name: str) -> None:
        """Go on as another node would: with nothing but the log and the cluster."""
        self.scheduler, self.jobs = _scheduler(self.engine, self._home / name, self._chosen)

    def start(self, script: str, **more: Any) -> str:
        """Start a shell script as a Job."""
        spec = TaskSpec("A job", runner="kubernetes", command=("sh", "-c", script))
        spec = msgspec.structs.replace(spec, **more)
        return self.engine.workers.propose(spec, USER, start=True).task.task_id

    def task(self, task_id: str) -> Task:
        return self.engine.workers.find(task_id).task

    def until(self, met: Callable[[], bool]) -> None:
        """Schedule until something is so."""
        deadline = time.monotonic() + WAIT_S
        while not met():
            assert time.monotonic() < deadline
            self.scheduler.tick()
            time.sleep(0.01)

    def until_state(self, task_id: str, *states: str) -> Task:
        """Schedule until a task is in one of these states."""
        self.until(lambda: self.task(task_id).state in states)
        return self.task(task_id)

    def until_ended(self, task_id: str) -> Task:
        """Schedule until a task has ended, however it did."""
        return self.until_state(task_id, "done", "failed", "uncertain", "cancelled")

    def shown(self, task_id: str) -> str:
        """All that was recorded of a task's output."""
        parts = self.engine.workers.transcript(task_id)
        return "".join(entry.text for part in parts for entry in part.entries)

    def ends(self, task_id: str) -> int:
        """How often an end was recorded."""
        records = self.engine.log.records()
        kinds = [one.kind for one in records if one.stream == f"task:{task_id}"]
        return kinds.count("workers.attempt_ended")


@contextmanager
def open_node(home: Path, chosen: KubernetesSettings, name: str = "node") -> Generator[Node]:
    """A node, for as long as it is needed."""
    one = Node(home, chosen, name)
    try:
        yield one
    finally:
        one.jobs.close()
        one.engine.close()


@contextmanager
def killed_node(home: Path, chosen: KubernetesSettings) -> Generator[None]:
    """Another node on the same log, as a process, which is killed in the end."""
    place = (str(home), chosen.kubeconfig, chosen.namespace)
    words = [sys.executable, "-m", "tests.workers.kubernetes.cluster_node", *place]
    process = subprocess.Popen(words)  # noqa: S603 - our own programme
    try:
        yield
    finally:
        os.kill(process.pid, signal.SIGKILL)
        process.wait()


def main(home: Path, kubeconfig: str, namespace: str) -> None:
    """Schedule until somebody ends this process."""
    chosen = KubernetesSettings(namespace=namespace, kubeconfig=kubeconfig)
    with Engine.open(home, settings=Settings(memory=MemorySettings(embedder="none"))) as engine:
        scheduler, _ = _scheduler(engine, home / "first-node", chosen)
        while True:
            scheduler.tick()
            time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), sys.argv[2], sys.argv[3])
