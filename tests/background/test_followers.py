"""Reactions to facts: once for every fact, over crashes and several nodes."""

import signal
import subprocess
import sys
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.lessons.fixtures import LessonHarness
from tests.log.postgres.nodes import Nodes, Place

from everloop.app import USER, Engine
from everloop.background.followers import CLAIM, Followers, FollowerTask, Reaction
from everloop.log import Fact, Log
from everloop.log.model.facts import NoteWritten
from everloop.memory.model.commands import RememberItem
from everloop.testing.deterministic import DeterministicPorts
from everloop.testing.postgres import PostgresServer

ROOT = Path(__file__).parents[2]


def _note(log: Log, text: str) -> int:
    return log.append("n", [NoteWritten(text)], actor="user").position


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    opened = DeterministicPorts().open(tmp_path / "everloop.db", [])
    yield opened
    opened.close()


class Recorder:
    """A reaction that notes what it was called with."""

    def __init__(self, log: Log) -> None:
        self.seen: list[int] = []
        self.followers = Followers(log, [Reaction("note", (NoteWritten,), self._react)])

    def _react(self, fact: Fact) -> None:
        self.seen.append(fact.position)


def test_catching_up_reacts_to_every_fact_after_the_checkpoint(log: Log) -> None:
    recorder = Recorder(log)
    _note(log, "a")
    log.fork(name="aside", actor="user")
    _note(log, "b")
    recorder.followers.catch_up()
    assert recorder.seen == [1, 3]
    assert recorder.followers.checkpoint() == log.head
    recorder.followers.catch_up()
    assert recorder.seen == [1, 3]


def test_only_the_events_of_a_reaction_reach_it(log: Log) -> None:
    recorder = Recorder(log)
    log.fork(name="aside", actor="user")
    recorder.followers.catch_up()
    assert recorder.seen == []


def test_a_lost_checkpoint_costs_time_and_nothing_else(log: Log, tmp_path: Path) -> None:
    recorder = Recorder(log)
    _note(log, "a")
    recorder.followers.catch_up()
    (tmp_path / "everloop.followers").unlink()
    assert recorder.followers.checkpoint() == 0
    recorder.followers.catch_up()
    assert recorder.seen == [1, 1]


def test_a_checkpoint_beyond_a_restored_log_counts_for_nothing(log: Log, tmp_path: Path) -> None:
    _note(log, "a")
    (tmp_path / "everloop.followers").write_text("400")
    assert Recorder(log).followers.checkpoint() == 0


def test_one_process_at_a_time_catches_up(log: Log) -> None:
    recorder = Recorder(log)
    _note(log, "a")
    claim = log.claim(CLAIM)
    assert claim is not None
    with claim:
        recorder.followers.catch_up()
    assert recorder.seen == []


def test_the_task_reacts_to_what_other_processes_record(log: Log) -> None:
    recorder = Recorder(log)
    _note(log, "a")
    task = FollowerTask(log, recorder.followers)
    task.start()
    assert task.held.wait(30)
    _note(log, "b")
    while recorder.followers.checkpoint() < log.head:
        assert task.problem is None
    task.stop()
    assert recorder.seen == [1, 2]
    assert task.health().state == "stopped"


KILLED = """
import os, signal, sys
from everloop.app import Engine, USER
from everloop.background.followers import Followers
from everloop.memory.model.commands import RetireItem
engine = Engine.open(sys.argv[1])
def react(self, facts):
    if any(type(fact.event).__name__ == "Retired" for fact in facts):
        os.kill(os.getpid(), signal.SIGKILL)
Followers.react = react
engine.do(RetireItem(sys.argv[2], "it was wrong"), by=USER)
"""


def test_a_process_killed_between_a_fact_and_its_reaction_is_made_up_for(tmp_path: Path) -> None:
    room = LessonHarness(tmp_path)
    room.promoted()
    room.log.close()
    died = subprocess.run(  # noqa: S603 - our own program
        [sys.executable, "-c", KILLED, str(tmp_path), "mem-of-les-1"],
        check=False, cwd=ROOT,
    )  # fmt: skip
    assert died.returncode == -signal.SIGKILL
    with Engine.open(tmp_path) as engine:
        assert engine.lessons.find("user", "les-1").status == "promoted"  # its reaction is missing
        engine.do(RememberItem("other", "Something else."), by=USER)
        assert engine.lessons.find("user", "les-1").status == "active"
        kinds = [record.kind for record in engine.log.records()]
        assert kinds.count("lessons.lesson_demoted") == 1


@pytest.fixture
def nodes(postgres: PostgresServer, tmp_path: Path) -> Generator[Nodes]:
    """Nodes of a new tenant at the server that the tests share."""
    opened = Nodes(Place(postgres.url, tenant=str(tmp_path), folder=str(tmp_path)))
    yield opened
    opened.close()


def test_two_nodes_that_react_to_one_fact_record_it_once(nodes: Nodes) -> None:
    first, second = nodes.open("first"), nodes.open("second")
    echoes = [_echo(log) for log in (first, second)]
    receipt = first.append("n", [NoteWritten("a")], actor="user")
    next(second.follow(after=receipt.position - 1))  # it has arrived there
    for followers in echoes:
        followers.react(receipt.facts)
        followers.catch_up()
    assert [record.stream for record in first.records()] == ["n", "echo"]


def _echo(log: Log) -> Followers:
    """A reaction that records a fact, under a request id made from its cause."""

    def react(fact: Fact) -> None:
        if fact.stream == "n":
            said = NoteWritten(f"heard {fact.position}")
            request_id = f"echo:{fact.position}"
            log.append("echo", [said], actor="engine", request_id=request_id)

    return Followers(log, [Reaction("echo", (NoteWritten,), react)])
