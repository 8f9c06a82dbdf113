"""Events of routing: a message that may belong to a task, and what the user chose."""

import msgspec

from everloop.log import Event, event


class TaskMatch(msgspec.Struct, frozen=True):
    """A task that a message may belong to; `reasons` say why, in words."""

    task_id: str
    score: float
    reasons: tuple[str, ...]


@event("workers.routing_suggested")
class RoutingSuggested(Event, frozen=True):
    """A message of a thread seems to belong to a running task; the best match comes first."""

    thread_id: str
    message_id: str
    text: str
    matches: tuple[TaskMatch, ...]


@event("workers.routing_settled")
class RoutingSettled(Event, frozen=True):
    """The user sent the message to a task, or to none of them (empty)."""

    thread_id: str
    message_id: str
    task_id: str
