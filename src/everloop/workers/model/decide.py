"""Decisions of tasks that people and agents make: propose, start, answer, retry, cancel, steer.

Only the user starts a task or decides about it. What an agent or a host proposes waits.
"""

from collections.abc import Sequence

import msgspec

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.workers.model import commands as c
from everloop.workers.model import events as e
from everloop.workers.model.spec import CLUSTER_RUNNER, Step, TaskLimits, TaskSpec
from everloop.workers.model.state import PendingRequest, Task

OWNER, ENGINE = "user", "engine"
TITLE_MAX = 200
BRIEF_MAX = 100_000
MESSAGE_MAX = 20_000
DISPOSITIONS = ("keep", "merge", "discard")
RETRIED = ("failed", "uncertain", "cancelled")
WITHOUT_REQUEST = ("proposed", "failed", "uncertain")  # the inbox asks about them, the task waits


def propose_task(
    known: Task | None, command: c.ProposeTask, asking: DecisionContext
) -> list[Draft]:
    """Propose a task; the same proposal again changes nothing."""
    if known is not None:
        if known.spec != command.spec:
            raise Conflict(f"task {command.task_id!r} exists", hint="Use a new id.")
        return []
    check_spec(command.spec)
    siblings: int = asking.known or 0
    if command.spec.parent_id and siblings >= command.spec.limits.fanout_max:
        raise Invalid(
            f"task {command.spec.parent_id!r} has proposed {siblings} tasks, which is the limit",
            hint="Finish one of them first.",
        )
    proposed = Draft(e.TaskProposed(command.task_id, command.spec), command.because)
    if not command.start:
        return [proposed]
    if not (command.by_schedule and asking.by.actor == ENGINE):
        _require_owner(asking, "start a task")
    started = e.TaskStarted(command.task_id, _first_step(command.spec))
    return [proposed, Draft(started, beside=(0,))]


def start_task(known: Task | None, command: c.StartTask, asking: DecisionContext) -> list[Draft]:
    """Start a proposed task. Starting it again changes nothing."""
    if not (command.by_rule and asking.by.actor == ENGINE):
        _require_owner(asking, "start a task")
    task = require_task(known, command.task_id)
    if task.state in ("dismissed", "cancelled") and not command.by_rule:
        raise Conflict(f"task {task.task_id!r} is {task.state}", hint="Propose it again.")
    if task.state != "proposed":
        return []
    step: Step = "run" if command.skip_plan else _first_step(task.spec)
    return [Draft(e.TaskStarted(task.task_id, step), (task.position, *command.because))]


def dismiss_task(
    known: Task | None, command: c.DismissTask, asking: DecisionContext
) -> list[Event]:
    """Decline a proposed task."""
    _require_owner(asking, "dismiss a task")
    task = require_task(known, command.task_id)
    if task.state == "dismissed":
        return []
    _require_state(task, ("proposed",), "dismissed")
    return [e.TaskDismissed(task.task_id)]


def retry_task(known: Task | None, command: c.RetryTask, asking: DecisionContext) -> list[Event]:
    """Try the last step again. Nothing but the user's word repeats what is uncertain."""
    _require_owner(asking, "try a task again")
    task = require_task(known, command.task_id)
    _require_state(task, RETRIED, "tried again")
    return [e.TaskRetried(task.task_id, task.step)]


def cancel_task(known: Task | None, command: c.CancelTask, asking: DecisionContext) -> list[Event]:
    """Ask for a task to end. While something of it runs, it is not cancelled yet."""
    _require_owner(asking, "cancel a task")
    task = require_task(known, command.task_id)
    if task.state == "cancelled" or task.cancelling:
        return []
    if task.ended:
        raise Conflict(f"task {task.task_id!r} is {task.state}", hint="There is nothing to cancel.")
    if task.attempt is None:
        return [e.TaskCancelled(task.task_id)]
    return [e.CancelRequested(task.task_id)]


def steer_task(known: Task | None, command: c.SteerTask, asking: DecisionContext) -> list[Event]:
    """Queue a message for the agent."""
    _require_owner(asking, "steer a task")
    task = require_task(known, command.task_id)
    if task.ended or task.state == "proposed" or task.cancelling:
        raise Conflict(f"task {task.task_id!r} is not at work", hint="Start or retry it first.")
    if task.spec.runner == "command":
        raise Invalid("a command takes no messages", hint="Cancel it, or let it end.")
    if not command.text.strip() or len(command.text) > MESSAGE_MAX:
        raise Invalid(f"a message has 1 to {MESSAGE_MAX:,} characters", hint="Write a shorter one.")
    return [e.MessageSteered(task.task_id, command.message_id, command.text)]


def settle_request(known: Task | None, command: c.SettleRequest, _: DecisionContext) -> list[Draft]:
    """Let the answer to a request of this task take effect. A second one has none."""
    task = require_task(known, command.task_id)
    if task.state in WITHOUT_REQUEST:
        return [Draft(one, command.because) for one in _answer_ended(task, command)]
    pending = task.requests.get(command.request_id)
    if pending is None or task.ended or task.cancelling:
        return []
    settled = e.RequestSettled(
        task.task_id,
        command.request_id,
        command.choice,
        command.answers,
        command.text,
        command.by,
    )
    because = (pending.position, *command.because)
    follows = _consequences(task, pending, command)
    return [Draft(one, because) for one in (settled, *follows)]


def request_follow_up(
    known: Task | None, command: c.RequestFollowUp, asking: DecisionContext
) -> list[Draft]:
    """Let a task in review work on. A task that ended, or a command that runs, stays as it is."""
    _require_engine(asking, "ask for follow-ups")
    task = require_task(known, command.task_id)
    review = review_request(task)
    if review and not task.disposition and not task.cancelling:
        asked: Event = e.FollowUpRequested(task.task_id, review, command.text[:BRIEF_MAX])
    elif task.state in ("planned", "approved", "running", "waiting") and _takes_messages(task):
        text = command.text[:MESSAGE_MAX]
        asked = e.MessageSteered(task.task_id, command.follow_up_id, text)
    else:
        return []
    return [Draft(asked, command.because)]


def accept_merge(
    known: Task | None, command: c.AcceptMerge, asking: DecisionContext
) -> list[Draft]:
    """Keep the branch of a task in review, so that it is done."""
    _require_engine(asking, "end a task that was merged")
    task = require_task(known, command.task_id)
    review = review_request(task)
    if not review or task.disposition or task.cancelling:
        return []
    settled = e.RequestSettled(task.task_id, review, "keep", (), "", ENGINE)
    chosen = e.DispositionChosen(task.task_id, "keep")
    return [Draft(one, command.because) for one in (settled, chosen)]


def _takes_messages(task: Task) -> bool:
    return task.spec.runner != "command" and not task.cancelling


def review_request(task: Task) -> str:
    """The request for review that a task waits for; empty if it is not in review."""
    if task.state != "review":
        return ""
    return next((name for name, one in task.requests.items() if one.kind == "review"), "")


def require_task(known: Task | None, task_id: str) -> Task:
    """The task.

    Raises:
        NotFound: there is none.
    """
    if known is None:
        raise NotFound(f"no task {task_id!r}", hint="`everloop tasks` lists them.")
    return known


def request_name(task: Task, kind: str) -> str:
    """The id of the next request about a task."""
    return f"{task.task_id}.{kind}.{task.raised + 1}"


def _answer_ended(task: Task, command: c.SettleRequest) -> list[Event]:
    """Answers to a proposal, a failure, or an uncertain end: the task has no open request then.

    Only to the one that it asks now: `Retry` of an earlier failure repeats nothing uncertain.
    """
    kind = {"proposed": "proposal", "failed": f"failure.{task.raised}"}.get(task.state)
    if command.request_id != f"{task.task_id}.{kind or f'uncertain.{task.raised}'}":
        return []
    match command.choice:
        case "start" if task.state == "proposed":
            return [e.TaskStarted(task.task_id, _first_step(task.spec))]
        case "skip_plan" if task.state == "proposed":
            return [e.TaskStarted(task.task_id, "run")]
        case "retry" if task.state in RETRIED:
            return [e.TaskRetried(task.task_id, task.step)]
        case "dismiss" if task.state == "proposed":
            return [e.TaskDismissed(task.task_id)]
        case _:
            return []


def _consequences(task: Task, pending: PendingRequest, command: c.SettleRequest) -> list[Event]:
    if command.choice == "cancel":
        return [e.CancelRequested(task.task_id) if task.attempt else e.TaskCancelled(task.task_id)]
    match pending.kind:
        case "plan":
            return _answer_plan(task, command)
        case "paused":
            return _answer_pause(task, command)
        case "review":
            return _answer_review(task, command)
        case _:
            return []


def _answer_plan(task: Task, command: c.SettleRequest) -> list[Event]:
    match command.choice:
        case "approve":
            return [e.PlanApproved(task.task_id)]
        case "skip":
            return [e.PlanSkipped(task.task_id)]
        case _:
            return [e.PlanRevised(task.task_id, command.text)]


def _answer_pause(task: Task, command: c.SettleRequest) -> list[Event]:
    """Go on with raised limits, or end with what was done so far."""
    if command.choice == "continue":
        return [e.LimitsRaised(task.task_id, _raised(task))]
    if task.spec.workspace.kind == "worktree":
        return [e.ReviewRequested(task.task_id, request_name(task, "review"))]
    return [e.TaskFailed(task.task_id, request_name(task, "failure"), task.reason)]


def _answer_review(task: Task, command: c.SettleRequest) -> list[Event]:
    if command.choice in DISPOSITIONS:
        return [e.DispositionChosen(task.task_id, command.choice)]
    return [e.RevisionRequested(task.task_id, command.text)]


def _raised(task: Task) -> TaskLimits:
    """Limits that leave as much again as the task had."""
    limits = task.spec.limits
    return msgspec.structs.replace(
        limits,
        cost_usd=max(limits.cost_usd, task.cost_usd + limits.cost_usd),
        tokens=max(limits.tokens, task.tokens + limits.tokens),
    )


def _first_step(spec: TaskSpec) -> Step:
    return "plan" if spec.plan_first else "run"


def check_spec(spec: TaskSpec) -> None:
    """Check what a task is to do.

    Raises:
        Invalid: it cannot be done.
    """
    if not spec.title.strip():
        raise Invalid("a task needs a title", hint="Say in a few words what is to be done.")
    if len(spec.title) > TITLE_MAX:
        raise Invalid(f"a task's title has at most {TITLE_MAX} characters", hint="Shorten it.")
    if len(spec.brief) > BRIEF_MAX:
        raise Invalid(f"a brief has at most {BRIEF_MAX:,} characters", hint="Shorten it.")
    if spec.runner == "command":
        _check_command(spec)
    elif not spec.brief.strip() and not (spec.runner == CLUSTER_RUNNER and spec.command):
        raise Invalid("an agent's task needs a brief", hint="Say what it is to do.")
    if spec.workspace.kind != "scratch" and not spec.workspace.path:
        raise Invalid(
            f"a {spec.workspace.kind} needs a path", hint="Name a folder, or use `scratch`."
        )
    if spec.depth > spec.limits.depth_max:
        raise Invalid(
            f"tasks may propose tasks only {spec.limits.depth_max} deep",
            hint="Let the task that proposed this one do it.",
        )


def _check_command(spec: TaskSpec) -> None:
    if not spec.command or not spec.command[0]:
        raise Invalid("there is no command to run", hint="Name a program and its arguments.")
    if spec.plan_first:
        raise Invalid("a command has no plan", hint="Choose an agent, or run it without.")
    if any("\0" in word for word in (*spec.command, *spec.check)):
        raise Invalid("a command has no zero bytes", hint="Remove them.")


def _require_owner(asking: DecisionContext, act: str) -> None:
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"only the user can {act}", hint="Do it at a terminal, or in the web pages."
        )


def _require_engine(asking: DecisionContext, act: str) -> None:
    if asking.by.actor != ENGINE:
        raise Forbidden(f"only Everloop itself can {act}", hint="Answer the review instead.")


def _require_state(task: Task, states: Sequence[str], act: str) -> None:
    if task.state not in states:
        raise Conflict(
            f"task {task.task_id!r} is {task.state}, so it cannot be {act}",
            hint=f"That is for tasks that are {', '.join(states)}.",
        )
