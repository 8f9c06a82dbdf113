"""Events of tasks: proposed, started, tried, waiting for a person, and how they ended.

What an agent reports is a claim; only a check that ran outside of it is a verdict.
"""

from typing import Any, Literal

import msgspec

from everloop.inbox import Question, QuestionAnswer
from everloop.log import Event, event, upcast
from everloop.workers.model.check_files import CheckFiles
from everloop.workers.model.spec import Outcome, Step, TaskLimits, TaskSpec


class TranscriptEntry(msgspec.Struct, frozen=True):
    """A piece of what an attempt showed. `name` is the tool's, `ref` the id of its call."""

    kind: Literal["output", "text", "tool_call", "tool_result", "notice", "steering"]
    text: str
    name: str = ""
    ref: str = ""


@event("workers.task_proposed")
class TaskProposed(Event, frozen=True):
    """A task was proposed. Nothing runs before the user started it."""

    task_id: str
    spec: TaskSpec


@event("workers.task_started")
class TaskStarted(Event, frozen=True):
    """The user started a task; `step` is what comes first."""

    task_id: str
    step: Step


@event("workers.attempt_begun")
class AttemptBegun(Event, frozen=True):
    """A process is about to be started, on the machine `host`.

    Recorded before the process exists: what happens to an attempt that has no end is uncertain.
    """

    task_id: str
    attempt: int
    step: Step
    host: str
    session_id: str


@event("workers.session_noted")
class SessionNoted(Event, frozen=True):
    """The agent's session, by which another process can resume it."""

    task_id: str
    attempt: int
    session_id: str


@event("workers.transcript_recorded")
class TranscriptRecorded(Event, frozen=True):
    """More of what an attempt showed, in order. `upto` is how many bytes of output were read."""

    task_id: str
    attempt: int
    upto: int
    entries: tuple[TranscriptEntry, ...]


@event("workers.spending_recorded")
class SpendingRecorded(Event, frozen=True):
    """What an attempt spent on models since the last such fact."""

    task_id: str
    attempt: int
    cost_usd: float
    tokens: int


@event("workers.question_asked")
class QuestionAsked(Event, frozen=True):
    """An agent asks the user. `call_id` is the tool call that the answer belongs to."""

    task_id: str
    attempt: int
    request_id: str
    call_id: str
    questions: tuple[Question, ...]


@event("workers.approval_requested")
class ApprovalRequested(Event, frozen=True):
    """An agent wants to use a tool that needs approval. `arguments` is exactly what would run."""

    task_id: str
    attempt: int
    request_id: str
    call_id: str
    tool: str
    arguments: str
    lives_s: int


@event("workers.request_settled")
class RequestSettled(Event, frozen=True):
    """The answer to a request of this task arrived; `by` is who gave it."""

    task_id: str
    request_id: str
    choice: str
    answers: tuple[QuestionAnswer, ...]
    text: str
    by: str


@event("workers.plan_written")
class PlanWritten(Event, frozen=True):
    """The agent wrote a plan, which waits for review."""

    task_id: str
    attempt: int
    request_id: str
    plan: str


@event("workers.plan_approved")
class PlanApproved(Event, frozen=True):
    """The user approved the plan."""

    task_id: str


@event("workers.plan_revised")
class PlanRevised(Event, frozen=True):
    """The user asked for changes to the plan."""

    task_id: str
    text: str


@event("workers.plan_skipped")
class PlanSkipped(Event, frozen=True):
    """The user wants the task done without a plan."""

    task_id: str


@event("workers.result_claimed")
class ResultClaimed(Event, frozen=True):
    """What the agent reports as its result. A claim, until something else confirmed it."""

    task_id: str
    attempt: int
    text: str


@event("workers.attempt_ended")
class AttemptEnded(Event, frozen=True):
    """A process ended, with everything that it had started.

    `output_digest` covers all of its output. `retry_at_us` is when the step is tried again; 0: not.
    """

    task_id: str
    attempt: int
    outcome: Outcome
    exit_code: int
    output_digest: str
    reason: str
    duration_s: float
    retry_at_us: int


@event("workers.check_files_compared")
class CheckFilesCompared(Event, frozen=True):
    """What the worker did to the files that the check depends on, seen before the check runs."""

    task_id: str
    attempt: int
    files: CheckFiles


@event("workers.check_recorded", schema=2)
class CheckRecorded(Event, frozen=True):
    """The verdict of the check command, which ran outside the agent.

    `check_files` says whether the worker changed what the check depends on.
    """

    task_id: str
    attempt: int
    command: str
    exit_code: int
    output_digest: str
    passed: bool
    check_files: CheckFiles


@upcast("workers.check_recorded", from_schema=1)
def _not_compared(data: dict[str, Any]) -> dict[str, Any]:
    return {**data, "check_files": {"standing": "unknown", "changed": (), "changed_count": 0}}


@event("workers.task_paused")
class TaskPaused(Event, frozen=True):
    """A limit was reached. What was done so far is kept; the user decides how to go on."""

    task_id: str
    request_id: str
    limit: str
    reason: str


@event("workers.limits_raised")
class LimitsRaised(Event, frozen=True):
    """The user lets a paused task go on, with these limits."""

    task_id: str
    limits: TaskLimits


@event("workers.review_requested")
class ReviewRequested(Event, frozen=True):
    """The work is done as far as the worker is concerned, and waits for review."""

    task_id: str
    request_id: str


@event("workers.disposition_chosen")
class DispositionChosen(Event, frozen=True):
    """It was decided what happens to the workspace: keep, merge or discard.

    By the user, or by the merge of the task's pull request, which `because` then names.
    """

    task_id: str
    disposition: str


@event("workers.disposition_failed")
class DispositionFailed(Event, frozen=True):
    """What the user chose could not be carried out; nothing was removed."""

    task_id: str
    disposition: str
    reason: str


@event("workers.revision_requested")
class RevisionRequested(Event, frozen=True):
    """The user asked for changes to the work; the task runs again."""

    task_id: str
    text: str


@event("workers.follow_up_requested")
class FollowUpRequested(Event, frozen=True):
    """Something outside asks for more work on a task in review, such as a failed check on GitHub.

    `request_id` is the review that it takes the place of. It is not the user's word.
    """

    task_id: str
    request_id: str
    text: str


@event("workers.task_done")
class TaskDone(Event, frozen=True):
    """The task is done. `detail` says what became of its workspace."""

    task_id: str
    request_id: str
    detail: str


@event("workers.task_failed")
class TaskFailed(Event, frozen=True):
    """The task failed."""

    task_id: str
    request_id: str
    reason: str


@event("workers.task_left_uncertain")
class TaskLeftUncertain(Event, frozen=True):
    """What happened is not known, so nothing is repeated until the user decides."""

    task_id: str
    request_id: str
    reason: str


@event("workers.task_dismissed")
class TaskDismissed(Event, frozen=True):
    """The user declined a proposed task."""

    task_id: str


@event("workers.task_retried")
class TaskRetried(Event, frozen=True):
    """The user wants the last step tried again."""

    task_id: str
    step: Step


@event("workers.cancel_requested")
class CancelRequested(Event, frozen=True):
    """The user wants the task to end. It is cancelled once its processes ended."""

    task_id: str


@event("workers.task_cancelled")
class TaskCancelled(Event, frozen=True):
    """The task was cancelled, and none of its processes is left."""

    task_id: str


@event("workers.worktree_removed")
class WorktreeRemoved(Event, frozen=True):
    """The worktree of a task that ended long ago was removed; `detail` says where its work is."""

    task_id: str
    detail: str


@event("workers.message_steered")
class MessageSteered(Event, frozen=True):
    """The user sent a message to the agent while it works."""

    task_id: str
    message_id: str
    text: str


@event("workers.message_delivered")
class MessageDelivered(Event, frozen=True):
    """A message reached the agent, in this attempt."""

    task_id: str
    message_id: str
    attempt: int
