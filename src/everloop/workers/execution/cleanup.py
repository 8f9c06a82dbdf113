"""What ended tasks left on this machine's disk: temporary files go soon, worktrees by their age.

Work is never removed. What is not committed is committed to the task's branch, which stays; files
that git ignores are moved beside the worktree; a folder that is no worktree stays as it is.
"""

import time
from collections.abc import Iterator
from datetime import timedelta

from everloop.errors import EverloopError
from everloop.log import CommandBus, Context, Log
from everloop.ports import Clock
from everloop.tracing import note_operation
from everloop.workers.execution.ports import TaskFolders, Workspaces
from everloop.workers.model.commands import NoteWorktreeRemoved
from everloop.workers.model.state import TASK, Task, task_stream

ENGINE = Context(actor="engine")
LOOK_EVERY_S = 600.0
STEP_S = 0.02  # of a look, before the scheduler goes on


class TaskCleanup:
    """Cleans up after ended tasks, in small steps between those of the scheduler that owns it.

    Only one scheduler works on a machine, and it starts attempts between these steps: so nothing
    that runs is touched. A task that is retried just then gets its worktree again.
    """

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        parts: tuple[TaskFolders, Workspaces],
        keep_days: int,
    ) -> None:
        self._log, self._bus, self._clock = log, bus, clock
        self._folders, self._workspaces = parts
        self._keep = timedelta(days=keep_days)
        self._left: Iterator[str] = iter(())  # tasks that this look has not come to
        self._next_look = 0.0

    def step(self, host: str) -> None:
        """Go on for a moment, until something was removed or time is up."""
        now = time.monotonic()
        for task_id in self._left:
            task = self._log.state(TASK, task_stream(task_id))
            if task is not None and task.ended and task.host == host and self._clean(task):
                return
            if time.monotonic() - now > STEP_S:
                return
        if now >= self._next_look:
            self._next_look = now + LOOK_EVERY_S
            self._folders.empty_trash()
            self._left = iter(self._folders.task_ids())

    def _clean(self, task: Task) -> bool:
        """Remove what a task no longer needs; whether that took any time."""
        if self._keep and self._age(task) >= self._keep:
            self._remove(task)
            return True
        if task.state != "uncertain":  # of that, everything may be of use to whoever looks
            self._folders.remove_temporary(task.task_id)
        return False

    def _remove(self, task: Task) -> None:
        try:
            is_worktree = task.spec.workspace.kind == "worktree"
            detail = self._workspaces.dispose(task, "keep") if is_worktree else ""
            if detail:
                self._bus.do(NoteWorktreeRemoved(task.task_id, detail), by=ENGINE)
            self._folders.remove(task.task_id)
        except (EverloopError, OSError):  # such as a repository that was moved: all of it stays
            note_operation("worker.cleanup", 0.0, outcome="failed")

    def _age(self, task: Task) -> timedelta:
        ended_us = self._log.record(task.ended_at).recorded_us
        return timedelta(microseconds=self._clock.now_us() - ended_us)
