"""Kill -9 of server, watching process and command at any step: nothing lost, nothing twice."""

import json
import os
import random  # noqa: TID251 - a fixed seed chooses whom to kill
import signal
import subprocess
import sys
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest
from tests.workers import scheduler_process
from tests.workers.rig import survivors

from everloop.app import USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.workers import Grants, TaskLimits, TaskSpec

SETTINGS = Settings(memory=MemorySettings(embedder="none"))
ENDED = {"done", "failed", "waiting", "uncertain", "review"}
WAIT_S = 120.0
ROOT = Path(__file__).parents[2]


class Server:
    """The process that schedules; it is started again after each kill."""

    def __init__(self, home: Path, effects: Path) -> None:
        self._home, self._effects = home, effects
        self._process = self._start()

    def _start(self) -> "subprocess.Popen[bytes]":
        words = [sys.executable, "-m", "tests.workers.scheduler_process"]
        words += [str(self._home), str(self._effects)]
        return subprocess.Popen(words, cwd=ROOT)  # noqa: S603

    def kill(self) -> None:
        """Kill it as a power cut would, and start another."""
        self.stop()
        self._process = self._start()

    def stop(self) -> None:
        """End it for good."""
        self._process.kill()
        self._process.wait()


def attempts(home: Path) -> list[Path]:
    """The files of attempts that run."""
    found = (home / "workers" / "tasks").glob("*/*/process.json")
    return sorted(one for one in found if not (one.parent / "exit.json").exists())


def kill_one(home: Path, chance: random.Random) -> None:
    """Kill the watching process or the command of some attempt that runs."""
    deadline = time.monotonic() + 10
    while not (running := attempts(home)) and time.monotonic() < deadline:
        time.sleep(0.05)
    if not running:
        return
    with suppress(OSError, ValueError):
        known = json.loads(chance.choice(running).read_text())
        os.kill(known[chance.choice(sorted(known))], signal.SIGKILL)


def propose(engine: Engine, effects: Path, count: int) -> list[str]:
    """Tasks that each leave a mark, some with a check, some that fail."""
    names: list[str] = []
    for index in range(count):
        ending = "exit 3" if index % 5 == 4 else "exit 0"
        mark = f"echo {index} >> {effects}; sleep 1.{index % 4}; echo out; {ending}"
        spec = TaskSpec(
            f"Task {index}",
            command=("sh", "-c", mark),
            check=("true",) if index % 3 == 0 else (),
            grants=Grants(sandbox="off"),
            limits=TaskLimits(attempts_max=5),
        )
        names.append(engine.workers.propose(spec, USER, start=True).task.task_id)
    return names


def wait_until_over(engine: Engine, names: list[str], states: set[str]) -> None:
    """Wait until every task is in one of these states, as long as some task gets there."""
    left, since = set(names), time.monotonic()
    while left:
        open_still = {name for name in left if engine.workers.find(name).task.state not in states}
        if open_still != left:
            left, since = open_still, time.monotonic()
        assert time.monotonic() - since < WAIT_S, f"nothing ends any more: {len(left)} are left"
        time.sleep(0.1)


def hire(engine: Engine, count: int) -> list[str]:
    """Tasks of agents that each ask for one approval."""
    names: list[str] = []
    for index in range(count):
        spec = TaskSpec(f"Ask {index}", str(index), "asking", grants=Grants(sandbox="off"))
        names.append(engine.workers.propose(spec, USER, start=True).task.task_id)
    return names


@pytest.mark.promise("P-WORK-2")
@pytest.mark.timeout(3_600)
def test_killing_server_and_agent_around_an_approval_loses_and_doubles_none(
    tmp_path: Path, soaking: bool
) -> None:
    """The same process asks, takes the answer and resumes; it is killed at any point of that."""
    home, effects = tmp_path / "home", tmp_path / "effects"
    effects.touch()
    chance = random.Random(11)  # noqa: S311 - the same kills each time
    kills, count = (240, 300) if soaking else (12, 16)
    with Engine.open(home, settings=SETTINGS) as engine:
        names = hire(engine, count)
        server = Server(home, effects)
        try:
            for turn in range(kills):
                time.sleep(chance.uniform(0.1, 1.0))
                if turn % 4 == 3:
                    kill_one(home, chance)
                else:
                    server.kill()
            wait_until_over(engine, names, {"done", "failed", "uncertain"})
        finally:
            server.stop()
        check_approvals(engine, names, Counter(effects.read_text().split()))
    assert survivors(home) == []


def check_approvals(engine: Engine, names: list[str], marks: Counter[str]) -> None:
    """Each approval was asked, answered and brought to its task once, and did what was said."""
    facts: dict[str, Counter[str]] = {}
    for record in engine.log.records():
        if record.kind.startswith(("inbox.", "workers.")):
            data = json.loads(record.data or "{}")
            facts.setdefault(str(data.get("request_id", "")), Counter())[record.kind] += 1
    states = Counter(engine.workers.find(name).task.state for name in names)
    assert states["done"] > states["uncertain"], states
    for index, name in enumerate(names):
        task, seen = engine.workers.find(name).task, facts.get(f"{name}.call-1", Counter())
        asked = seen["workers.approval_requested"]
        assert asked <= 1, task
        assert seen["inbox.request_raised"] == asked, task  # none is lost
        closed = ("inbox.request_answered", "inbox.request_withdrawn")
        assert sum(seen[kind] for kind in closed) == asked, task  # none is answered twice
        assert seen["workers.request_settled"] <= seen["inbox.request_answered"], task
        assert marks[str(index)] <= 1, task  # what was approved did not happen twice
        if scheduler_process.is_denied(index):
            assert marks[str(index)] == 0, task
        if task.state == "done":
            assert seen["workers.request_settled"] == 1, task
            assert task.claim == ("deny" if scheduler_process.is_denied(index) else "approve")
            assert marks[str(index)] == (task.claim == "approve"), task


@pytest.mark.promise("P-WORK-2")
@pytest.mark.timeout(3_600)
def test_killing_server_worker_and_command_at_any_step_loses_and_repeats_nothing(
    tmp_path: Path, soaking: bool
) -> None:
    home, effects = tmp_path / "home", tmp_path / "effects"
    chance = random.Random(7)  # noqa: S311 - the same kills each time
    kills, count = (240, 300) if soaking else (12, 18)
    with Engine.open(home, settings=SETTINGS) as engine:
        names = propose(engine, effects, count)
        server = Server(home, effects)
        try:
            for _ in range(kills):
                time.sleep(chance.uniform(0.02, 0.4))
                kill_one(home, chance)
                if chance.random() < 0.5:
                    server.kill()
            wait_until_over(engine, names, ENDED)
        finally:
            server.stop()
        tasks = [engine.workers.find(name).task for name in names]
        assert [one for one in tasks if one.state not in ENDED] == []
        assert {"done", "uncertain"} <= {one.state for one in tasks}  # some were hit, some not
        marks = Counter(effects.read_text().split())
        for index, task in enumerate(tasks):
            assert marks[str(index)] <= 1, task  # whatever happened, it did not happen twice
            assert marks[str(index)] == 1 or task.state != "done", task
        kinds = Counter((record.stream, record.kind) for record in engine.log.records())
        told = [count for (_, kind), count in kinds.items() if kind == "inbox.request_raised"]
        assert set(told) <= {1}  # each request once
        ends = ("workers.task_done", "workers.task_failed", "workers.task_left_uncertain")
        for task in tasks:
            assert sum(kinds[f"task:{task.task_id}", kind] for kind in ends) == 1, task
    assert survivors(home) == []
