"""When tasks ran, and when they waited for a person: spans of time, folded from their facts."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Literal

import msgspec

from everloop.log import Fact, Reader
from everloop.log.model.record import fact_of, from_microseconds
from everloop.workers.model import events as e
from everloop.workers.model.state import Task, evolve, task_stream

SpanKind = Literal["queued", "running", "waiting"]
_KINDS: dict[str, SpanKind] = {
    "approved": "queued",
    "running": "running",
    "planned": "waiting",
    "waiting": "waiting",
    "review": "waiting",
}


class TimelineSpan(msgspec.Struct, frozen=True):
    """A time in which a task was queued, ran, or waited for a person. An open one has no end."""

    kind: SpanKind
    since: datetime
    until: datetime | None


class TaskTimeline(msgspec.Struct, frozen=True):
    """The spans of one task, in order."""

    task_id: str
    title: str
    state: str
    spans: tuple[TimelineSpan, ...]


def load_timelines(reader: Reader, task_ids: Sequence[str], since_us: int) -> list[TaskTimeline]:
    """The spans of tasks that reach into the time since `since_us`."""
    loaded = (_timeline(_facts(reader, name), since_us) for name in task_ids)
    return [one for one in loaded if one is not None]


def spans_of(
    facts: Iterable[Fact], since_us: int = 0
) -> tuple[Task | None, tuple[TimelineSpan, ...]]:
    """The task after its facts, and the spans of its states that end after `since_us`."""
    task: Task | None = None
    spans: list[TimelineSpan] = []
    kind: SpanKind | None = None
    begun_us = 0
    for fact in facts:
        task = evolve(task, fact)
        now = _KINDS.get(task.state)
        if now == kind:
            continue
        if kind and fact.recorded_us >= since_us:
            spans.append(_span(kind, begun_us, fact.recorded_us))
        kind, begun_us = now, fact.recorded_us
    if kind:
        spans.append(_span(kind, begun_us, 0))
    return task, tuple(spans)


def _timeline(facts: Sequence[Fact], since_us: int) -> TaskTimeline | None:
    task, spans = spans_of(facts, since_us)
    if task is None or not spans:
        return None
    return TaskTimeline(task.task_id, task.spec.title, task.state, spans)


def _facts(reader: Reader, task_id: str) -> list[Fact]:
    rows = reader.rows(_POSITIONS, (task_stream(task_id),))
    return [fact_of(reader.record(row[0])) for row in rows]


def _span(kind: SpanKind, since_us: int, until_us: int) -> TimelineSpan:
    until = from_microseconds(until_us) if until_us else None
    return TimelineSpan(kind, from_microseconds(since_us), until)


_SKIPPED = (e.SpendingRecorded.wire, e.SessionNoted.wire, e.MessageDelivered.wire)
_POSITIONS = f"""
SELECT position FROM log WHERE stream = ? AND kind NOT IN {_SKIPPED} ORDER BY position
"""  # noqa: S608 - our own kinds
