"""From a message in a thread to a running task: suggested, sent with one tap, once."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.app import USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.model.commands import SendMessage
from everloop.thread.service import ThreadService
from everloop.workers import TaskSpec, Workspace

TEXT = "Fix the flaky login test in shop"
SPEC = TaskSpec(
    "Fix the flaky login test", "Fix it.", "claude", workspace=Workspace("folder", "/c/shop")
)


@pytest.fixture
def engine(tmp_path: Path) -> Generator[Engine]:
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, ports=DeterministicPorts().ports) as one:
        yield one


def threads(engine: Engine) -> ThreadService:
    """The threads of an engine."""
    return ThreadService(engine.log, engine, engine.memory)


def say(engine: Engine, message_id: str, text: str = TEXT) -> None:
    """Send a message to the home thread as the user."""
    threads(engine).home_thread(USER)
    engine.do(SendMessage("home", message_id, text), by=USER)


def test_a_message_about_a_running_task_is_suggested_and_sent_to_it_once(engine: Engine) -> None:
    task_id = engine.workers.propose(SPEC, USER, start=True).task.task_id
    say(engine, "m1")
    (found,) = engine.workers.suggestions("home")
    assert (found.message_id, [one.task_id for one in found.matches]) == ("m1", [task_id])
    engine.workers.steer(task_id, TEXT, USER, "route-m1")  # as if a crash came right after it
    engine.workers.route("home", "m1", task_id, USER)
    task = engine.workers.find(task_id).task
    assert [one.text for one in task.steering] == [TEXT]
    assert engine.workers.suggestions("home") == []


def test_without_a_running_task_nothing_is_suggested(engine: Engine) -> None:
    engine.workers.propose(SPEC, USER)  # proposed only
    say(engine, "m1")
    assert engine.workers.suggestions("home") == []


def test_a_suggestion_goes_when_its_task_has_ended_or_the_user_says_no(engine: Engine) -> None:
    first = engine.workers.propose(SPEC, USER, start=True).task.task_id
    say(engine, "m1")
    say(engine, "m2")
    engine.workers.route("home", "m1", "", USER)
    assert [one.message_id for one in engine.workers.suggestions("home")] == ["m2"]
    assert engine.workers.find(first).task.steering == ()
    engine.workers.cancel(first, USER)
    assert engine.workers.suggestions("home") == []


def test_a_suggestion_goes_with_its_message(engine: Engine) -> None:
    engine.workers.propose(SPEC, USER, start=True)
    say(engine, "m1")
    threads(engine).retract("m1", "Said too much.", USER)
    assert engine.workers.suggestions("home") == []
