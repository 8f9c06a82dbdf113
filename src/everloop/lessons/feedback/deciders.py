"""The decider table of feedback in messages."""

from typing import Any

from everloop.lessons.feedback.commands import WeighTurn
from everloop.lessons.feedback.decide import weigh_turn
from everloop.lessons.feedback.state import SESSION_TURNS, turns_stream
from everloop.log import Decider


def _stream(command: WeighTurn) -> str:
    return turns_stream(command.session)


FEEDBACK_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(WeighTurn, _stream, SESSION_TURNS, weigh_turn),
)
