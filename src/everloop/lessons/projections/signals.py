"""The signals of one lesson: feedback and verdicts, one by one."""

from datetime import datetime

import msgspec

from everloop.lessons.projections.queries import WITHDRAWN
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds


class SignalView(msgspec.Struct, frozen=True):
    """Feedback. `present`: it is about the current text; `open`: it was not withdrawn."""

    position: int
    signal_id: str
    helpful: bool
    channel: str
    actor: str
    relayed: bool
    present: bool
    open: bool
    recorded_at: datetime


class VerdictView(msgspec.Struct, frozen=True):
    """A runner's verdict. `outside`: the runner was not under an agent's control."""

    position: int
    passed: bool
    exit_code: int
    command: str
    output_digest: str
    actor: str
    outside: bool
    present: bool
    recorded_at: datetime


class SignalHistory(msgspec.Struct, frozen=True):
    """All feedback and verdicts on a lesson, oldest first."""

    signals: tuple[SignalView, ...]
    verdicts: tuple[VerdictView, ...]


def signal_history(reader: Reader, lesson: int, digest: str) -> SignalHistory:
    """All signals of the lesson proposed at a position, whose current text has this digest."""
    return SignalHistory(
        tuple(
            SignalView(
                position=row[0],
                signal_id=row[1],
                helpful=bool(row[2]),
                channel=row[3],
                actor=row[4],
                relayed=bool(row[5]),
                present=row[6] == digest,
                open=bool(row[7]),
                recorded_at=from_microseconds(row[8]),
            )
            for row in reader.rows(_SIGNALS, (lesson,))
        ),
        tuple(
            VerdictView(
                position=row[0],
                passed=bool(row[1]),
                exit_code=row[2],
                command=row[3],
                output_digest=row[4],
                actor=row[5],
                outside=bool(row[6]),
                present=row[7] == digest,
                recorded_at=from_microseconds(row[8]),
            )
            for row in reader.rows(_VERDICTS, (lesson,))
        ),
    )


_SIGNALS = f"""
SELECT f.position, f.signal_id, f.helpful, f.channel, f.actor, f.relayed, f.digest,
    NOT {WITHDRAWN}, f.recorded_at
FROM lesson_feedback f WHERE f.lesson = ? AND {visible("f")} ORDER BY f.position
"""  # noqa: S608 - our own conditions
_VERDICTS = f"""
SELECT v.position, v.passed, v.exit_code, v.command, v.output_digest, v.actor, v.outside, v.digest,
    v.recorded_at
FROM lesson_verdicts v WHERE v.lesson = ? AND {visible("v")} ORDER BY v.position
"""  # noqa: S608 - our own condition
