"""Requests about stale lessons, and what the answer does to the lesson.

A stale lesson is an active one that nobody said anything about for long. Lessons do not know the
inbox; here a request is raised for one, the answer is carried out, and a request that the lesson
has overtaken is withdrawn.
"""

from everloop.background.task import BackgroundTask
from everloop.domain import Domain, Policy
from everloop.inbox import (
    Choice,
    RaiseRequest,
    RequestAnswered,
    WithdrawRequest,
    answered_subjects,
    open_requests_about,
)
from everloop.lessons.model.commands import DiscardLesson
from everloop.lessons.model.events import (
    FeedbackGiven,
    LessonDiscarded,
    LessonEdited,
    LessonSuperseded,
)
from everloop.lessons.service import LessonService
from everloop.log import CommandBus, Context, Event, Fact, Log, Reader
from everloop.log.ownership import Claim
from everloop.memory.model.scopes import OWNER

LOOK_S = 3_600.0
KIND = "stale_lesson"
SUBJECT = "lesson:"
CHOICES = (
    Choice("keep", "Keep it", "You are not asked about it again."),
    Choice("discard", "Discard it", "It is no longer used. It stays on record."),
)


class StaleLessonsTask(BackgroundTask):
    """Raises one request for each stale lesson, unless the user has kept it."""

    def __init__(self, log: Log, bus: CommandBus, lessons: LessonService) -> None:
        super().__init__(log, "stale lessons", self._work, claim="lessons.stale")
        self._bus, self._lessons = bus, lessons

    def look(self) -> None:
        """Ask about each lesson that is stale now."""
        with self._log.reading() as reader:
            answered = answered_subjects(reader, KIND)
        kept = {subject.removeprefix(SUBJECT) for subject in answered}
        for stale in self._lessons.stale_lessons(OWNER, kept=kept):
            lesson = stale.lesson
            request = RaiseRequest(
                f"stale.{lesson.lesson_id}.{lesson.digest[:12]}",
                KIND,
                f"Does this lesson still help? {lesson.description}"[:200],
                lesson.body,
                CHOICES,
                subject=f"{SUBJECT}{lesson.lesson_id}",
                because=(lesson.position,),
            )
            self._bus.do(request, by=Context(actor="engine"))

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self.look()
            self.stopping.wait(LOOK_S)


def when_stale_lesson_answered_discard_it(reader: Reader, fact: Fact) -> list[DiscardLesson]:
    """Discard the lesson if that is what the user chose."""
    answered = fact.event
    assert isinstance(answered, RequestAnswered)
    if answered.choice != "discard":
        return []
    rows = reader.rows(_SUBJECT, (answered.request_id, KIND))
    reason = "It was discarded in the inbox."
    because = (fact.position,)
    return [DiscardLesson(row[0].removeprefix(SUBJECT), reason, because=because) for row in rows]


def when_lesson_changed_withdraw(reader: Reader, fact: Fact) -> list[WithdrawRequest]:
    """Withdraw the question whether a lesson helps, once that is said or its text is another."""
    changed = fact.event
    assert isinstance(changed, FeedbackGiven | LessonDiscarded | LessonEdited | LessonSuperseded)
    if isinstance(changed, FeedbackGiven) and fact.actor != OWNER:
        return []
    reason = f"The lesson was {_WORDS[type(changed)]}."
    return [
        WithdrawRequest(one.request_id, reason, (fact.position,))
        for one in open_requests_about(reader, f"{SUBJECT}{changed.lesson_id}")
        if one.kind == KIND
    ]


_SUBJECT = "SELECT DISTINCT subject FROM inbox_requests WHERE request_id = ? AND kind = ?"
_WORDS: dict[type[Event], str] = {
    FeedbackGiven: "rated",
    LessonDiscarded: "discarded",
    LessonEdited: "edited",
    LessonSuperseded: "replaced",
}

STALE_LESSONS = Domain(
    "stale_lessons",
    policies=(
        Policy(
            "discard-stale-lesson",
            RequestAnswered,
            DiscardLesson,
            when_stale_lesson_answered_discard_it,
        ),
        *(
            Policy(f"withdraw-stale-{word}", kind, WithdrawRequest, when_lesson_changed_withdraw)
            for kind, word in _WORDS.items()
        ),
    ),
)
