"""Decisions of routing: pure functions of the running tasks and the open suggestions."""

from collections.abc import Sequence

from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.workers.model.decide import MESSAGE_MAX, OWNER
from everloop.workers.routing.commands import SettleRouting, SuggestRouting
from everloop.workers.routing.events import RoutingSettled, RoutingSuggested
from everloop.workers.routing.match import RunningTask, matching_tasks
from everloop.workers.routing.state import RoutingState


def suggest_routing(
    known: RoutingState | None, command: SuggestRouting, asking: DecisionContext
) -> list[Draft]:
    """Suggest the tasks that a message seems to belong to, once; nothing if there is none."""
    tasks: Sequence[RunningTask] = asking.known or ()
    if (known and command.message_id in known.suggestions) or len(command.text) > MESSAGE_MAX:
        return []
    matches = matching_tasks(command.text, tasks)
    if not matches:
        return []
    found = RoutingSuggested(command.thread_id, command.message_id, command.text, matches)
    return [Draft(found, command.because)]


def settle_routing(
    known: RoutingState | None, command: SettleRouting, asking: DecisionContext
) -> list[Event]:
    """Record what the user chose. A chat is no choice: only the user's own act is."""
    if asking.by.actor != OWNER:
        raise Forbidden("only the user sends a message to a task", hint="Do it in the web pages.")
    suggestion = known.suggestions.get(command.message_id) if known else None
    if suggestion is None:
        raise NotFound(
            f"nothing is suggested for message {command.message_id!r}",
            hint="It was answered before, or the task has ended.",
        )
    if command.task_id and command.task_id not in [one.task_id for one in suggestion.matches]:
        raise Invalid(f"task {command.task_id!r} was not suggested", hint="Steer it from its page.")
    return [RoutingSettled(command.thread_id, command.message_id, command.task_id)]
