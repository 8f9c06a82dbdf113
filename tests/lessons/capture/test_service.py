"""Capture proposes each entry once, with its provenance, and never as the user."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from everloop.app import Engine
from everloop.errors import Forbidden, Invalid, NotFound
from everloop.lessons.capture.commands import NoteEntry, NoteRead
from everloop.lessons.capture.decide import note_entry, note_read
from everloop.lessons.capture.diff import changed_entries, new_entries
from everloop.lessons.capture.entries import (
    CaptureEntry,
    CaptureSource,
    ReadOffset,
    project_scope,
    truncate_first_line,
)
from everloop.lessons.capture.events import EntryCaptured, SourceRead
from everloop.lessons.capture.service import CAPTURE_ACTOR, CaptureService
from everloop.lessons.capture.state import SOURCE, KnownEntry, SourceState
from everloop.lessons.model.commands import EditLesson
from everloop.lessons.model.events import LessonProposed, MemoryEvidence, QuoteEvidence, Source
from everloop.log import Event
from everloop.memory.model.commands import GrantAudience, ReviseItem
from everloop.memory.model.events import Remembered
from everloop.testing.bus import FunctionBus
from everloop.testing.deterministic import DeterministicPorts, given

PAGE = CaptureSource("page", "auto_memory", "CLAUDE.md")
TALK = CaptureSource("talk", "transcript", "s-1.jsonl")
RULE = CaptureEntry("", "Use pnpm here", "Tools\n\nUse pnpm here", "project:shop")
SAID = CaptureEntry(
    key="u-1#0",
    description="No, use pnpm.",
    body="No, use pnpm.",
    scope="project:shop",
    quote="No, use pnpm.",
    message="No, use pnpm. Then go on.",
    session="s-1",
    folder="shop",
    said_at="2026-01-01T10:00:00Z",
)


class CaptureHarness:
    """An engine and a capture service on its log."""

    def __init__(self, folder: Path) -> None:
        self.path = folder / "log.db"
        self.stage = DeterministicPorts()
        self.open()
        self.engine.do(GrantAudience(CAPTURE_ACTOR, ("*",)))

    def open(self) -> None:
        """Open the engine, with a new capture service."""
        self.engine = Engine.open(self.path, ports=self.stage.ports)
        self.service = CaptureService(self.engine.log, self.engine)

    def reopen(self) -> None:
        """Start again."""
        self.engine.close()
        self.open()

    def facts(self, kind: type[Event]) -> list[Any]:
        """Every fact of a kind that was recorded, whether or not it counts."""
        found = (self.engine.log.record(n) for n in range(1, self.engine.log.head + 1))
        return [record for record in found if record.kind == kind.wire]

    def lesson(self, lesson_id: str) -> LessonProposed:
        """A lesson as it was proposed."""
        [proposed, *_] = self.engine.log.read(f"lesson:{lesson_id}")
        assert isinstance(proposed.event, LessonProposed)
        return proposed.event


@pytest.fixture
def harness(tmp_path: Path) -> Iterator[CaptureHarness]:
    made = CaptureHarness(tmp_path)
    yield made
    made.engine.close()


# -- proposing -------------------------------------------------------------------------------------


def test_an_entry_is_proposed_as_an_agents_lesson_with_its_source(harness: CaptureHarness) -> None:
    [caught] = harness.service.propose_page(PAGE, [RULE]).caught
    lesson = harness.lesson(caught.lesson_id)
    assert (lesson.author, lesson.scope) == ("agent", "project:shop")
    assert lesson.source == Source("auto_memory", "CLAUDE.md", RULE.digest("auto_memory"))
    [fact, *_] = harness.engine.log.read(f"lesson:{caught.lesson_id}")
    assert fact.actor == CAPTURE_ACTOR


@pytest.mark.promise("P-CAP-1")
def test_the_same_source_twice_proposes_once_also_after_a_restart(harness: CaptureHarness) -> None:
    harness.service.propose_page(PAGE, [RULE])
    head = harness.engine.log.head
    harness.reopen()
    assert harness.service.propose_page(PAGE, [RULE]).caught == ()
    assert harness.engine.log.head == head


def test_the_same_words_in_another_file_are_the_same_lesson(harness: CaptureHarness) -> None:
    [first] = harness.service.propose_page(PAGE, [RULE]).caught
    moved = CaptureSource("elsewhere", "auto_memory", "CLAUDE.md")
    [second] = harness.service.propose_page(moved, [RULE]).caught
    assert first.lesson_id == second.lesson_id
    assert len(harness.facts(LessonProposed)) == 1


def test_a_changed_entry_is_a_new_proposal_that_names_the_old_one(harness: CaptureHarness) -> None:
    [first] = harness.service.propose_page(PAGE, [RULE]).caught
    changed = CaptureEntry("", "Use pnpm 9 here", "Tools\n\nUse pnpm 9 here", "project:shop")
    [second] = harness.service.propose_page(PAGE, [changed]).caught
    assert second.lesson_id != first.lesson_id
    assert second.replaces == first.lesson_id
    assert harness.lesson(first.lesson_id).description == "Use pnpm here"


def test_an_entry_that_is_changed_back_names_the_one_in_between(harness: CaptureHarness) -> None:
    changed = CaptureEntry("", "Use pnpm 9 here", "Use pnpm 9 here", "project:shop")
    [first] = harness.service.propose_page(PAGE, [RULE]).caught
    [second] = harness.service.propose_page(PAGE, [changed]).caught
    [third] = harness.service.propose_page(PAGE, [RULE]).caught
    assert (third.lesson_id, third.replaces) == (first.lesson_id, second.lesson_id)
    assert len(harness.facts(LessonProposed)) == 2
    assert harness.service.propose_page(PAGE, [RULE]).caught == ()


@pytest.mark.promise("P-CAP-1")
def test_a_retracted_proposal_is_not_made_again(harness: CaptureHarness) -> None:
    [caught] = harness.service.propose_page(PAGE, [RULE]).caught
    [proposed] = harness.facts(LessonProposed)
    harness.engine.log.retract([proposed.position], reason="no", actor="user")
    harness.service.propose_page(PAGE, [RULE])
    other = CaptureSource("other", "auto_memory", "CLAUDE.md")
    harness.service.propose_page(other, [RULE])
    assert list(harness.engine.log.read(f"lesson:{caught.lesson_id}")) == []


def test_a_lesson_that_was_edited_since_is_not_changed(harness: CaptureHarness) -> None:
    [caught] = harness.service.propose_page(PAGE, [RULE]).caught
    harness.engine.do(EditLesson(caught.lesson_id, body="Use pnpm 9"))
    other = CaptureSource("other", "auto_memory", "CLAUDE.md")
    assert harness.service.propose_page(other, [RULE]).troubles == ()


def test_two_readers_of_one_source_propose_each_entry_once(harness: CaptureHarness) -> None:
    entries = [CaptureEntry("", f"Rule {n} is a rule", f"Rule {n}", "user") for n in range(20)]
    takes = [CaptureService(harness.engine.log, harness.engine).propose_page for _ in range(4)]
    with ThreadPoolExecutor(4) as pool:
        waiting = [pool.submit(take, PAGE, entries) for take in takes]
        assert all(not each.result().troubles for each in waiting)
    assert len(harness.facts(LessonProposed)) == len(harness.facts(EntryCaptured)) == 20


def test_a_preview_reports_proposals_and_records_nothing(harness: CaptureHarness) -> None:
    head = harness.engine.log.head
    preview = CaptureService(harness.engine.log, harness.engine, preview=True)
    report = preview.propose_page(PAGE, [RULE]) + preview.propose_piece(
        TALK, [SAID], ReadOffset(9, "h")
    )
    assert len(report.caught) == 2
    assert harness.engine.log.head == head


def test_a_refused_entry_does_not_stop_the_others(harness: CaptureHarness) -> None:
    empty = CaptureEntry("", "Say nothing", "", "user")
    report = harness.service.propose_page(PAGE, [empty, RULE])
    assert [caught.description for caught in report.caught] == ["Use pnpm here"]
    [trouble] = report.troubles
    assert (trouble.name, trouble.problem) == (
        "CLAUDE.md",
        "'Say nothing': a lesson needs a body",
    )


@pytest.mark.promise("P-CAP-1")
@pytest.mark.parametrize("actor", ["user", "pack:x"])
def test_capture_never_acts_as_the_user(harness: CaptureHarness, actor: str) -> None:
    with pytest.raises(Forbidden):
        CaptureService(harness.engine.log, harness.engine, actor=actor)


# -- what a user said ------------------------------------------------------------------------------


def test_a_quote_can_be_checked_because_its_message_is_remembered(harness: CaptureHarness) -> None:
    [caught] = harness.service.propose_piece(TALK, [SAID], ReadOffset(10, "h")).caught
    quote, cited = harness.lesson(caught.lesson_id).evidence
    assert isinstance(quote, QuoteEvidence)
    assert isinstance(cited, MemoryEvidence)
    assert quote == QuoteEvidence("No, use pnpm.", found_in=cited.item_id)
    item = harness.engine.memory.find("user", cited.item_id)
    assert (item.kind, item.scope, item.text) == ("message", "project:shop", SAID.message)
    assert (item.origin.session, item.origin.folder, item.learned_via) == (
        "s-1",
        "shop",
        "imported",
    )


def test_a_purged_message_is_not_recorded_again(harness: CaptureHarness) -> None:
    harness.service.propose_piece(TALK, [SAID], ReadOffset(10, "h"))
    item = harness.facts(LessonProposed)[0]
    message = next(
        record
        for record in map(harness.engine.log.record, range(1, item.position))
        if record.kind == "memory.remembered"
    )
    harness.engine.purge([message.position], reason="private", actor="user")
    again = CaptureSource("copy", "transcript", "s-1.jsonl")
    harness.service.propose_piece(again, [SAID], ReadOffset(10, "h"))
    harness.engine.close()
    assert SAID.message.encode() not in harness.path.read_bytes()
    harness.open()


@pytest.mark.promise("P-CAP-1")
def test_capture_recovers_from_a_crash_between_proposal_and_record(harness: CaptureHarness) -> None:
    def failing(command: Any, **more: Any) -> Any:
        if isinstance(command, NoteEntry):
            raise ConnectionError
        return harness.engine.do(command, **more)

    with pytest.raises(ConnectionError):
        CaptureService(harness.engine.log, FunctionBus(failing)).propose_piece(
            TALK, [SAID], ReadOffset(10, "h")
        )
    harness.reopen()
    assert len(harness.service.propose_piece(TALK, [SAID], ReadOffset(10, "h")).caught) == 1
    assert len(harness.facts(LessonProposed)) == len(harness.facts(EntryCaptured)) == 1


def test_the_read_offset_survives_a_restart(harness: CaptureHarness) -> None:
    harness.service.propose_piece(TALK, [SAID], ReadOffset(1_234, "begins so"))
    harness.reopen()
    assert harness.service.source(TALK).mark == ReadOffset(1_234, "begins so")


# -- decisions -------------------------------------------------------------------------------------


def test_an_entry_is_recorded_once() -> None:
    command = NoteEntry(PAGE, "k", "d", "Use pnpm", "les-1")
    happened = given(SOURCE).when(note_entry, command)
    assert happened == [
        EntryCaptured("page", "auto_memory", "CLAUDE.md", "k", "d", "Use pnpm", "les-1", "")
    ]
    assert given(SOURCE, *happened).when(note_entry, command) == []


def test_an_offset_is_recorded_when_it_changed() -> None:
    command = NoteRead(TALK, ReadOffset(5, "h"))
    happened = given(SOURCE).when(note_read, command)
    assert happened == [SourceRead("talk", "transcript", "s-1.jsonl", 5, "h")]
    assert given(SOURCE, *happened).when(note_read, command) == []


@pytest.mark.parametrize("name", ["", "/home/ada/CLAUDE.md", "a\\b.md"])
def test_a_path_is_never_recorded(name: str) -> None:
    with pytest.raises(Invalid):
        given(SOURCE).when(
            note_read, NoteRead(CaptureSource("s", "jsonl", name), ReadOffset(1, "h"))
        )


# -- what changed ----------------------------------------------------------------------------------


def state(*entries: CaptureEntry) -> SourceState:
    known = {
        entry.digest("k"): KnownEntry(entry.key, entry.description, f"les-{number}")
        for number, entry in enumerate(entries)
    }
    return SourceState(entries=known)


def test_moving_an_entry_is_not_a_change() -> None:
    other = CaptureEntry("", "Run the tests first", "Run the tests first", "user")
    assert changed_entries(state(RULE, other), "k", [other, RULE]) == ()


def test_an_entry_with_the_same_key_has_changed_however_different_its_text() -> None:
    old = CaptureEntry("tone", "Be brief", "Be brief", "user")
    new = CaptureEntry("tone", "Explain every step in detail", "Explain", "user")
    [change] = changed_entries(state(old), "k", [new])
    assert change.replaces == old.digest("k")


def test_an_entry_with_a_different_text_is_new() -> None:
    other = CaptureEntry("", "Deploy on Fridays never", "x", "user")
    [change] = changed_entries(state(RULE), "k", [other])
    assert change.replaces == ""


def test_an_entry_that_still_exists_was_not_changed_into_another() -> None:
    alike = CaptureEntry("", "Use pnpm here!", "x", "user")
    [change] = changed_entries(state(RULE), "k", [RULE, alike])
    assert change.replaces == ""


def test_a_growing_source_names_the_entry_that_its_key_had_before() -> None:
    old, new = (CaptureEntry("id-1", text, text, "user") for text in ("Use npm", "Use pnpm"))
    [change] = new_entries(state(old), "k", [old, new])
    assert change.replaces == old.digest("k")


# -- words -----------------------------------------------------------------------------------------


def test_a_long_description_is_cut_at_a_word() -> None:
    text = "word " * 60
    assert truncate_first_line(text).endswith("word…")
    assert len(truncate_first_line(text)) <= 140
    assert truncate_first_line("\n short \n more") == "short"


@pytest.mark.parametrize(
    ("folder", "scope"),
    [("shop", "project:shop"), ("", "user"), ("a*b\n", "project:a-b-"), (" x", "project:x")],
)
def test_a_folder_gives_a_scope(folder: str, scope: str) -> None:
    assert project_scope(folder) == scope


@pytest.mark.promise("P-LES-3")
def test_retracting_a_message_retracts_what_was_captured_from_it(harness: CaptureHarness) -> None:
    [caught] = harness.service.propose_piece(TALK, [SAID], ReadOffset(10, "h")).caught
    [message] = harness.facts(Remembered)
    evidence = harness.lesson(caught.lesson_id).evidence[1]
    assert isinstance(evidence, MemoryEvidence)
    harness.engine.do(ReviseItem(evidence.item_id, text="No, use pnpm."))
    assert harness.engine.lessons.find("user", caught.lesson_id).body == "No, use pnpm."
    harness.engine.log.retract([message.position], reason="private", actor="user")
    with pytest.raises(NotFound):
        harness.engine.lessons.find("user", caught.lesson_id)


def test_erasing_a_message_erases_what_was_captured_from_it(harness: CaptureHarness) -> None:
    harness.service.propose_piece(TALK, [SAID], ReadOffset(10, "h"))
    [message] = harness.facts(Remembered)
    harness.engine.purge([message.position], reason="private", actor="user")
    [proposed] = harness.facts(LessonProposed)
    assert proposed.data is None
