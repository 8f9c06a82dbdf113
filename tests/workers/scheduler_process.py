"""A server as a process of its own, to be killed: `python … HOME EFFECTS`.

It schedules tasks, and takes the user's answers to approvals, as the server does over HTTP.
"""

import sys
import time
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

import msgspec
from tests.workers import asking_agent

from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.adapters.runners.agent_records import (
    conclude_records,
    input_records,
    parse_records,
    reply_record,
)
from everloop.adapters.runners.command import CommandRunner
from everloop.adapters.runners.environment import scrubbed_environment
from everloop.app import USER, Engine
from everloop.errors import Conflict
from everloop.inbox import AnswerRequest
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.workers import (
    Conclusion,
    Launch,
    Parsed,
    PreparedWorkspace,
    ProcessExit,
    Task,
    TaskScheduler,
    WorkerMachine,
    WorkerSettings,
)


class AskingRunner:
    """Runs the agent that asks for one approval."""

    name = "asking"
    is_installed = True

    def __init__(self, effects: Path) -> None:
        self._effects = effects

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The agent with its order; every second one holds its call open."""
        order = {
            "brief": task.spec.brief,
            "defers": int(task.spec.brief) % 2 == 0,
            "effects": str(self._effects),
            "replies": {one.call_id: reply_record(one) for one in task.replies},
        }
        (folder / "order.json").write_bytes(msgspec.json.encode(order))
        argv = (sys.executable, "-I", "-S", str(Path(asking_agent.__file__)), str(folder))
        return Launch(argv, place.path, scrubbed_environment(task, folder), 600, 1_000_000)

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """The whole lines of a piece of output."""
        return parse_records(data, ended=ended)

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """What the last record says."""
        return conclude_records(task, ended, tail, "The agent")

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Answers that came while the process runs."""
        return input_records(task, sent)


def answer_approvals(engine: Engine) -> None:
    """Allow what is asked, but deny every fourth; each answer comes from two devices."""
    for request in engine.inbox.overview().needs_you:
        if request.kind != "approval":
            continue
        choice = "deny" if is_denied(int(request.body)) else "approve"
        for _ in range(2):
            with suppress(Conflict):
                said = AnswerRequest(request.request_id, choice, request.digest)
                engine.inbox.answer(said, USER)


def is_denied(number: int) -> bool:
    """Whether the user denies what this task asks for."""
    return number % 4 >= 2


def main(home: Path, effects: Path) -> None:
    """Schedule until somebody ends this process."""
    workers = WorkerSettings(parallel_max=6)
    settings = Settings(memory=MemorySettings(embedder="none"), workers=workers)
    with Engine.open(home, settings=settings) as engine:
        machine = WorkerMachine(
            (CommandRunner(), AskingRunner(effects)),
            SupervisedProcesses(home / "workers"),
            engine.workspaces,
            engine.task_folders,
        )
        scheduler = TaskScheduler(engine.log, engine, engine.ports.clock, machine, workers)
        while True:
            answer_approvals(engine)
            scheduler.tick()
            time.sleep(0.02)


if __name__ == "__main__":
    main(Path(sys.argv[1]), Path(sys.argv[2]))
