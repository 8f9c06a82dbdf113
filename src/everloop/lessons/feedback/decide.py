"""The decision about a turn: once for each turn, and not too often for one lesson."""

from everloop.errors import Forbidden, Invalid
from everloop.lessons.feedback.abstain_reasons import COOLDOWN, SESSION_RECYCLED
from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.events import Reading, Signal, TurnWeighed
from everloop.lessons.feedback.state import Hearing
from everloop.lessons.model.events import SentimentAbstained
from everloop.log import Asking, Draft
from everloop.log.model.record import microseconds

MICROSECONDS = 1_000_000


def weigh_turn(hearing: Hearing | None, command: WeighTurn, asking: Asking) -> list[Draft]:
    """Record what a turn came to. The same turn again changes nothing.

    Other words under a known name mean that the host uses a session's name again: who said what
    can no longer be told, so nothing is taken from it.
    """
    _check(command, asking)
    known = hearing or Hearing()
    if known.known(command.turn_id, command.text_digest) is not None:
        return []
    if command.turn_id in known.turns:
        return _drafts(command, Reading(), (), (SESSION_RECYCLED,))
    fresh, cooling = _cooled(known, command, microseconds(asking.now))
    return _drafts(command, command.reading, fresh, (*command.reasons, *cooling))


def check_named(session: str, turn_id: str) -> None:
    """Make sure that a turn can be told from others.

    Raises:
        Invalid: it cannot.
    """
    if not session or not turn_id:
        raise Invalid("a turn needs a session and a name", hint="Name both; both are the host's.")


def _check(command: WeighTurn, asking: Asking) -> None:
    if command.session != asking.by.session:
        raise Forbidden(
            f"session {command.session!r} is not the one that speaks",
            hint="A host passes on the turns of its own sessions.",
        )
    check_named(command.session, command.turn_id)
    if not command.signals and not command.reasons:
        raise Invalid("a turn came to nothing", hint="Give signals, or the reasons against them.")


def _cooled(
    hearing: Hearing, command: WeighTurn, now_us: int
) -> tuple[tuple[Signal, ...], tuple[str, ...]]:
    """The signals on lessons that had none just now, and a reason for each of the others."""
    since_us = now_us - int(command.cooldown_s * MICROSECONDS)
    fresh: list[Signal] = []
    cooling: list[str] = []
    for signal in command.signals:
        if hearing.signalled_us.get(signal.lesson_id, since_us) > since_us:
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
