"""The folded state of a session's turns: only what decisions need."""

import msgspec

from everloop.lessons.feedback.events import Signal, TurnWeighed
from everloop.lessons.model.events import SentimentAbstained
from everloop.log import Fact, Fold


class TurnResult(msgspec.Struct, frozen=True):
    """The recorded result of a turn, and its position."""

    position: int
    signals: tuple[Signal, ...]
    reasons: tuple[str, ...] = ()


class SessionTurns(msgspec.Struct, frozen=True):
    """The evaluated turns of a session, and when each lesson last got a signal."""

    turns: dict[str, dict[str, TurnResult]] = {}  # by turn id, then by digest of the text
    signalled_us: dict[str, int] = {}

    def result_of(self, turn_id: str, text_digest: str) -> TurnResult | None:
        """The result of a turn, if it was evaluated."""
        return self.turns.get(turn_id, {}).get(text_digest)


def evolve(hearing: SessionTurns | None, fact: Fact) -> SessionTurns:
    """The session after a fact."""
    before = hearing or SessionTurns()
    match fact.event:
        case TurnWeighed(turn_id=turn_id, text_digest=digest, signals=signals):
            at = {signal.lesson_id: fact.recorded_us for signal in signals}
            weighed = TurnResult(fact.position, signals)
            named = {**before.turns.get(turn_id, {}), digest: weighed}
            return SessionTurns({**before.turns, turn_id: named}, {**before.signalled_us, **at})
        case SentimentAbstained(turn_id=turn_id, reasons=reasons) if turn_id in before.turns:
            named = before.turns[turn_id]
            digest, weighed = max(named.items(), key=lambda each: each[1].position)
            explained = msgspec.structs.replace(weighed, reasons=reasons)
            return msgspec.structs.replace(
                before, turns={**before.turns, turn_id: {**named, digest: explained}}
            )
        case _:
            return before


SESSION_TURNS = Fold("lessons.hearing", SessionTurns, evolve)


def turns_stream(session: str) -> str:
    """The stream of a session's turns."""
    return f"sentiment:{session}"
