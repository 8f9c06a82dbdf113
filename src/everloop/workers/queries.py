"""Queries on tasks: the board, one task, its transcript, what was spent today.

For the owner only: there is no audience check here.
"""

from datetime import datetime

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.event import decode
from everloop.log.model.record import from_microseconds
from everloop.workers.model.events import TranscriptEntry, TranscriptRecorded


class TranscriptPart(msgspec.Struct, frozen=True):
    """Entries of a transcript that were recorded together."""

    position: int
    attempt: int
    at: datetime
    entries: tuple[TranscriptEntry, ...]


class Spending(msgspec.Struct, frozen=True):
    """What tasks spent on models in some time."""

    cost_usd: float
    tokens: int


def open_task_ids(reader: Reader) -> list[str]:
    """The tasks that may not have ended, the oldest first."""
    return [row[0] for row in reader.rows(_OPEN)]


def ended_task_ids(reader: Reader, limit: int, before: int = 2**62) -> list[str]:
    """The tasks that ended last, the newest first; without those of watches, which tell news."""
    return [row[0] for row in reader.rows(_ENDED, (before, limit))]


def task_ids_of_thread(reader: Reader, thread_id: str, limit: int) -> list[str]:
    """The newest tasks of a thread, the newest first."""
    return [row[0] for row in reader.rows(_OF_THREAD, (thread_id, limit))]


def require_task_id(reader: Reader, task_id: str) -> str:
    """Check that a task exists.

    Raises:
        NotFound: there is none.
    """
    if not reader.rows(_EXISTS, (task_id,)):
        raise NotFound(f"no task {task_id!r}", hint="`everloop tasks` lists them.")
    return task_id


def transcript(reader: Reader, task_id: str, after: int, limit: int) -> list[TranscriptPart]:
    """What a task's attempts showed after a position, in order."""
    rows = reader.rows(_TRANSCRIPT, (task_id, after, limit))
    return [decode_part(*row) for row in rows]


def spending_since(reader: Reader, since_us: int) -> Spending:
    """What all tasks spent since a time."""
    ((cost, tokens),) = reader.rows(_SPENT, (since_us,))
    return Spending(float(cost), int(tokens))


def decode_part(position: int, schema: int, data: str, at_us: int) -> TranscriptPart:
    """A part of a transcript, from its row of the log."""
    part = decode(TranscriptRecorded.wire, schema, data)
    assert isinstance(part, TranscriptRecorded), "the view has positions of transcripts only"
    return TranscriptPart(position, part.attempt, from_microseconds(at_us), part.entries)


_OPEN = f"""
SELECT t.task_id FROM worker_tasks t WHERE t.open = 1 AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own condition
_ENDED = f"""
SELECT n.task_id FROM worker_ends n JOIN worker_tasks t ON t.task_id = n.task_id
WHERE n.position < ? AND n.open = 0 AND t.open = 0 AND {visible("n")} AND {visible("t")}
AND NOT EXISTS (SELECT 1 FROM worker_ends l WHERE l.task_id = n.task_id AND l.position > n.position)
AND NOT EXISTS (SELECT 1 FROM worker_schedule_runs r
    JOIN worker_schedules w ON w.schedule_id = r.schedule_id
    WHERE r.task_id = n.task_id AND w.watch = 1)
ORDER BY n.position DESC LIMIT ?
"""  # noqa: S608 - our own conditions
_EXISTS = f"""
SELECT 1 FROM worker_tasks t WHERE t.task_id = ? AND {visible("t")}
"""  # noqa: S608 - our own condition
_OF_THREAD = f"""
SELECT t.task_id FROM worker_tasks t WHERE t.thread_id = ? AND {visible("t")}
ORDER BY t.position DESC LIMIT ?
"""  # noqa: S608 - our own condition
_TRANSCRIPT = f"""
SELECT l.position, l.schema, l.data, l.recorded_at FROM worker_transcripts p
JOIN log l ON l.position = p.position
WHERE p.task_id = ? AND p.position > ? AND {visible("p")} ORDER BY p.position LIMIT ?
"""  # noqa: S608 - our own condition
_SPENT = f"""
SELECT ifnull(sum(s.cost_usd), 0), ifnull(sum(s.tokens), 0) FROM worker_spending s
WHERE s.at >= ? AND {visible("s")}
"""  # noqa: S608 - our own condition
