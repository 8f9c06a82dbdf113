"""Processes of tasks: how long one takes to start, and what many that print cost the server."""

import asyncio
import subprocess
import sys
import tempfile
import time
from functools import partial
from pathlib import Path

from bench.comparison import Claim, Outcome, Round, bounded, dearer, require
from bench.run_folder import RunFolder
from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.adapters.runners.command import CommandRunner
from everloop.adapters.system import system_ports
from everloop.app import USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.workers import (
    Grants,
    TaskLimits,
    TaskScheduler,
    TaskSpec,
    WorkerMachine,
    WorkerSettings,
    Workspace,
)

STARTS = 7
PRINTING = 100
LINES_S = 1_000
PRINTING_S = 10
PRINT = """
import sys, time
began = time.monotonic()
for number in range(int(sys.argv[1])):
    if number % 100 == 0:
        time.sleep(max(0, began + number / float(sys.argv[2]) - time.monotonic()))
        sys.stdout.flush()
    print(number)
"""


def measures() -> dict[str, partial[Outcome]]:
    """Every measure by name."""
    return {"worker-start": partial(start), "worker-output": partial(output)}


def start(run: RunFolder) -> Outcome:
    """A command in a worktree of its own, beside `git worktree add` and a bare subprocess."""
    title = "start a command in a worktree, until it runs"
    claim = Claim("worker-start", title, "asyncio.create_subprocess_exec", "ms", "at most", 1.5)
    with tempfile.TemporaryDirectory(dir=run.folder("worker-start").parent) as place:
        folder = Path(place)
        code = _repository(folder / "code")
        with _engine(folder / "home", 8) as (engine, scheduler):
            rounds = [
                Round(
                    1_000 / _ours_ms(engine, scheduler, code, folder, n),
                    1_000 / _bare_ms(code, folder, n),
                )
                for n in range(STARTS + 1)
            ]
    return dearer(claim, rounds[1:])


def output(run: RunFolder) -> Outcome:
    """The inbox while many commands print; every line must be in the transcripts."""
    title = f"p99 of the inbox while {PRINTING} commands print {LINES_S:,} lines/s each"
    claim = Claim("worker-output", title, "", "ms", "at most", 250)
    count = LINES_S * PRINTING_S
    with tempfile.TemporaryDirectory(dir=run.folder("worker-output").parent) as place:
        home = Path(place) / "home"
        with _engine(home, PRINTING) as (engine, scheduler):
            argv = (sys.executable, "-c", PRINT, str(count), str(LINES_S))
            spec = TaskSpec(
                "Print",
                command=argv,
                grants=Grants(sandbox="off"),
                limits=TaskLimits(output_bytes_max=10_000_000),
            )
            names = [
                engine.workers.propose(spec, USER, start=True).task.task_id for _ in range(PRINTING)
            ]
            taken = asyncio.run(_look_until_done(engine, scheduler, names))
            expected = "".join(f"{number}\n" for number in range(count))
            for name in names:
                require(_shown(engine, name) == expected, f"{name} lost output")
    taken.sort()
    return bounded(claim, [taken[int(len(taken) * 0.99) - 1]])


async def _look_until_done(
    engine: Engine, scheduler: TaskScheduler, names: list[str]
) -> list[float]:
    """Look at the inbox all the time, as a page does, while the scheduler works in a thread."""
    over, taken = False, list[float]()

    def schedule() -> None:
        nonlocal over
        while any(engine.workers.find(name).task.state != "done" for name in names):
            scheduler.tick()
            time.sleep(0.1)
        over = True

    scheduling = asyncio.create_task(asyncio.to_thread(schedule))
    while not over:
        began = time.perf_counter()
        await asyncio.to_thread(engine.inbox.overview)
        taken.append((time.perf_counter() - began) * 1_000)
        await asyncio.sleep(0.05)
    await scheduling
    return taken


def _shown(engine: Engine, name: str) -> str:
    text, after = list[str](), 0
    while parts := engine.workers.transcript(name, after):
        text += [entry.text for part in parts for entry in part.entries]
        after = parts[-1].position
    return "".join(text)


def _ours_ms(
    engine: Engine, scheduler: TaskScheduler, code: Path, folder: Path, number: int
) -> float:
    mark = folder / f"ours-{number}"
    spec = TaskSpec(
        f"Start {number}",
        command=("touch", str(mark)),
        workspace=Workspace("worktree", str(code)),
        grants=Grants(sandbox="off"),
    )
    name = engine.workers.propose(spec, USER, start=True).task.task_id
    began = time.perf_counter()
    scheduler.tick()
    _wait_for(mark)
    taken = (time.perf_counter() - began) * 1_000
    while engine.workers.find(name).task.state != "review":
        scheduler.tick()
    return taken


def _bare_ms(code: Path, folder: Path, number: int) -> float:
    mark, tree = folder / f"bare-{number}", folder / f"tree-{number}"

    async def run() -> None:
        add = ("git", "-C", str(code), "worktree", "add", "-q", "-b", f"b{number}", str(tree))
        made = await asyncio.create_subprocess_exec(*add)
        await made.wait()
        ran = await asyncio.create_subprocess_exec("touch", str(mark), cwd=tree)
        _wait_for(mark)
        await ran.wait()

    began = time.perf_counter()
    asyncio.run(run())
    return (time.perf_counter() - began) * 1_000


def _wait_for(mark: Path) -> None:
    deadline = time.monotonic() + 60
    while not mark.exists():
        require(time.monotonic() < deadline, f"{mark.name} never came")
        time.sleep(0.000_5)


def _repository(folder: Path) -> Path:
    folder.mkdir()
    git = ("git", "-C", str(folder), "-c", "user.name=x", "-c", "user.email=x@x")
    for words in (("init", "-q"), ("commit", "-qm", "x", "--allow-empty")):
        subprocess.run([*git, *words], check=True)  # noqa: S603 - fixed options
    return folder


class _engine:  # noqa: N801 - reads as what it gives
    """An engine with a scheduler that is moved by hand."""

    def __init__(self, home: Path, parallel_max: int) -> None:
        workers = WorkerSettings(parallel_max=parallel_max)
        settings = Settings(memory=MemorySettings(embedder="none"), workers=workers)
        self._engine = Engine.open(home, settings=settings, ports=system_ports(10))
        machine = WorkerMachine(
            (CommandRunner(),),
            SupervisedProcesses(home / "workers"),
            self._engine.workspaces,
            self._engine.task_folders,
        )
        clock = self._engine.ports.clock
        self._scheduler = TaskScheduler(self._engine.log, self._engine, clock, machine, workers)

    def __enter__(self) -> tuple[Engine, TaskScheduler]:
        return self._engine, self._scheduler

    def __exit__(self, *_: object) -> None:
        self._engine.close()
