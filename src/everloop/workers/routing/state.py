"""State of routing in one thread: suggestions that the user has not answered."""

import msgspec

from everloop.log import Fact, Fold
from everloop.workers.routing.events import RoutingSettled, RoutingSuggested, TaskMatch

OPEN_MAX = 20  # suggestions that stay open; older ones are no longer shown


class Suggestion(msgspec.Struct, frozen=True):
    """A message with the tasks that it may belong to."""

    message_id: str
    text: str
    matches: tuple[TaskMatch, ...]
    position: int


class RoutingState(msgspec.Struct, frozen=True):
    """Open suggestions by message, the oldest first."""

    suggestions: dict[str, Suggestion] = {}


def evolve(known: RoutingState | None, fact: Fact) -> RoutingState:
    """The state after a fact."""
    before = (known or RoutingState()).suggestions
    match fact.event:
        case RoutingSuggested() as new:
            added = Suggestion(new.message_id, new.text, new.matches, fact.position)
            newest = list({**before, new.message_id: added}.items())[-OPEN_MAX:]
            return RoutingState(dict(newest))
        case RoutingSettled(message_id=message_id):
            return RoutingState({key: one for key, one in before.items() if key != message_id})
        case _:
            return RoutingState(before)


def routing_stream(thread_id: str) -> str:
    """The stream of the suggestions of a thread."""
    return f"routing:{thread_id}"


ROUTING = Fold("workers.routing", RoutingState, evolve)
