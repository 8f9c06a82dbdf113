"""The newest steps of turns in all threads."""

from everloop.log import Reader, visible
from everloop.turns.outcomes import TurnStep

STEPS_MAX = 1_000

_NEWEST = f"""
SELECT t.position, t.turn_id, t.phase, l.recorded_at, t.reason, t.hint
FROM thread_turns t JOIN log l ON l.position = t.position
WHERE l.recorded_at >= ? AND {visible("t")} ORDER BY t.position DESC LIMIT {STEPS_MAX}
"""  # noqa: S608 - our own conditions


def recent_turn_steps(reader: Reader, since_us: int) -> list[TurnStep]:
    """The steps of turns since a time, at most the newest thousand."""
    return [TurnStep(*row) for row in reader.rows(_NEWEST, (since_us,))]
