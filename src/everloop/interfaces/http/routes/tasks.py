"""Routes for tasks: the board, one task with transcript and diff, and what the user decides."""

import shlex
from datetime import datetime, timedelta
from typing import Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.inbox import written_out
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import to_microseconds
from everloop.workers import (
    Grants,
    NetworkReach,
    TaskLimits,
    TaskSpec,
    TaskView,
    Verdict,
    WorkerService,
    Workspace,
    WorkspaceKind,
    describe_check_files,
    task_wishes,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["tasks"])


class CheckFilesOut(ResponseBody):
    """Whether the worker changed files that the check depends on, and the first of them."""

    standing: Literal["unchanged", "changed", "unknown"]
    changed: list[str]
    changed_count: int


class VerdictOut(ResponseBody):
    """What the check command found, which ran outside the agent.

    `doubt` is a sentence to show beside it; empty if the check's files are as they were.
    """

    command: str
    exit_code: int
    output_digest: str
    passed: bool
    check_files: CheckFilesOut
    doubt: str


class TaskIssueOut(ResponseBody):
    """The issue on GitHub that a task comes from, and its pull request; number 0: none yet.

    `iterations` is how often failed checks were given back to the worker.
    """

    repository: str
    number: int
    issue_url: str
    pull_request: int
    pull_request_url: str
    pull_request_state: str
    iterations: int
    iterations_max: int
    problem: str


class WorkerTaskOut(BaseModel):
    """A task. `claim` is what the worker says; `verdict` is what the check found."""

    task_id: str
    title: str
    brief: str
    runner: str
    command: list[str]
    command_line: str  # as a shell would read it, with invisible characters written out
    check: list[str]
    check_line: str  # likewise
    workspace: WorkspaceKind
    path: str
    state: str
    step: str
    attempts: int
    cancelling: bool
    plan: str
    claim: str
    worktree_removed: str  # where its work is, since its worktree was removed for its age
    verdict: VerdictOut | None
    reason: str
    cost_usd: float
    cost_limit_usd: float
    tokens: int
    time_limit_s: int
    model: str
    base: str
    network: NetworkReach  # none, the model's service alone, or all
    wishes: list[str]  # what it wants besides working in its folder, in sentences
    messages_waiting: list[str]  # messages of the user that have not reached the agent yet
    requests: list[str]
    thread_id: str
    parent_id: str
    proposed_by: str
    proposed_at: datetime
    changed_at: datetime
    issue: TaskIssueOut | None = None  # only of one task, not in lists


class BoardOut(BaseModel):
    """Tasks by where they stand, each list with the newest first."""

    proposed: list[WorkerTaskOut]
    active: list[WorkerTaskOut]
    waiting: list[WorkerTaskOut]
    review: list[WorkerTaskOut]
    ended: list[WorkerTaskOut]


class SpanOut(ResponseBody):
    """A time in which a task was queued, ran, or waited for a person. An open one has no end."""

    kind: Literal["queued", "running", "waiting"]
    since: datetime
    until: datetime | None


class TaskTimelineOut(ResponseBody):
    """The spans of one task."""

    task_id: str
    title: str
    state: str
    spans: list[SpanOut]


class TimelineOut(BaseModel):
    """What ran since a time, and what waited for the user."""

    since: datetime
    now: datetime
    tasks: list[TaskTimelineOut]


class TaskOptionsOut(BaseModel):
    """What a new task can choose from: runners, folders of earlier tasks, and usual limits."""

    runners: list[str]
    folders: list[str]
    time_s: int
    cost_usd: float
    tokens: int


class TaskMatchOut(BaseModel):
    """A running task that a message may belong to, and why."""

    task_id: str
    title: str
    score: float
    reasons: list[str]


class RoutingSuggestionOut(BaseModel):
    """A message of the thread that seems to belong to a running task."""

    message_id: str
    matches: list[TaskMatchOut]


class RouteBody(Body):
    """Where a message goes: to one of the suggested tasks, or to none (empty)."""

    message_id: str = Field(max_length=200)
    task_id: str = Field("", max_length=200)


class TaskListOut(BaseModel):
    """Tasks in the order in which they were proposed, and messages that belong to one."""

    tasks: list[WorkerTaskOut]
    suggestions: list[RoutingSuggestionOut]


class TranscriptEntryOut(ResponseBody):
    """A piece of what an attempt showed."""

    kind: str
    text: str
    name: str
    ref: str


class TranscriptPartOut(ResponseBody):
    """Entries that were recorded together; ask for those after `position` to go on."""

    position: int
    attempt: int
    at: datetime
    entries: list[TranscriptEntryOut]


class TranscriptOut(BaseModel):
    """A page of a transcript."""

    parts: list[TranscriptPartOut]


class TranscriptHitOut(ResponseBody):
    """A place in a transcript that a search found."""

    task_id: str
    position: int
    attempt: int
    at: datetime
    kind: str
    name: str
    excerpt: str


class TranscriptSearchOut(BaseModel):
    """What a search in transcripts found, the newest first, with the titles of the tasks."""

    hits: list[TranscriptHitOut]
    titles: dict[str, str]


class DiffOut(BaseModel):
    """What a task changed, as a patch."""

    diff: str


class NewTaskBody(Body):
    """A task that the user wants done. It starts at once unless `start` is false."""

    title: str = Field(max_length=200)
    brief: str = Field(default="", max_length=100_000)
    runner: str = Field(default="claude", max_length=40)
    command: list[str] = Field(default=[], max_length=1_000)
    check: list[str] = Field(default=[], max_length=1_000)
    workspace: WorkspaceKind = "scratch"
    path: str = Field(default="", max_length=4_000)
    base: str = Field(default="", max_length=200)
    plan_first: bool = False
    network: bool = False
    sandbox: Literal["auto", "required", "off"] = "auto"
    model: str = Field(default="", max_length=100)
    thread_id: str = Field(default="", max_length=200)
    time_s: int | None = Field(default=None, ge=1, le=604_800)
    cost_usd: float | None = Field(default=None, gt=0, le=10_000)
    tokens: int | None = Field(default=None, ge=1_000)
    start: bool = True


class StartBody(Body):
    """Whether to start without a plan."""

    skip_plan: bool = False


class SteerBody(Body):
    """A message to the agent."""

    text: str = Field(max_length=20_000)


@router.get("/tasks")
def list_tasks(deps: Deps, ended: int = Query(50, ge=0, le=500)) -> BoardOut:
    """Every open task, and the newest that ended."""
    board = deps.engine.workers.board(ended)
    return BoardOut(
        proposed=[_out(one) for one in board.proposed],
        active=[_out(one) for one in board.active],
        waiting=[_out(one) for one in board.waiting],
        review=[_out(one) for one in board.review],
        ended=[_out(one) for one in board.ended],
    )


def task_spec(body: NewTaskBody, limits: TaskLimits) -> TaskSpec:
    """What the user wants done."""
    return TaskSpec(
        body.title,
        body.brief,
        body.runner,
        tuple(body.command),
        tuple(body.check),
        body.plan_first,
        body.model,
        Workspace(body.workspace, body.path, body.base),
        _limits(limits, body),
        Grants(network=body.network, sandbox=body.sandbox),
        thread_id=body.thread_id,
    )


@router.post("/tasks", status_code=201)
def propose_task(body: NewTaskBody, deps: Deps, actor: ActorDep) -> WorkerTaskOut:
    """Propose a task and, unless it says otherwise, start it."""
    service = deps.engine.workers
    spec = task_spec(body, service.settings.limits)
    return _out(service.propose(spec, actor, start=body.start, request_id=body.request_id))


@router.get("/tasks/options")
def get_task_options(deps: Deps) -> TaskOptionsOut:
    """What a new task can choose from."""
    service = deps.engine.workers
    limits = service.settings.limits
    return TaskOptionsOut(
        runners=deps.running.runner_names,
        folders=service.recent_folders(),
        time_s=limits.time_s,
        cost_usd=limits.cost_usd,
        tokens=limits.tokens,
    )


@router.get("/tasks/timeline")
def get_timeline(deps: Deps, hours: int = Query(24, ge=1, le=720)) -> TimelineOut:
    """When tasks ran and when they waited for the user, for the last hours."""
    now = deps.engine.ports.clock.now()
    since = now - timedelta(hours=hours)
    found = deps.engine.workers.timelines(to_microseconds(since))
    tasks = [TaskTimelineOut.model_validate(one) for one in found]
    return TimelineOut(since=since, now=now, tasks=tasks)


@router.get("/tasks/search")
def search_transcripts(
    deps: Deps,
    query: str = Query(min_length=1, max_length=2_000),
    limit: int = Query(20, ge=1, le=200),
) -> TranscriptSearchOut:
    """Search in what workers showed: places that have all words of a query, the newest first."""
    workers = deps.engine.workers
    hits = [TranscriptHitOut.model_validate(one) for one in workers.search(query, limit)]
    names = {one.task_id for one in hits}
    titles = {name: workers.find(name).task.spec.title for name in sorted(names)}
    return TranscriptSearchOut(hits=hits, titles=titles)


@router.get("/tasks/of-thread/{thread_id}")
def list_tasks_of_thread(thread_id: str, deps: Deps) -> TaskListOut:
    """The newest tasks that were proposed in a thread."""
    return _of_thread(deps.engine.workers, thread_id)


@router.post("/tasks/of-thread/{thread_id}/route")
def route_message(thread_id: str, body: RouteBody, deps: Deps, actor: ActorDep) -> TaskListOut:
    """Send a message to the running task that was suggested for it, once; or to none."""
    workers = deps.engine.workers
    workers.route(thread_id, body.message_id, body.task_id, actor)
    return _of_thread(workers, thread_id)


@router.get("/tasks/{task_id}")
def get_task(task_id: str, deps: Deps) -> WorkerTaskOut:
    """One task."""
    found = _out(deps.engine.workers.find(task_id))
    issue = deps.engine.github.issue_of_task(task_id)
    found.issue = TaskIssueOut.model_validate(issue) if issue else None
    return found


@router.get("/tasks/{task_id}/transcript")
def get_transcript(task_id: str, deps: Deps, after: int = Query(0, ge=0)) -> TranscriptOut:
    """What a task's attempts showed, after a position."""
    parts = deps.engine.workers.transcript(task_id, after)
    return TranscriptOut(parts=[TranscriptPartOut.model_validate(one) for one in parts])


@router.get("/tasks/{task_id}/diff")
def get_diff(task_id: str, deps: Deps) -> DiffOut:
    """What a task changed in its worktree."""
    return DiffOut(diff=deps.engine.workers.diff(task_id))


@router.post("/tasks/{task_id}/start")
def start_task(
    task_id: str, deps: Deps, actor: ActorDep, body: StartBody | None = None
) -> WorkerTaskOut:
    """Start a proposed task."""
    skip_plan = body is not None and body.skip_plan
    return _out(deps.engine.workers.start(task_id, actor, skip_plan=skip_plan))


@router.post("/tasks/{task_id}/dismiss")
def dismiss_task(
    task_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY
) -> WorkerTaskOut:
    """Decline a proposed task."""
    del body
    return _out(deps.engine.workers.dismiss(task_id, actor))


@router.post("/tasks/{task_id}/retry")
def retry_task(task_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> WorkerTaskOut:
    """Try the last step of a task again."""
    del body
    return _out(deps.engine.workers.retry(task_id, actor))


@router.post("/tasks/{task_id}/cancel")
def cancel_task(
    task_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY
) -> WorkerTaskOut:
    """End a task. Its state is `cancelled` once nothing of it runs any more."""
    del body
    return _out(deps.engine.workers.cancel(task_id, actor))


@router.post("/tasks/{task_id}/messages")
def steer_task(task_id: str, body: SteerBody, deps: Deps, actor: ActorDep) -> WorkerTaskOut:
    """Send the agent a message while it works. It is delivered once."""
    return _out(deps.engine.workers.steer(task_id, body.text, actor, body.request_id))


def _of_thread(workers: WorkerService, thread_id: str) -> TaskListOut:
    suggestions = [
        RoutingSuggestionOut(
            message_id=one.message_id,
            matches=[
                TaskMatchOut(
                    task_id=match.task_id,
                    title=workers.find(match.task_id).task.spec.title,
                    score=match.score,
                    reasons=list(match.reasons),
                )
                for match in one.matches
            ],
        )
        for one in workers.suggestions(thread_id)
    ]
    tasks = [_out(one) for one in workers.of_thread(thread_id)]
    return TaskListOut(tasks=tasks, suggestions=suggestions)


def _limits(usual: TaskLimits, body: NewTaskBody) -> TaskLimits:
    """The usual limits with those that the user chose."""
    asked = {"time_s": body.time_s, "cost_usd": body.cost_usd, "tokens": body.tokens}
    return msgspec.structs.replace(usual, **{k: v for k, v in asked.items() if v is not None})


def _verdict(found: Verdict) -> VerdictOut:
    return VerdictOut(
        command=found.command,
        exit_code=found.exit_code,
        output_digest=found.output_digest,
        passed=found.passed,
        check_files=CheckFilesOut.model_validate(found.check_files),
        doubt=describe_check_files(found.check_files),
    )


def _out(view: TaskView) -> WorkerTaskOut:
    task, spec = view.task, view.task.spec
    return WorkerTaskOut(
        task_id=task.task_id,
        title=written_out(spec.title),
        brief=written_out(spec.brief),
        runner=spec.runner,
        command=list(spec.command),
        command_line=written_out(shlex.join(spec.command)),
        check=list(spec.check),
        check_line=written_out(shlex.join(spec.check)),
        workspace=spec.workspace.kind,
        path=spec.workspace.path,
        state=task.state,
        step=task.step,
        attempts=task.attempts,
        cancelling=task.cancelling,
        plan=task.plan,
        claim=task.claim,
        worktree_removed=task.worktree_removed,
        verdict=_verdict(task.verdict) if task.verdict else None,
        reason=task.reason,
        cost_usd=task.cost_usd,
        cost_limit_usd=spec.limits.cost_usd,
        tokens=task.tokens,
        time_limit_s=spec.limits.time_s,
        model=spec.model,
        base=spec.workspace.base,
        network=view.network,
        wishes=task_wishes(spec),
        messages_waiting=[one.text for one in task.steering],
        requests=list(task.requests),
        thread_id=spec.thread_id,
        parent_id=spec.parent_id,
        proposed_by=view.proposed_by,
        proposed_at=view.proposed_at,
        changed_at=view.changed_at,
    )
