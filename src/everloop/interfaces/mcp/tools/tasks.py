"""MCP tools for tasks: propose one, and look at those that this host proposed.

A host starts nothing: what it proposes waits for the user in the inbox.
"""

import threading
from pathlib import Path
from typing import Annotated, Literal

from pydantic import BaseModel, Field

from everloop.errors import Invalid, NotFound
from everloop.interfaces.mcp.callers import McpContext
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.workers import (
    TaskSpec,
    TaskView,
    Workspace,
    check_command,
    describe_check_files,
)

LOOK_S = 0.2
ENDED = ("done", "failed", "cancelled", "uncertain", "dismissed", "review")


class TaskLine(BaseModel):
    """Where a task stands. `claim` is the worker's word; `check_passed` is the check's.

    `check_doubt` says if the worker changed files that the check depends on.
    """

    id: str
    title: str
    state: str
    claim: str
    check_passed: bool | None
    check_doubt: str
    reason: str


class TaskTools:
    """The task tools."""

    def __init__(self, room: ToolContext) -> None:
        self._room = room

    def propose_task(  # noqa: PLR0913 - a tool's arguments are its form
        self,
        title: Annotated[
            str, Field(description="The task in one line.", min_length=1, max_length=200)
        ],
        brief: Annotated[
            str, Field(description="What the worker is to do, and how to tell that it is done.")
        ],
        ctx: McpContext,
        repository: Annotated[
            str, Field(description="Absolute path of the git repository it is about, if any.")
        ] = "",
        plan_first: Annotated[
            bool, Field(description="Whether the worker first makes a plan for review.")
        ] = True,
        runner: Annotated[
            Literal["claude"], Field(description="The agent that does it.")
        ] = "claude",
        check: Annotated[
            str, Field(description="Command that shows whether it is done, such as `pytest -q`.")
        ] = "",
    ) -> TaskLine:
        """Propose a task for a background worker. The user decides whether it starts."""
        self._room.check_length(title, brief, check)
        by = self._room.callers.caller_context(ctx)
        workers = self._room.engine.workers
        place = Workspace("worktree", repository) if repository else Workspace()
        spec = TaskSpec(
            " ".join(title.split()),
            brief,
            runner,
            check=check_command(check),
            plan_first=plan_first,
            workspace=place,
            limits=workers.settings.limits,
        )
        return _line(workers.propose(spec, by))

    def task_status(
        self, id: Annotated[str, Field(description="A task's id: `tsk-…`.")], ctx: McpContext
    ) -> TaskLine:
        """See where a task stands that you proposed."""
        by = self._room.callers.caller_context(ctx)
        found = self._room.engine.workers.find(id)
        if found.proposed_by != by.actor:
            raise NotFound(f"no task {id!r}", hint="Use an id that `propose_task` returned.")
        return _line(found)

    def claude_code(
        self,
        prompt: Annotated[
            str, Field(description="What Claude Code is to do, in whole sentences.", min_length=1)
        ],
        ctx: McpContext,
        workFolder: Annotated[  # noqa: N803 - the name that claude-code-mcp gave it
            str, Field(description="Absolute path of the folder to work in. Empty: one of its own.")
        ] = "",
    ) -> str:
        """Let Claude Code do something. The user starts it, and approves what it runs.

        Returns its result. If that takes longer, says so: call again with the same arguments.
        """
        self._room.check_length(prompt)
        by = self._room.callers.caller_context(ctx)
        workers = self._room.engine.workers
        spec = TaskSpec(
            " ".join(prompt.split())[:80],
            prompt,
            "claude",
            workspace=_workspace(workFolder),
            limits=workers.settings.limits,
        )
        view = self._same_task(spec, by.actor) or workers.propose(spec, by)
        pause = threading.Event()
        for _ in range(int(self._room.doors.task_wait_s / LOOK_S)):
            if view.task.state in ENDED:
                break
            pause.wait(LOOK_S)
            view = workers.find(view.task.task_id)
        return _told(view)

    def _same_task(self, spec: TaskSpec, actor: str) -> TaskView | None:
        """The open task that this host asked for in the same words, so that it is not done twice.

        One that waits for review has its result, and is not started again either.
        """
        board = self._room.engine.workers.board(0)
        found = (*board.proposed, *board.active, *board.waiting, *board.review)
        same = (spec.brief, spec.workspace, spec.runner)
        return next(
            (
                one
                for one in found
                if one.proposed_by == actor
                and (one.task.spec.brief, one.task.spec.workspace, one.task.spec.runner) == same
            ),
            None,
        )


def _workspace(folder: str) -> Workspace:
    if not folder:
        return Workspace()
    path = Path(folder)
    if not path.is_absolute() or not path.is_dir():
        raise Invalid(f"{folder!r} is not a folder", hint="Give the absolute path of one.")
    return Workspace("worktree" if (path / ".git").exists() else "folder", str(path.resolve()))


def _told(view: TaskView) -> str:
    """The result as a text, with what a script may need below it."""
    task = view.task
    said = task.claim if task.state in ("done", "review") else task.reason
    if not said:
        said = {
            "proposed": "The user has not started this yet. It waits in their inbox.",
            "waiting": "It waits for an answer of the user.",
        }.get(task.state, "It is at work. Call again with the same arguments for its result.")
    more = [f"task {task.task_id} is {task.state}"]
    if task.session_id:
        more.append(f"session {task.session_id}")
    if task.cost_usd:
        more.append(f"${task.cost_usd:.4f}")
    return f"{said}\n\n[{', '.join(more)}]"


def _line(view: TaskView) -> TaskLine:
    task = view.task
    return TaskLine(
        id=task.task_id,
        title=task.spec.title,
        state=task.state,
        claim=task.claim,
        check_passed=task.verdict.passed if task.verdict else None,
        check_doubt=describe_check_files(task.verdict.check_files) if task.verdict else "",
        reason=task.reason,
    )
