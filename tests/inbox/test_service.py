"""The inbox as interfaces see it: groups, receipts, snoozing and expiry that acts."""

from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from everloop.app import USER, Engine
from everloop.errors import Conflict
from everloop.inbox import AnswerRequest, Choice, RaiseRequest
from everloop.inbox.projection import InboxTable
from everloop.log import Context
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.model.record import to_microseconds
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts

WORKER = Context(actor="worker:t1")
YES, NO, OK = Choice("approve", "Approve"), Choice("deny", "Deny"), Choice("ok", "OK")


@pytest.fixture
def stage() -> DeterministicPorts:
    """A world whose clock is set by hand."""
    return DeterministicPorts()


@pytest.fixture
def engine(tmp_path: Path, stage: DeterministicPorts) -> Generator[Engine]:
    """An engine without embedder."""
    settings = Settings(memory=MemorySettings(embedder="none"))
    with Engine.open(tmp_path, settings=settings, ports=stage.ports) as one:
        yield one


def ask(engine: Engine, request_id: str, kind: str = "approval", **rest: Any) -> None:
    """Raise a request as a worker."""
    choices = (YES, NO) if kind == "approval" else (OK,)
    engine.do(RaiseRequest(request_id, kind, f"About {request_id}", "", choices, **rest), by=WORKER)


def approve(engine: Engine, request_id: str, device: str = "", key: str = "") -> str:
    """Approve what is shown; returns who decided."""
    shown = engine.inbox.find(request_id)
    said = AnswerRequest(request_id, "approve", shown.digest, device=device)
    closing = engine.inbox.answer(said, USER, key).closing
    assert closing is not None
    return f"{closing.outcome} {closing.choice} {closing.actor} {closing.device}"


def test_requests_are_grouped_and_ordered_by_priority_then_newest_first(
    engine: Engine, stage: DeterministicPorts
) -> None:
    ask(engine, "old-work", "finished")
    stage.clock.tick(hours=1)
    ask(engine, "lesson", "stale_lesson")
    ask(engine, "first")
    ask(engine, "second")
    ask(engine, "broken", "failure")
    ask(engine, "work", "finished")
    ask(engine, "answered")
    approve(engine, "answered")
    seen = engine.inbox.overview()
    assert [one.request_id for one in seen.needs_you] == ["second", "first", "lesson"]
    assert [one.request_id for one in seen.failed] == ["broken"]
    assert [one.request_id for one in seen.finished] == ["work"]
    assert [one.request_id for one in seen.history] == ["answered", "old-work"]
    assert (seen.waiting, seen.unread) == (4, 5)


@pytest.mark.promise("P-INBOX-1")
def test_of_two_devices_the_first_answers_and_the_second_is_told(engine: Engine) -> None:
    ask(engine, "r")
    assert approve(engine, "r", "phone") == "answered approve user phone"
    with pytest.raises(Conflict, match="by user on phone"):
        approve(engine, "r", "laptop")


def test_a_repeated_request_of_one_device_gets_the_first_receipt(engine: Engine) -> None:
    ask(engine, "r")
    assert approve(engine, "r", "phone", "k1") == approve(engine, "r", "phone", "k1")


@pytest.mark.promise("P-INBOX-4")
def test_an_approval_that_nobody_answers_is_denied_by_the_engine(
    engine: Engine, stage: DeterministicPorts
) -> None:
    ask(engine, "r", lives_s=60, expiry_choice="deny")
    assert engine.inbox.expire_due() == 0
    stage.clock.tick(seconds=61)
    with pytest.raises(Conflict, match="expired with 'Deny' by engine"):
        approve(engine, "r")
    closing = engine.inbox.find("r").closing
    assert closing is not None
    assert (closing.outcome, closing.choice, closing.actor) == ("expired", "deny", "engine")


def test_a_snoozed_request_comes_back(engine: Engine, stage: DeterministicPorts) -> None:
    ask(engine, "r")
    until_us = to_microseconds(stage.clock.now()) + 3_600_000_000
    engine.inbox.snooze("r", until_us, USER)
    seen = engine.inbox.overview()
    assert (seen.needs_you, [one.request_id for one in seen.snoozed]) == ((), ["r"])
    stage.clock.tick(hours=2)
    assert [one.request_id for one in engine.inbox.overview().needs_you] == ["r"]


def test_the_unread_count_falls_as_requests_are_read(engine: Engine) -> None:
    for name in ("a", "b", "c"):
        ask(engine, name)
    engine.inbox.mark_read("a", USER)
    assert engine.inbox.overview().unread == 2
    assert engine.inbox.mark_all_read(USER) == 2
    assert engine.inbox.overview().unread == 0


@pytest.mark.promise("P-LOG-6")
def test_a_request_whose_reason_was_retracted_is_gone(engine: Engine) -> None:
    ask(engine, "cause")
    position = engine.inbox.find("cause").position
    ask(engine, "effect", because=(position,))
    engine.log.retract([position], reason="slip", actor="user")
    assert engine.inbox.overview().waiting == 0


def test_a_request_is_open_again_when_its_answer_was_retracted(engine: Engine) -> None:
    ask(engine, "r")
    approve(engine, "r")
    closing = engine.inbox.find("r").closing
    assert closing is not None
    engine.log.retract([closing.position], reason="slip", actor="user")
    assert [one.request_id for one in engine.inbox.overview().needs_you] == ["r"]
    assert approve(engine, "r") == "answered approve user "


@pytest.mark.promise("P-LOG-1")
def test_the_rebuilt_inbox_equals_the_live_one_also_after_a_purge(engine: Engine) -> None:
    for name in ("a", "b", "c"):
        ask(engine, name, lives_s=60, expiry_choice="deny")
        approve(engine, name)
    closing = engine.inbox.find("b").closing
    assert closing is not None
    engine.purge([closing.position], reason="privacy", actor="user")
    engine.inbox.mark_all_read(USER)
    live = dumped(engine)
    rebuild_projections(engine.log, [InboxTable.name])
    assert dumped(engine) == live
    assert [one.request_id for one in engine.inbox.overview().needs_you] == ["b"]


def dumped(engine: Engine) -> list[Any]:
    """The rows of the view."""
    with engine.log.file.reading() as reader:
        return list(InboxTable().dump(reader.db))


def test_the_count_is_that_of_the_overview(engine: Engine, stage: DeterministicPorts) -> None:
    def assert_same(waiting: int, unread: int) -> None:
        seen, counted = engine.inbox.overview(), engine.inbox.count()
        assert (counted.waiting, counted.unread) == (seen.waiting, seen.unread) == (waiting, unread)

    assert_same(0, 0)
    ask(engine, "old-work", "finished")
    stage.clock.tick(hours=1)
    for name, kind in (("a", "approval"), ("b", "approval"), ("broken", "failure")):
        ask(engine, name, kind)
    ask(engine, "work", "finished")
    assert_same(3, 4)
    engine.inbox.mark_read("broken", USER)
    assert_same(3, 3)
    engine.inbox.snooze("a", to_microseconds(stage.clock.now()) + 3_600_000_000, USER)
    assert_same(2, 2)
    engine.inbox.snooze("a", 0, USER)
    assert_same(3, 2)
    approve(engine, "b")
    assert_same(2, 1)
    closing = engine.inbox.find("b").closing
    assert closing is not None
    engine.log.retract([closing.position], reason="slip", actor="user")
    assert_same(3, 2)
