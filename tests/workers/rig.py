"""An engine with a scheduler that is moved by hand, and real processes."""

import os
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import msgspec

from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.adapters.runners.command import CommandRunner
from everloop.app import USER, Engine
from everloop.inbox import AnswerRequest, RequestView
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.workers import (
    Runner,
    Task,
    TaskScheduler,
    TaskSpec,
    TaskView,
    WorkerMachine,
    WorkerSettings,
)

WAIT_S = 60.0


class Rig:
    """An engine whose tasks run when a test says so."""

    def __init__(self, home: Path, stage: DeterministicPorts, runners: tuple[Runner, ...]) -> None:
        self.stage = stage
        self.settings = Settings(
            memory=MemorySettings(embedder="none"), workers=WorkerSettings(parallel_max=8)
        )
        self.engine = Engine.open(home, settings=self.settings, ports=stage.ports)
        self.processes = SupervisedProcesses(home / "workers")
        self.runners = runners
        self.scheduler = self.new_scheduler()

    def new_scheduler(self) -> TaskScheduler:
        """A scheduler that knows only the log and the folders, as after a restart."""
        engine = self.engine
        self.processes = SupervisedProcesses(engine.log.file.path.parent / "workers")
        machine = WorkerMachine(
            self.runners, self.processes, engine.workspaces, engine.task_folders
        )
        return TaskScheduler(engine.log, engine, self.stage.clock, machine, self.settings.workers)

    def restart(self) -> None:
        """Forget everything that is not in the log or on disk."""
        self.scheduler = self.new_scheduler()

    def start(self, *argv: str, **more: Any) -> str:
        """Start a command as the user; returns the task's id."""
        spec = TaskSpec("A command", command=argv)
        spec = msgspec.structs.replace(spec, **more)
        return self.engine.workers.propose(spec, USER, start=True).task.task_id

    def task(self, task_id: str) -> Task:
        """A task as it is now."""
        return self.view(task_id).task

    def view(self, task_id: str) -> TaskView:
        """A task with its times."""
        return self.engine.workers.find(task_id)

    def until(self, task_id: str, *states: str) -> Task:
        """Run the scheduler until a task is in one of these states."""
        deadline = time.monotonic() + WAIT_S
        while time.monotonic() < deadline:
            self.scheduler.tick()
            if (task := self.task(task_id)).state in states:
                return task
            time.sleep(0.01)
        raise AssertionError(f"still {self.task(task_id)}")

    def shown(self, task_id: str) -> str:
        """All that a task's attempts showed."""
        parts = self.engine.workers.transcript(task_id)
        return "".join(entry.text for part in parts for entry in part.entries)

    def waiting(self) -> list[RequestView]:
        """What waits for the user."""
        seen = self.engine.inbox.overview()
        return [*seen.needs_you, *seen.failed, *seen.finished]

    def answer(self, choice: str, **more: Any) -> None:
        """Answer the one request that waits."""
        (request,) = self.waiting()
        self.answer_one(request, choice, **more)

    def answer_one(self, request: RequestView, choice: str, **more: Any) -> None:
        """Answer a request."""
        said = AnswerRequest(request.request_id, choice, request.digest, **more)
        self.engine.inbox.answer(said, USER)


@contextmanager
def rig(home: Path, runners: tuple[Runner, ...] = ()) -> Generator[Rig]:
    """An engine with a command runner; at the end nothing of it runs any more."""
    one = Rig(home, DeterministicPorts(), runners or (CommandRunner(),))
    try:
        yield one
    finally:
        for folder in (home / "workers" / "tasks").glob("*/*"):
            one.processes.terminate(folder)
            one.processes.sweep(folder)
        one.engine.close()
        assert survivors(home) == []


def survivors(home: Path) -> list[int]:
    """The processes that tasks of a home left behind."""
    mark = f"EVERLOOP_ATTEMPT={home}".encode()
    found: list[int] = []
    for entry in os.listdir("/proc"):
        try:
            if entry.isdigit() and mark in Path(f"/proc/{entry}/environ").read_bytes():
                found.append(int(entry))
        except OSError:
            continue
    return found
