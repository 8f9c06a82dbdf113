"""The decider table of feedback in messages."""

from typing import Any

from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.decide import weigh_turn
from everloop.lessons.feedback.state import HEARING, stream_of
from everloop.log import Decider


def _stream(command: WeighTurn) -> str:
    return stream_of(command.session)


SENTIMENT_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(WeighTurn, _stream, HEARING, weigh_turn),
)
