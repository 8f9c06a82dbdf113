"""The command on a turn that may contain feedback."""

from everloop.lessons.feedback.events import Reading, Signal
from everloop.log import Command


class WeighTurn(Command, frozen=True):
    """Record the result of a turn: feedback signals, or the reasons why there are none."""

    session: str
    turn_id: str
    text_digest: str
    lesson_ids: tuple[str, ...]
    signals: tuple[Signal, ...] = ()
    reasons: tuple[str, ...] = ()
    reading: Reading = Reading()
    model: str = ""
    cooldown_s: float = 0.0
    because: tuple[int, ...] = ()
