"""Status notes expire after some days, and are retired when nobody mentions them."""

from collections.abc import Generator
from datetime import datetime
from pathlib import Path

import pytest

from everloop.app import USER, Engine
from everloop.log import Context
from everloop.memory.model.commands import CiteItem, PinItem, RateItem, RememberItem, RepeatItem
from everloop.memory.projections.status_notes import expire_status_note, is_status_note
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.settings import MemorySettings
from everloop.memory.summaries.expiry import retire_expired
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.background import ExpiryTask

AGENT = Context(actor="agent:claude-code", session="s1")
NOTE = "HANDOFF: the garden gate is half painted."
SETTINGS = Settings(memory=MemorySettings(embedder="none"))
STATUS, QUIET = SETTINGS.memory.status_days, SETTINGS.memory.quiet_days


@pytest.fixture
def stage() -> DeterministicPorts:
    return DeterministicPorts()


@pytest.fixture
def engine(tmp_path: Path, stage: DeterministicPorts) -> Generator[Engine]:
    with Engine.open(tmp_path, settings=SETTINGS, ports=stage.ports) as engine:
        yield engine


@pytest.mark.parametrize(
    "text",
    [
        "HANDOFF: half done",
        "  RESUME here tomorrow",
        "TO SHIP\n- tests",
        "## HANDOFF 2026-01-01",
        "> **RESUME** from the parser",
        f"{'a' * 150}\nTO SHIP: docs",
    ],
)
def test_a_note_that_begins_with_a_mark_is_a_status_note(text: str) -> None:
    assert is_status_note(text)


@pytest.mark.parametrize(
    "text",
    [
        "The handoff was fine.",
        "Handoff: we talked about it.",
        "Resume of my career",
        "We say HANDOFF when we hand over.",
        "HANDOFFS are boring",
        "TOSHIP",
        f"{'a' * 200}\nHANDOFF: too late",
        "",
    ],
)
def test_a_text_about_handoffs_is_not_a_status_note(text: str) -> None:
    assert not is_status_note(text)


def test_a_status_note_expires_after_some_days_unless_its_author_sets_an_expiry() -> None:
    now = datetime.fromisoformat("2026-01-01T00:00:00+00:00")
    assert (
        expire_status_note(RememberItem("a", NOTE), now, 7).durability
        == "2026-01-08T00:00:00+00:00"
    )
    titled = RememberItem("a", "Half painted.", title="TO SHIP: the gate")
    assert expire_status_note(titled, now, 7).durability == "2026-01-08T00:00:00+00:00"
    said = RememberItem("a", NOTE, durability="2027-01-01T00:00:00+00:00")
    made = RememberItem("a", NOTE, derived_from=("b",))
    fact = RememberItem("a", "The gate is green.")
    for as_it_is in (said, made, fact):
        assert expire_status_note(as_it_is, now, 7) == as_it_is


def test_the_expiry_of_a_status_note_counts_from_when_it_happened() -> None:
    now = datetime.fromisoformat("2026-11-17T00:00:00+00:00")
    early = RememberItem("a", NOTE, happened_at="2026-01-05T09:00:00+01:00")
    assert expire_status_note(early, now, 7).durability == "2026-01-12T09:00:00+01:00"
    for refused in ("2026-01-05", "some day", "9999-12-31T00:00:00Z"):
        unclear = RememberItem("a", NOTE, happened_at=refused)
        assert expire_status_note(unclear, now, 7).durability == "2026-11-24T00:00:00+00:00"


def test_a_status_note_that_is_marked_as_lasting_does_not_expire(engine: Engine) -> None:
    kept = engine.memory.remember(RememberItem("cv", "RESUME of Jane Doe"), by=USER, lasting=True)
    assert kept.passes == ""
    assert engine.memory.find("user", "cv").holds_until is None
    note = engine.memory.remember(RememberItem("note", NOTE), by=USER)
    assert note.passes
    assert engine.memory.find("user", "note").holds_until == datetime.fromisoformat(note.passes)


def test_an_expired_status_note_ranks_below_valid_items(
    engine: Engine, stage: DeterministicPorts
) -> None:
    engine.memory.remember(RememberItem("old", NOTE), by=USER)
    stage.clock.tick(days=STATUS + 1)
    engine.memory.remember(RememberItem("new", "The garden gate is painted."), by=USER)
    assert _found(engine) == ["new", "old"]


def test_an_expired_item_is_retired_after_the_quiet_days_and_can_be_opened(
    engine: Engine, stage: DeterministicPorts
) -> None:
    _noted(engine)
    stage.clock.tick(days=STATUS + QUIET, seconds=-1)
    assert _swept(engine, stage) == []
    stage.clock.tick(seconds=2)
    assert _swept(engine, stage) == ["note"]
    assert _found(engine) == ["fact"]
    assert engine.memory.find("user", "note").retired
    assert _swept(engine, stage) == []
    engine.log.retract([engine.log.head], reason="wanted", actor="user")
    assert set(_found(engine)) == {"fact", "note"}


def test_an_item_that_was_mentioned_is_not_retired(
    engine: Engine, stage: DeterministicPorts
) -> None:
    _noted(engine)
    stage.clock.tick(days=STATUS + QUIET - 1)
    engine.do(RepeatItem("note", NOTE, 1.0), by=AGENT)
    stage.clock.tick(days=QUIET - 1)
    assert _swept(engine, stage) == []
    stage.clock.tick(days=2)
    assert _swept(engine, stage) == ["note"]


def test_items_that_a_user_wrote_pinned_rated_or_cites_are_not_retired(
    engine: Engine, stage: DeterministicPorts
) -> None:
    for name in ("pinned", "rated", "cited"):
        _noted(engine, name)
    engine.memory.remember(RememberItem("mine", "RESUME: my own note."), by=USER)
    engine.do(PinItem("pinned"))
    engine.do(RateItem("rated", 3))
    engine.do(CiteItem("cited", "lesson:1", by_user=True))
    stage.clock.tick(days=10 * QUIET)
    assert _swept(engine, stage) == []


def test_expired_items_are_retired_in_the_background_once_a_day(
    engine: Engine, stage: DeterministicPorts
) -> None:
    _noted(engine)
    stage.clock.tick(days=STATUS + QUIET + 1)
    sweeping = ExpiryTask(engine.log, engine, stage.clock, QUIET)
    sweeping.start()
    try:
        assert sweeping.swept.wait(30)
    finally:
        sweeping.stop()
    assert engine.memory.find("user", "note").retired


def _noted(engine: Engine, name: str = "note") -> None:
    engine.memory.remember(RememberItem(name, f"{NOTE} {name}"), by=AGENT)
    if name == "note":
        engine.memory.remember(RememberItem("fact", "The garden gate is green."), by=AGENT)


def _swept(engine: Engine, stage: DeterministicPorts) -> list[str]:
    return retire_expired(engine.log, engine, stage.clock.now(), QUIET)


def _found(engine: Engine) -> list[str]:
    answer = engine.memory.recall("user", SearchQuery("garden gate", mode="text"))
    return [hit.item.item_id for hit in answer.hits]
