"""Candidate lessons from finished tasks, and the check's verdict on them.

Lessons and workers do not know each other; this is where they meet. What the user asked to be
changed before they accepted the work is a candidate: the gate and the user decide about it.
"""

from everloop.domain import Domain, Policy
from everloop.lessons.model.commands import ProposeLesson, RecordVerdict
from everloop.lessons.model.events import LessonProposed
from everloop.lessons.model.state import text_digest
from everloop.log import Fact, Reader
from everloop.log.model.record import fact_of
from everloop.workers import CheckRecorded, PlanRevised, RevisionRequested, TaskDone, TaskProposed

PREFIX = "les-task-"
TITLE_SHOWN = 120
BODY_MAX = 4_000

_FACTS = """
SELECT position FROM log WHERE stream = ? AND kind IN (?, ?, ?, ?) ORDER BY position
"""


def when_task_done_propose_a_lesson(reader: Reader, fact: Fact) -> list[ProposeLesson]:
    """Propose what the user corrected, if they did."""
    done = fact.event
    assert isinstance(done, TaskDone)
    known = _facts(reader, done.task_id)
    asked = [
        (one.position, one.event.text)
        for one in known
        if isinstance(one.event, PlanRevised | RevisionRequested) and one.event.text.strip()
    ]
    proposed = next((one.event for one in known if isinstance(one.event, TaskProposed)), None)
    if not asked or not isinstance(proposed, TaskProposed):
        return []
    words = "\n\n".join(text for _, text in asked)
    body = f"The user asked for this before they accepted the work:\n\n{words}"
    command = ProposeLesson(
        f"{PREFIX}{done.task_id}",
        f"For tasks such as “{proposed.spec.title[:TITLE_SHOWN]}”",
        body[:BODY_MAX],
        because=(fact.position, *(position for position, _ in asked)),
    )
    return [command]


def when_lesson_of_task_proposed_record_its_verdict(
    reader: Reader, fact: Fact
) -> list[RecordVerdict]:
    """Add the verdict of the task's check, which ran outside the agent.

    Not if the worker changed what the check depends on, or that is not known: it graded itself.
    """
    lesson = fact.event
    assert isinstance(lesson, LessonProposed)
    if not lesson.lesson_id.startswith(PREFIX) or fact.actor != "engine":
        return []
    known = _facts(reader, lesson.lesson_id.removeprefix(PREFIX))
    checks = [one.event for one in known if isinstance(one.event, CheckRecorded)]
    if not checks:
        return []
    last = checks[-1]
    if last.check_files.standing != "unchanged":
        return []
    digest = text_digest(lesson.description, lesson.body)
    return [
        RecordVerdict(
            lesson.lesson_id, last.passed, last.exit_code, last.command, last.output_digest, digest
        )
    ]


def _facts(reader: Reader, task_id: str) -> list[Fact]:
    kinds = (TaskProposed.wire, PlanRevised.wire, RevisionRequested.wire, CheckRecorded.wire)
    rows = reader.rows(_FACTS, (f"task:{task_id}", *kinds))
    return [fact_of(reader.record(row[0])) for row in rows]


TASK_LESSONS = Domain(
    "task_lessons",
    policies=(
        Policy("propose-task-lesson", TaskDone, ProposeLesson, when_task_done_propose_a_lesson),
        Policy(
            "judge-task-lesson",
            LessonProposed,
            RecordVerdict,
            when_lesson_of_task_proposed_record_its_verdict,
        ),
    ),
)
