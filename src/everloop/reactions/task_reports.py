"""Reports of tasks in their thread: one message when a task ends, delivered once.

Threads and workers do not know each other; this is where they meet. What a worker claims is quoted.
"""

from everloop.domain import Domain, Policy
from everloop.log import Fact, Reader
from everloop.log.model.record import fact_of
from everloop.thread.model.commands import HOME, PostReport
from everloop.thread.quoting import quote
from everloop.workers import (
    TaskDone,
    TaskFailed,
    TaskLeftUncertain,
    TaskProposed,
    claim_and_verdict,
    is_news,
)

Ended = TaskDone | TaskFailed | TaskLeftUncertain
SHOWN = 4_000  # characters of a claim or reason

_PROPOSED = "SELECT position FROM worker_tasks WHERE task_id = ?"
_THREAD = "SELECT 1 FROM thread_threads WHERE thread_id = ? LIMIT 1"


def when_task_ended_report_it(reader: Reader, fact: Fact) -> list[PostReport]:
    """Tell in the task's thread how it ended; a task without one reports to the home thread."""
    ended = fact.event
    assert isinstance(ended, Ended)
    rows = reader.rows(_PROPOSED, (ended.task_id,))
    proposed = fact_of(reader.record(rows[0][0])).event if rows else None
    if not isinstance(proposed, TaskProposed):
        return []
    if not is_news(reader, ended.task_id, ended.wire):
        return []  # a watch tells when it begins to fail, and when it no longer does
    thread_id = proposed.spec.thread_id or HOME
    if not reader.rows(_THREAD, (thread_id,)):
        return []
    text = _text(reader, proposed, ended)
    subject = f"task:{ended.task_id}"
    report = PostReport(thread_id, f"rep-{ended.request_id}", text, subject, (fact.position,))
    return [report]


def _text(reader: Reader, proposed: TaskProposed, ended: Ended) -> str:
    title = proposed.spec.title
    if isinstance(ended, TaskDone):
        more = "\n\n".join(filter(None, (ended.detail, claim_and_verdict(reader, ended.task_id))))
        head = f"The task “{title}” is done."
    elif isinstance(ended, TaskFailed):
        head, more = f"The task “{title}” failed.", ended.reason
    else:
        head, more = f"How the task “{title}” ended is not known.", ended.reason
    return f"{head}\n\n> {quote(more[:SHOWN])}" if more else head


_ENDS: tuple[tuple[str, type[Ended]], ...] = (
    ("report-done", TaskDone),
    ("report-failed", TaskFailed),
    ("report-uncertain", TaskLeftUncertain),
)


TASK_REPORTS = Domain(
    "task_reports",
    policies=tuple(
        Policy(name, kind, PostReport, when_task_ended_report_it, elsewhere=True)
        for name, kind in _ENDS
    ),
)
