"""The decision about a turn: each turn counts once, with a cooldown for each lesson."""

from everloop.errors import Forbidden, Invalid
from everloop.lessons.feedback.abstain_reasons import COOLDOWN, SESSION_RECYCLED
from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.events import Reading, Signal, TurnWeighed
from everloop.lessons.feedback.state import SessionTurns
from everloop.lessons.model.events import SentimentAbstained
from everloop.log import DecisionContext, Draft
from everloop.log.model.record import to_microseconds

MICROSECONDS = 1_000_000


def weigh_turn(
    hearing: SessionTurns | None, command: WeighTurn, asking: DecisionContext
) -> list[Draft]:
    """Record the result of a turn. Repeating it changes nothing.

    A known turn id with a different text means that the host reused a session id. Turns can no
    longer be told apart then, so it gives no signal.
    """
    _check(command, asking)
    known = hearing or SessionTurns()
    if known.result_of(command.turn_id, command.text_digest) is not None:
        return []
    if command.turn_id in known.turns:
        return _drafts(command, Reading(), (), (SESSION_RECYCLED,))
    fresh, cooling = _apply_cooldown(known, command, to_microseconds(asking.now))
    return _drafts(command, command.reading, fresh, (*command.reasons, *cooling))


def check_turn_id(session: str, turn_id: str) -> None:
    """Check that a turn has a session and an id.

    Raises:
        Invalid: one of them is missing.
    """
    if not session or not turn_id:
        raise Invalid("a turn needs a session and an id", hint="Give both, as the host names them.")


def _check(command: WeighTurn, asking: DecisionContext) -> None:
    if command.session != asking.by.session:
        raise Forbidden(
            f"session {command.session!r} is not the session of this request",
            hint="A host may only report turns of its own session.",
        )
    check_turn_id(command.session, command.turn_id)
    if not command.signals and not command.reasons:
        raise Invalid("the result of the turn is empty", hint="Give signals, or reasons for none.")


def _apply_cooldown(
    hearing: SessionTurns, command: WeighTurn, now_us: int
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    """The signals on lessons that are not in cooldown, and a reason for each of the others.

    Blame has no cooldown: it is never dropped.
    """
    since_us = now_us - int(command.cooldown_s * MICROSECONDS)
    fresh: list[Signal] = []
    cooling: list[str] = []
    for signal in command.signals:
        if signal.helpful and hearing.signalled_us.get(signal.lesson_id, since_us) > since_us:
            cooling.append(f"{COOLDOWN}: {signal.lesson_id}")
        else:
            fresh.append(signal)
    return tuple(fresh), tuple(cooling)


def _drafts(
    command: WeighTurn, reading: Reading, signals: tuple[Signal, ...], reasons: tuple[str, ...]
) -> list[Draft]:
    weighed = TurnWeighed(
        session=command.session,
        turn_id=command.turn_id,
        text_digest=command.text_digest,
        reading=reading,
        model=command.model,
        signals=signals,
    )
    if not reasons:
        return [Draft(weighed, command.because)]
    abstained = SentimentAbstained(command.session, command.turn_id, command.lesson_ids, reasons)
    return [Draft(weighed, command.because), Draft(abstained, beside=(0,))]
