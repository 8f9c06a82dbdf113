"""A lesson that a trusted host withdraws is noted in the home thread."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.lessons.fixtures import AGENT, HELPER, USER, LessonHarness

from everloop.lessons.model.commands import DiscardLesson, SupersedeLesson
from everloop.lessons.model.lifecycle import Status
from everloop.thread.model.commands import HOME
from everloop.thread.queries.notes import list_notes


@pytest.fixture
def harness(tmp_path: Path) -> Generator[LessonHarness]:
    harness = LessonHarness(tmp_path)
    yield harness
    harness.close()


def noticed(harness: LessonHarness) -> list[str]:
    with harness.engine.reading() as reader:
        return [note.text for note in list_notes(reader, HOME)]


@pytest.mark.promise("P-LES-4")
def test_a_trusted_host_that_discards_a_promoted_lesson_leaves_a_notice(
    harness: LessonHarness,
) -> None:
    harness.promoted()
    harness.lessons.trust("a", by=USER)
    harness.lessons.discard(DiscardLesson("les-1"), by=AGENT)
    [text] = noticed(harness)
    assert "agent:a, which you trust, has discarded the lesson 'Clear the cache' (les-1)" in text


def test_taking_the_discard_back_removes_the_notice(harness: LessonHarness) -> None:
    harness.promoted()
    harness.lessons.trust("a", by=USER)
    harness.lessons.discard(DiscardLesson("les-1"), by=AGENT)
    discarded = next(
        fact.position
        for fact in harness.log.read("lesson:les-1")
        if fact.event.wire == "lessons.lesson_discarded"
    )
    harness.log.retract([discarded], reason="it was right", actor="user")
    assert harness.status() is Status.PROMOTED
    assert noticed(harness) == []


def test_a_trusted_host_that_replaces_an_active_lesson_leaves_a_notice(
    harness: LessonHarness,
) -> None:
    harness.propose()
    harness.propose(lesson_id="les-2")
    harness.lessons.activate("les-1", by=USER)
    harness.lessons.trust("b", by=USER)
    harness.lessons.supersede(SupersedeLesson("les-1", "les-2"), by=HELPER)
    [text] = noticed(harness)
    assert "agent:b, which you trust, has let les-2 replace the lesson" in text


def test_the_user_and_a_pending_lesson_lead_to_no_notice(harness: LessonHarness) -> None:
    harness.promoted()
    harness.propose(lesson_id="les-2")
    harness.lessons.discard(DiscardLesson("les-1"), by=USER)
    harness.lessons.discard(DiscardLesson("les-2"), by=HELPER)
    assert noticed(harness) == []
