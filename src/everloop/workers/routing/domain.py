"""Routing as the engine knows it, with the tasks that a message can belong to."""

from everloop.domain import Domain
from everloop.log import Decider, Reader
from everloop.log.model.record import fact_of
from everloop.workers.model.events import TaskProposed, TaskStarted
from everloop.workers.model.state import task_stream
from everloop.workers.queries import open_task_ids
from everloop.workers.routing.commands import SettleRouting, SuggestRouting
from everloop.workers.routing.decide import settle_routing, suggest_routing
from everloop.workers.routing.match import RunningTask
from everloop.workers.routing.state import ROUTING, routing_stream

TASKS_MAX = 50  # the newest of them are compared

_FACTS = "SELECT kind, position FROM log WHERE stream = ? AND kind IN (?, ?) ORDER BY position"


def running_tasks(reader: Reader) -> list[RunningTask]:
    """The tasks of agents that were started and have not ended."""
    found: list[RunningTask] = []
    for task_id in open_task_ids(reader)[-TASKS_MAX:]:
        kinds = (TaskProposed.wire, TaskStarted.wire)
        facts: dict[str, int] = dict(reader.rows(_FACTS, (task_stream(task_id), *kinds)))
        if TaskStarted.wire not in facts or TaskProposed.wire not in facts:
            continue
        proposed = fact_of(reader.record(facts[TaskProposed.wire])).event
        if isinstance(proposed, TaskProposed) and proposed.spec.runner != "command":
            spec = proposed.spec
            found.append(RunningTask(task_id, spec.title, spec.brief, spec.workspace.path))
    return found


def _stream(command: SuggestRouting | SettleRouting) -> str:
    return routing_stream(command.thread_id)


def _candidates(reader: Reader, _: SuggestRouting) -> list[RunningTask]:
    return running_tasks(reader)


TASK_ROUTING = Domain(
    "task_routing",
    (
        Decider(SuggestRouting, _stream, ROUTING, suggest_routing, also=_candidates),
        Decider(SettleRouting, _stream, ROUTING, settle_routing),
    ),
)
