"""State of a task for its decisions and for the scheduler: pure folds of its events."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from everloop.errors import Corrupt
from everloop.inbox import QuestionAnswer
from everloop.log import Event, Fact, Fold
from everloop.workers.model import events as e
from everloop.workers.model.check_files import CheckFiles
from everloop.workers.model.spec import Step, TaskSpec

TaskState = Literal[
    "proposed",
    "planned",
    "approved",
    "running",
    "waiting",
    "review",
    "done",
    "failed",
    "cancelled",
    "uncertain",
    "dismissed",
]
ENDED: tuple[TaskState, ...] = ("done", "failed", "cancelled", "uncertain", "dismissed")


class Attempt(msgspec.Struct, frozen=True):
    """An attempt that has not ended."""

    number: int
    step: Step
    host: str
    position: int


class PendingRequest(msgspec.Struct, frozen=True):
    """A request of this task that has no answer yet."""

    kind: str  # question, approval, plan, paused or review
    call_id: str
    position: int


class Reply(msgspec.Struct, frozen=True):
    """The user's answer to a question or approval, for the agent."""

    call_id: str
    kind: str
    choice: str
    answers: tuple[QuestionAnswer, ...]
    text: str
    by: str


class SteeringMessage(msgspec.Struct, frozen=True):
    """A message of the user that has not reached the agent yet."""

    message_id: str
    text: str


class Verdict(msgspec.Struct, frozen=True):
    """What the check outside the agent found, and whether the worker changed its files."""

    command: str
    exit_code: int
    output_digest: str
    passed: bool
    check_files: CheckFiles = CheckFiles()


class Task(msgspec.Struct, frozen=True):
    """The current state of a task.

    `step` is what runs now or next. `tries` counts attempts of this step that failed.
    """

    task_id: str
    spec: TaskSpec
    position: int
    state: TaskState = "proposed"
    step: Step = "run"
    attempts: int = 0
    attempt: Attempt | None = None
    tries: int = 0
    retry_at_us: int = 0
    session_id: str = ""
    host: str = ""  # where its newest attempt ran: its workspace and session are there
    plan: str = ""
    plan_approved: bool = False
    feedback: tuple[str, ...] = ()
    requests: dict[str, PendingRequest] = {}
    replies: tuple[Reply, ...] = ()
    steering: tuple[SteeringMessage, ...] = ()
    claim: str = ""
    check_files: CheckFiles = CheckFiles()  # as compared for the check that runs
    verdict: Verdict | None = None
    cost_usd: float = 0.0
    tokens: int = 0
    reason: str = ""
    disposition: str = ""
    cancelling: bool = False
    raised: int = 0  # how many requests it has made, for the id of the next one
    ended_at: int = 0  # position of the fact that ended it
    worktree_removed: str = ""  # where its work is, since its worktree was removed for its age

    @property
    def ended(self) -> bool:
        """Whether nothing more happens by itself."""
        return self.state in ENDED

    @property
    def due(self) -> bool:
        """Whether a process is to be started, as soon as the time for a retry has come."""
        return self.state == "approved" and self.attempt is None and not self.cancelling


Changes = dict[str, object]


def evolve(known: Task | None, fact: Fact) -> Task:
    """The task after a fact."""
    happened = fact.event
    if isinstance(happened, e.TaskProposed):
        return Task(happened.task_id, happened.spec, fact.position)
    if known is None:
        raise Corrupt(f"{happened.wire} came before workers.task_proposed")
    change = _CHANGES.get(type(happened))
    return msgspec.structs.replace(known, **change(known, happened, fact)) if change else known


def _started(task: Task, new: e.TaskStarted, fact: Fact) -> Changes:
    del task, fact
    return {"state": "approved", "step": new.step}


def _begun(task: Task, new: e.AttemptBegun, fact: Fact) -> Changes:
    begun: Changes = {
        "state": "running",
        "attempts": new.attempt,
        "attempt": Attempt(new.attempt, new.step, new.host, fact.position),
        "retry_at_us": 0,
        "reason": "",
        "check_files": CheckFiles(),
        "host": new.host,
        "session_id": new.session_id,
    }
    return begun if task.step == "check" else {**begun, "verdict": None}


def _session(task: Task, new: e.SessionNoted, fact: Fact) -> Changes:
    del task, fact
    return {"session_id": new.session_id}


def _spent(task: Task, new: e.SpendingRecorded, fact: Fact) -> Changes:
    del fact
    return {"cost_usd": task.cost_usd + new.cost_usd, "tokens": task.tokens + new.tokens}


def _attempt_ended(task: Task, new: e.AttemptEnded, fact: Fact) -> Changes:
    """A step that succeeded leads to the next one; one that is tried again stays the same."""
    del fact
    changes: Changes = {"attempt": None, "reason": new.reason}
    if new.outcome == "failed":
        changes["tries"] = task.tries + 1
        if new.retry_at_us:
            changes |= {"state": "approved", "retry_at_us": new.retry_at_us}
    elif new.outcome == "succeeded":
        changes |= {"tries": 0, "replies": (), "feedback": ()}
        if task.step == "run" and task.spec.check:
            changes |= {"state": "approved", "step": "check"}
    elif new.outcome == "waiting":
        waiting = any(one.kind in ("question", "approval") for one in task.requests.values())
        changes["state"] = "waiting" if waiting else "approved"
    return changes


def _claimed(task: Task, new: e.ResultClaimed, fact: Fact) -> Changes:
    del task, fact
    return {"claim": new.text}


def _checked(task: Task, new: e.CheckRecorded, fact: Fact) -> Changes:
    del task, fact
    found = Verdict(new.command, new.exit_code, new.output_digest, new.passed, new.check_files)
    return {"verdict": found}


def _compared(task: Task, new: e.CheckFilesCompared, fact: Fact) -> Changes:
    del task, fact
    return {"check_files": new.files}


def _steered(task: Task, new: e.MessageSteered, fact: Fact) -> Changes:
    del fact
    return {"steering": (*task.steering, SteeringMessage(new.message_id, new.text))}


def _delivered(task: Task, new: e.MessageDelivered, fact: Fact) -> Changes:
    del fact
    return {"steering": tuple(o for o in task.steering if o.message_id != new.message_id)}


def _asked(task: Task, new: e.QuestionAsked | e.ApprovalRequested, fact: Fact) -> Changes:
    kind = "question" if isinstance(new, e.QuestionAsked) else "approval"
    return _waiting(task, new.request_id, PendingRequest(kind, new.call_id, fact.position))


def _planned(task: Task, new: e.PlanWritten, fact: Fact) -> Changes:
    pending = PendingRequest("plan", "", fact.position)
    return {**_waiting(task, new.request_id, pending), "state": "planned", "plan": new.plan}


def _paused(task: Task, new: e.TaskPaused, fact: Fact) -> Changes:
    pending = PendingRequest("paused", "", fact.position)
    return {**_waiting(task, new.request_id, pending), "reason": new.reason}


def _review(task: Task, new: e.ReviewRequested, fact: Fact) -> Changes:
    pending = PendingRequest("review", "", fact.position)
    return {**_waiting(task, new.request_id, pending), "state": "review"}


def _waiting(task: Task, request_id: str, pending: PendingRequest) -> Changes:
    requests = {**task.requests, request_id: pending}
    return {"requests": requests, "state": "waiting", "raised": task.raised + 1}


def _settled(task: Task, new: e.RequestSettled, fact: Fact) -> Changes:
    """Without open questions the agent goes on: in its process, or in a new one."""
    del fact
    pending = task.requests.get(new.request_id)
    left = {key: one for key, one in task.requests.items() if key != new.request_id}
    changes: Changes = {"requests": left}
    if pending is None or pending.kind not in ("question", "approval"):
        return changes
    reply = Reply(pending.call_id, pending.kind, new.choice, new.answers, new.text, new.by)
    changes["replies"] = (*task.replies, reply)
    if not left:
        changes["state"] = "running" if task.attempt else "approved"
    return changes


def _plan_approved(task: Task, new: e.PlanApproved, fact: Fact) -> Changes:
    del task, new, fact
    return {"state": "approved", "step": "run", "plan_approved": True}


def _plan_skipped(task: Task, new: e.PlanSkipped, fact: Fact) -> Changes:
    del task, new, fact
    return {"state": "approved", "step": "run", "plan": ""}


def _revised(task: Task, new: e.PlanRevised | e.RevisionRequested, fact: Fact) -> Changes:
    del fact
    step = "plan" if isinstance(new, e.PlanRevised) else "run"
    return {"state": "approved", "step": step, "feedback": (*task.feedback, new.text)}


def _follow_up(task: Task, new: e.FollowUpRequested, fact: Fact) -> Changes:
    del fact
    left = {key: one for key, one in task.requests.items() if key != new.request_id}
    more = (*task.feedback, new.text)
    return {"state": "approved", "step": "run", "feedback": more, "requests": left}


def _limits_raised(task: Task, new: e.LimitsRaised, fact: Fact) -> Changes:
    del fact
    spec = msgspec.structs.replace(task.spec, limits=new.limits)
    return {"state": "approved", "spec": spec, "reason": ""}


def _disposition(task: Task, new: e.DispositionChosen, fact: Fact) -> Changes:
    del task, fact
    return {"disposition": new.disposition}


def _disposition_failed(task: Task, new: e.DispositionFailed, fact: Fact) -> Changes:
    del task, fact
    return {"disposition": "", "reason": new.reason}


def _cancelling(task: Task, new: e.CancelRequested, fact: Fact) -> Changes:
    del task, new, fact
    return {"cancelling": True}


def _retried(task: Task, new: e.TaskRetried, fact: Fact) -> Changes:
    del task, fact
    again: Changes = {"state": "approved", "step": new.step, "tries": 0, "cancelling": False}
    return {**again, "worktree_removed": ""}


def _worktree_removed(task: Task, new: e.WorktreeRemoved, fact: Fact) -> Changes:
    del task, fact
    return {"worktree_removed": new.detail}


def _ended(task: Task, new: Event, fact: Fact) -> Changes:
    over: Changes = {
        "raised": task.raised + 1,
        "state": _END_STATES[type(new)],
        "ended_at": fact.position,
        "requests": {},
        "attempt": None,
        "disposition": "",
        "cancelling": False,
    }
    if isinstance(new, e.TaskDone):
        return {**over, "reason": new.detail}
    if isinstance(new, e.TaskFailed | e.TaskLeftUncertain):
        return {**over, "reason": new.reason}
    return over


_END_STATES: dict[type[Event], TaskState] = {
    e.TaskDone: "done",
    e.TaskFailed: "failed",
    e.TaskLeftUncertain: "uncertain",
    e.TaskDismissed: "dismissed",
    e.TaskCancelled: "cancelled",
}
_CHANGES: dict[type[Event], Callable[[Task, Any, Fact], Changes]] = {
    e.TaskStarted: _started,
    e.AttemptBegun: _begun,
    e.SessionNoted: _session,
    e.SpendingRecorded: _spent,
    e.AttemptEnded: _attempt_ended,
    e.ResultClaimed: _claimed,
    e.CheckFilesCompared: _compared,
    e.CheckRecorded: _checked,
    e.MessageSteered: _steered,
    e.MessageDelivered: _delivered,
    e.QuestionAsked: _asked,
    e.ApprovalRequested: _asked,
    e.PlanWritten: _planned,
    e.TaskPaused: _paused,
    e.ReviewRequested: _review,
    e.RequestSettled: _settled,
    e.PlanApproved: _plan_approved,
    e.PlanSkipped: _plan_skipped,
    e.PlanRevised: _revised,
    e.RevisionRequested: _revised,
    e.FollowUpRequested: _follow_up,
    e.LimitsRaised: _limits_raised,
    e.DispositionChosen: _disposition,
    e.DispositionFailed: _disposition_failed,
    e.CancelRequested: _cancelling,
    e.TaskRetried: _retried,
    e.WorktreeRemoved: _worktree_removed,
    **dict.fromkeys(_END_STATES, _ended),
}


class TranscriptState(msgspec.Struct, frozen=True):
    """How much of each attempt's output was recorded, in bytes."""

    upto: dict[int, int] = {}


def evolve_transcript(known: TranscriptState | None, fact: Fact) -> TranscriptState:
    """The state after more was recorded."""
    before = known or TranscriptState()
    if not isinstance(fact.event, e.TranscriptRecorded):
        return before
    return TranscriptState({**before.upto, fact.event.attempt: fact.event.upto})


def task_stream(task_id: str) -> str:
    """The stream of a task."""
    return f"task:{task_id}"


def transcript_stream(task_id: str) -> str:
    """The stream of what a task's attempts showed; apart, for it is long."""
    return f"transcript:{task_id}"


def task_of_subject(subject: str) -> str:
    """The task that a request of the inbox is about; empty if it is about something else."""
    return subject.removeprefix("task:") if subject.startswith("task:") else ""


TASK = Fold("workers.task", Task, evolve, version=5)
TRANSCRIPT = Fold("workers.transcript", TranscriptState, evolve_transcript)
