"""Gate results of lessons, and stale lessons that get too little feedback."""

from collections.abc import Collection, Sequence
from datetime import datetime, timedelta

import msgspec

from everloop.lessons.gate import checks as gate
from everloop.lessons.gate.case_queries import load_gate_cases
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.projections import queries
from everloop.lessons.projections.queries import LessonView
from everloop.lessons.settings import GateRules, LessonSettings
from everloop.log import Reader
from everloop.memory.model.scopes import Viewer


class GateResult(msgspec.Struct, frozen=True):
    """A lesson with the result of every gate check, in order."""

    lesson: LessonView
    checks: tuple[gate.GateCheck, ...]

    @property
    def reasons(self) -> tuple[str, ...]:
        """The message of every violation."""
        return tuple(found.message for check in self.checks for found in check.violations)


class StaleLesson(msgspec.Struct, frozen=True):
    """An active lesson with too little feedback: `none` at all, or `below density`."""

    lesson: LessonView
    reason: str


def gate_results(
    reader: Reader, lessons: Sequence[LessonView], rules: GateRules, now: datetime
) -> list[GateResult]:
    """The gate results of these lessons, in this order."""
    found = load_gate_cases(reader, [lesson.position for lesson in lessons], now)
    return [
        GateResult(lesson, gate.checks(case, rules))
        for lesson, case in zip(lessons, found, strict=True)
    ]


def with_current_age(reasons: tuple[str, ...], age: timedelta, rules: GateRules) -> tuple[str, ...]:
    """The reasons of a recorded refusal, with the lesson's age as it is now.

    Only the age changes without a new fact, so a refusal that repeats is not recorded again.
    """
    message = gate.too_new_message(age, rules)
    return tuple(message if each.startswith(gate.TIME_FLOOR) else each for each in reasons)


def stale_lessons(
    reader: Reader,
    who: Viewer,
    settings: LessonSettings,
    now: datetime,
    *,
    kept: Collection[str] = (),
) -> list[StaleLesson]:
    """Active lessons with too little feedback, to ask the user about; oldest first.

    Those in `kept` are left out.
    """
    before = now - timedelta(days=settings.stale_days)
    active = queries.load_lessons(reader, queries.lesson_positions(reader, who, [Status.ACTIVE]))
    quiet = [
        lesson
        for lesson in active
        if lesson.created_at <= before
        and len(lesson.sources) < settings.stale_signals_min
        and lesson.lesson_id not in kept
    ]
    asked = quiet[: settings.stale_asked_max]
    return [StaleLesson(each, "below density" if each.sources else "none") for each in asked]
