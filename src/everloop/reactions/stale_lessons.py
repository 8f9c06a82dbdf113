"""The task that asks about stale lessons: active ones that nobody said anything about for long."""

from everloop.background.task import BackgroundTask
from everloop.inbox import Choice, RaiseRequest
from everloop.lessons.service import LessonService
from everloop.log import CommandBus, Context, Log
from everloop.log.ownership import Claim
from everloop.memory.model.scopes import OWNER

LOOK_S = 3_600.0
OK = (Choice("ok", "Keep it for now"),)


class StaleLessonsTask(BackgroundTask):
    """Raises one request for each stale lesson, once."""

    def __init__(self, log: Log, bus: CommandBus, lessons: LessonService) -> None:
        super().__init__(log, "stale lessons", self._work, claim="lessons.stale")
        self._bus, self._lessons = bus, lessons

    def look(self) -> None:
        """Ask about each lesson that is stale now."""
        for stale in self._lessons.stale_lessons(OWNER):
            lesson = stale.lesson
            request = RaiseRequest(
                f"stale.{lesson.lesson_id}",
                "stale_lesson",
                f"Does this lesson still help? {lesson.description}"[:200],
                lesson.body,
                OK,
                subject=f"lesson:{lesson.lesson_id}",
                because=(lesson.position,),
            )
            self._bus.do(request, by=Context(actor="engine"))

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self.look()
            self.stopping.wait(LOOK_S)
