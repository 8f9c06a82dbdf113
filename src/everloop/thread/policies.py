"""What happens in threads when something else happens.

A lesson that stood until a trusted host withdrew it is noted in the home thread.
"""

from everloop.domain import Policy
from everloop.lessons.model.events import LessonDiscarded, LessonSuperseded
from everloop.lessons.model.lifecycle import APPROVED_STATUSES
from everloop.lessons.projections.queries import find_lesson, status_before
from everloop.log import Fact, Reader
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.thread.model.commands import HOME, HOME_TITLE, NoteIntent, OpenThread


def when_lesson_withdrawn_open_home(reader: Reader, fact: Fact) -> list[OpenThread]:
    """Make sure that there is a home thread for the notice."""
    return [OpenThread(HOME, HOME_TITLE)] if _is_worth_a_notice(reader, fact) else []


def when_lesson_withdrawn_note_it(reader: Reader, fact: Fact) -> list[NoteIntent]:
    """Note for the user that a host discarded or replaced a lesson."""
    if not _is_worth_a_notice(reader, fact):
        return []
    withdrawn = _withdrawn(fact)
    lesson = find_lesson(reader, Viewer(OWNER, ("*",)), withdrawn.lesson_id)
    done = "discarded"
    if isinstance(withdrawn, LessonSuperseded):
        done = f"let {withdrawn.by} replace"
    text = (
        f"Check: {fact.actor}, which you trust, has {done} the lesson {lesson.description!r} "
        f"({lesson.lesson_id}). `everloop log retract {fact.position}` takes that back."
    )
    return [NoteIntent(HOME, f"int-lesson-{fact.position}", text, (fact.position,))]


POLICIES = tuple(
    Policy(f"{name}-{event.wire}", event, command, find, elsewhere=True)
    for event in (LessonDiscarded, LessonSuperseded)
    for name, command, find in (
        ("open-home", OpenThread, when_lesson_withdrawn_open_home),
        ("note-withdrawn", NoteIntent, when_lesson_withdrawn_note_it),
    )
)


def _is_worth_a_notice(reader: Reader, fact: Fact) -> bool:
    """Whether a host withdrew what the user or the gate had approved, or what a user wrote."""
    if fact.actor in (OWNER, ENGINE):
        return False
    withdrawn = _withdrawn(fact)
    before = status_before(reader, withdrawn.lesson_id, fact.position)
    return withdrawn.forced or before in APPROVED_STATUSES


def _withdrawn(fact: Fact) -> LessonDiscarded | LessonSuperseded:
    assert isinstance(fact.event, LessonDiscarded | LessonSuperseded), "the policies name these"
    return fact.event
