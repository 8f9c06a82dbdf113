"""Worker service, called by every interface: propose, start, retry, cancel, steer, look."""

from collections.abc import Callable
from datetime import datetime, timedelta

import msgspec

from everloop.errors import NotFound
from everloop.log import CommandBus, Context, Log
from everloop.log.idempotency import id_for_request
from everloop.log.model.record import fact_of, from_microseconds
from everloop.workers.execution.ports import FolderSize, TaskFolders, Workspaces
from everloop.workers.model import commands as c
from everloop.workers.model.spec import NetworkReach, TaskSpec, network_reach
from everloop.workers.model.state import TASK, Task, task_stream
from everloop.workers.queries import (
    TranscriptPart,
    ended_task_ids,
    open_task_ids,
    require_task_id,
    task_ids_of_thread,
    transcript,
)
from everloop.workers.routing.commands import SettleRouting
from everloop.workers.routing.state import ROUTING, RoutingState, Suggestion, routing_stream
from everloop.workers.settings import WorkerSettings
from everloop.workers.timeline import TaskTimeline, load_timelines
from everloop.workers.transcript_search import TranscriptHit, search_transcripts

TRANSCRIPT_PAGE = 200


class TaskView(msgspec.Struct, frozen=True):
    """A task with the times of its first and last fact, who proposed it, and what it reaches."""

    task: Task
    proposed_by: str
    proposed_at: datetime
    changed_at: datetime
    network: NetworkReach


class TaskBoard(msgspec.Struct, frozen=True):
    """Tasks by where they stand; each list begins with the newest."""

    proposed: tuple[TaskView, ...]
    active: tuple[TaskView, ...]
    waiting: tuple[TaskView, ...]
    review: tuple[TaskView, ...]
    ended: tuple[TaskView, ...]


class TaskStorage(msgspec.Struct, frozen=True):
    """What a task takes on this machine's disk, and when part of it is removed, if ever."""

    task_id: str
    title: str
    state: str
    size: int
    workspace: str
    removal: datetime | None = None


class WorkerService:
    """The tasks of one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        settings: WorkerSettings,
        workspaces: Workspaces,
        folders: TaskFolders,
        *,
        is_sandboxed: Callable[[], bool] = lambda: False,
    ) -> None:
        """`is_sandboxed` says whether this machine has a sandbox for tasks."""
        self._log, self._bus, self._settings = log, bus, settings
        self._workspaces, self._is_sandboxed = workspaces, is_sandboxed
        self._folders = folders

    @property
    def settings(self) -> WorkerSettings:
        """The limits that a new task gets."""
        return self._settings

    def propose(
        self,
        spec: TaskSpec,
        by: Context,
        *,
        start: bool = False,
        request_id: str = "",
        because: tuple[int, ...] = (),
    ) -> TaskView:
        """Propose a task; with `start`, which is for the user alone, it begins."""
        task_id = id_for_request(self._log.ids, "tsk", request_id)
        key = f"propose-task-{request_id}" if request_id else None
        command = c.ProposeTask(task_id, spec, start, because)
        self._bus.do(command, by=by, request_id=key)
        return self.find(task_id)

    def start(self, task_id: str, by: Context, *, skip_plan: bool = False) -> TaskView:
        """Start a proposed task."""
        return self._change(c.StartTask(task_id, skip_plan), by)

    def dismiss(self, task_id: str, by: Context) -> TaskView:
        """Decline a proposed task."""
        return self._change(c.DismissTask(task_id), by)

    def retry(self, task_id: str, by: Context) -> TaskView:
        """Try the last step of a task again."""
        return self._change(c.RetryTask(task_id), by)

    def cancel(self, task_id: str, by: Context) -> TaskView:
        """End a task. It is `cancelled` once nothing of it runs."""
        return self._change(c.CancelTask(task_id), by)

    def steer(self, task_id: str, text: str, by: Context, request_id: str = "") -> TaskView:
        """Send the agent a message while it works."""
        message_id = id_for_request(self._log.ids, "msg", request_id)
        key = f"steer-{request_id}" if request_id else None
        self._bus.do(c.SteerTask(task_id, message_id, text), by=by, request_id=key)
        return self.find(task_id)

    def suggestions(self, thread_id: str) -> list[Suggestion]:
        """Messages of a thread that seem to belong to tasks which still run."""
        known = self._log.state(ROUTING, routing_stream(thread_id)) or RoutingState()
        found: list[Suggestion] = []
        for one in known.suggestions.values():
            left = tuple(m for m in one.matches if not self.find(m.task_id).task.ended)
            if left:
                found.append(msgspec.structs.replace(one, matches=left))
        return found

    def route(self, thread_id: str, message_id: str, task_id: str, by: Context) -> None:
        """Send a message to the task that was suggested for it, once; empty: to none.

        The message is steered under an id made from it, so a crash in between sends it once.
        """
        known = self._log.state(ROUTING, routing_stream(thread_id)) or RoutingState()
        suggestion = known.suggestions.get(message_id)
        matching = suggestion is not None and task_id in [m.task_id for m in suggestion.matches]
        if suggestion is not None and matching:
            self.steer(task_id, suggestion.text, by, f"route-{message_id}")
        self._bus.do(SettleRouting(thread_id, message_id, task_id), by=by)

    def find(self, task_id: str) -> TaskView:
        """One task.

        Raises:
            NotFound: there is none.
        """
        task = self._log.state(TASK, task_stream(task_id))
        if task is None:
            raise NotFound(f"no task {task_id!r}", hint="`everloop tasks` lists them.")
        return self._view(task)

    def board(self, ended_limit: int = 50) -> TaskBoard:
        """Every open task, and the newest that ended."""
        with self._log.reading() as reader:
            opened, ended = open_task_ids(reader), ended_task_ids(reader, ended_limit)
        views = [self.find(name) for name in (*reversed(opened), *ended)]

        def having(*states: str) -> tuple[TaskView, ...]:
            return tuple(one for one in views if one.task.state in states)

        return TaskBoard(
            proposed=having("proposed"),
            active=having("approved", "running"),
            waiting=having("waiting", "planned"),
            review=having("review"),
            ended=having("done", "failed", "cancelled", "uncertain", "dismissed"),
        )

    def timelines(self, since_us: int, ended_limit: int = 200) -> list[TaskTimeline]:
        """When each task ran and waited since a time; the newest task first."""
        with self._log.reading() as reader:
            names = (*reversed(open_task_ids(reader)), *ended_task_ids(reader, ended_limit))
            return load_timelines(reader, names, since_us)

    def of_thread(self, thread_id: str, limit: int = 50) -> list[TaskView]:
        """The newest tasks that were proposed in a thread, the oldest of them first."""
        with self._log.reading() as reader:
            names = task_ids_of_thread(reader, thread_id, limit)
        return [self.find(name) for name in reversed(names)]

    def recent_folders(self, limit: int = 8) -> list[str]:
        """The folders and repositories of the newest tasks, each once."""
        board = self.board(ended_limit=50)
        views = (*board.proposed, *board.active, *board.waiting, *board.review, *board.ended)
        newest = sorted(views, key=lambda one: -one.task.position)
        paths = (one.task.spec.workspace.path for one in newest)
        return list(dict.fromkeys(path for path in paths if path))[:limit]

    def known_folder(self, said: str) -> str:
        """The path of a repository that was named by its path, or by its name alone.

        Raises:
            NotFound: no newer task worked in one of that name; the hint names those that did.
        """
        if said.startswith(("/", "~")):
            return said
        recent = self.recent_folders()
        wanted = said.strip("/ ").casefold()
        for path in recent:
            if path.rstrip("/").rpartition("/")[2].casefold() == wanted:
                return path
        known = f"Tasks worked in {', '.join(recent)}. " if recent else ""
        raise NotFound(
            f"no task worked in {said!r} before",
            hint=f"{known}Else ask the user for the absolute path.",
        )

    def transcript(self, task_id: str, after: int = 0) -> list[TranscriptPart]:
        """What a task's attempts showed after a position."""
        with self._log.reading() as reader:
            require_task_id(reader, task_id)
            return transcript(reader, task_id, after, TRANSCRIPT_PAGE)

    def search(self, query: str, limit: int = 20) -> list[TranscriptHit]:
        """The newest places in transcripts that have all words of a query."""
        with self._log.reading() as reader:
            return search_transcripts(reader, query, limit)

    def diff(self, task_id: str) -> str:
        """What a task changed, as a patch."""
        return self._workspaces.diff(self.find(task_id).task)

    def storage(self, max_age_s: float = 0.0) -> list[TaskStorage]:
        """What tasks take on this machine's disk, the largest first.

        Raises:
            RunnerFailed: it cannot be measured.
        """
        return [self._storage(one) for one in self._folders.measure(max_age_s)]

    def _storage(self, found: FolderSize) -> TaskStorage:
        task_id, size = found.task_id, found.size
        task = self._log.state(TASK, task_stream(task_id)) if task_id else None
        if task is None:
            return TaskStorage(task_id, "", "", size, "")
        path = self._folders.workspace(task_id)
        removal = None
        if task.ended and self._settings.keep_days and self._folders.has_attempts(task_id):
            ended = from_microseconds(self._log.record(task.ended_at).recorded_us)
            removal = ended + timedelta(days=self._settings.keep_days)
        workspace = str(path) if path.exists() else ""
        return TaskStorage(task_id, task.spec.title, task.state, size, workspace, removal)

    def _change(
        self,
        command: c.StartTask | c.DismissTask | c.RetryTask | c.CancelTask,
        by: Context,
    ) -> TaskView:
        self._bus.do(command, by=by)
        return self.find(command.task_id)

    def _view(self, task: Task) -> TaskView:
        with self._log.reading() as reader:
            first = fact_of(reader.record(task.position))
            ((newest,),) = reader.rows(
                "SELECT max(recorded_at) FROM log WHERE stream = ?", (task_stream(task.task_id),)
            )
        proposed_at = from_microseconds(first.recorded_us)
        network = network_reach(task.spec, sandboxed=self._is_sandboxed())
        return TaskView(task, first.actor, proposed_at, from_microseconds(newest), network)
