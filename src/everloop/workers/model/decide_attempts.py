"""Decisions of the engine about attempts: begin, record, end, and what follows from an end.

An attempt is recorded before its process is started. One that has no end, and no process that
could still end it, is uncertain; it is never begun again by itself.
"""

from everloop.errors import Conflict
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.record import to_microseconds
from everloop.workers.model import commands as c
from everloop.workers.model import events as e
from everloop.workers.model.decide import request_name, require_task
from everloop.workers.model.state import Attempt, Task, TranscriptState

RETRY_BASE_S = 2  # the first retry waits this long, each further one twice as long
RETRY_S_MAX = 300
REASON_MAX = 2_000
UNCHECKED = "Its work was lost with a machine before the check, so its worth is not known."


def begin_attempt(
    known: Task | None, command: c.BeginAttempt, asking: DecisionContext
) -> list[Draft]:
    """Claim the next step; a no-op if it was claimed, or its time has not come.

    A task that moves from a lost machine starts over: the agent's session and the workspace were
    there. A check of work that was there is not possible any more.
    """
    task = require_task(known, command.task_id)
    if not task.due or command.attempt != task.attempts + 1:
        return []
    if task.retry_at_us > to_microseconds(asking.now):
        return []
    moved = task.host not in ("", command.host)
    if moved and task.step == "check":
        name = request_name(task, "uncertain")
        return [Draft(e.TaskLeftUncertain(task.task_id, name, UNCHECKED), (task.position,))]
    session_id = "" if moved else task.session_id
    begun = e.AttemptBegun(task.task_id, command.attempt, task.step, command.host, session_id)
    return [Draft(begun, (task.position,))]


def note_session(known: Task | None, command: c.NoteSession, _: DecisionContext) -> list[Draft]:
    """Note the agent's session. Idempotent."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None or task.session_id == command.session_id:
        return []
    noted = e.SessionNoted(task.task_id, command.attempt, command.session_id)
    return [Draft(noted, (attempt.position,))]


def record_transcript(
    known: TranscriptState | None, command: c.RecordTranscript, _: DecisionContext
) -> list[Event]:
    """Record more of the transcript; what was recorded before is not recorded again."""
    before = (known or TranscriptState()).upto.get(command.attempt, 0)
    if command.upto <= before or not command.entries:
        return []
    return [e.TranscriptRecorded(command.task_id, command.attempt, command.upto, command.entries)]


def compare_check_files(
    known: Task | None, command: c.CompareCheckFiles, _: DecisionContext
) -> list[Draft]:
    """Record what the worker did to the check's files, once for each attempt of the check."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None or attempt.step != "check" or task.check_files.standing != "unknown":
        return []
    compared = e.CheckFilesCompared(task.task_id, command.attempt, command.files)
    return [Draft(compared, (attempt.position,))]


def record_spending(
    known: Task | None, command: c.RecordSpending, _: DecisionContext
) -> list[Draft]:
    """Record what was spent."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None or (command.cost_usd <= 0 and command.tokens <= 0):
        return []
    spent = e.SpendingRecorded(
        task.task_id, command.attempt, max(0.0, command.cost_usd), max(0, command.tokens)
    )
    return [Draft(spent, (attempt.position,))]


def ask_question(known: Task | None, command: c.AskQuestion, _: DecisionContext) -> list[Draft]:
    """Ask the user. The same question again changes nothing."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None or _was_asked(task, command.request_id, command.call_id):
        return []
    asked = e.QuestionAsked(
        task.task_id, command.attempt, command.request_id, command.call_id, command.questions
    )
    return [Draft(asked, (attempt.position,))]


def request_approval(
    known: Task | None, command: c.RequestApproval, _: DecisionContext
) -> list[Draft]:
    """Ask for an approval. The same request again changes nothing."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None or _was_asked(task, command.request_id, command.call_id):
        return []
    requested = e.ApprovalRequested(
        task.task_id,
        command.attempt,
        command.request_id,
        command.call_id,
        command.tool,
        command.arguments,
        command.lives_s,
    )
    return [Draft(requested, (attempt.position,))]


def end_attempt(known: Task | None, command: c.EndAttempt, asking: DecisionContext) -> list[Draft]:
    """Record the end of an attempt and what follows; a second end has no effect."""
    task, attempt = _open(known, command.task_id, command.attempt)
    if attempt is None:
        return []
    retry_at_us = _retry_at_us(task, command, asking)
    cancelled = task.cancelling and not command.elsewhere
    ended = e.AttemptEnded(
        task.task_id,
        attempt.number,
        "cancelled" if cancelled else command.outcome,
        command.exit_code,
        command.output_digest,
        command.reason[:REASON_MAX],
        command.duration_s,
        retry_at_us,
    )
    events: list[Event] = [ended]
    if attempt.step == "run" and command.claim:
        events.append(e.ResultClaimed(task.task_id, attempt.number, command.claim))
    if cancelled:
        events.append(e.TaskCancelled(task.task_id))
    elif not retry_at_us:
        events += _after_end(task, attempt, command)
    return [Draft(one, (attempt.position,)) for one in events]


def pause_task(known: Task | None, command: c.PauseTask, _: DecisionContext) -> list[Event]:
    """Pause a task that is due. Idempotent."""
    task = require_task(known, command.task_id)
    return [_paused(task, command.limit, command.reason)] if task.due else []


def settle_disposition(
    known: Task | None, command: c.SettleDisposition, _: DecisionContext
) -> list[Event]:
    """Record what became of the workspace; if that failed, the task waits for review again."""
    task = require_task(known, command.task_id)
    if task.disposition != command.disposition or task.state != "review":
        return []
    if command.done:
        return [_done(task, command.detail)]
    return [
        e.DispositionFailed(task.task_id, command.disposition, command.detail[:REASON_MAX]),
        e.ReviewRequested(task.task_id, request_name(task, "review")),
    ]


def confirm_cancelled(
    known: Task | None, command: c.ConfirmCancelled, _: DecisionContext
) -> list[Event]:
    """Record that nothing of a task is left."""
    task = require_task(known, command.task_id)
    return [e.TaskCancelled(task.task_id)] if task.cancelling else []


def note_worktree_removed(
    known: Task | None, command: c.NoteWorktreeRemoved, _: DecisionContext
) -> list[Event]:
    """Record where the work of an ended task is. One that was retried meanwhile has it again."""
    task = require_task(known, command.task_id)
    if not task.ended or task.worktree_removed:
        return []
    return [e.WorktreeRemoved(task.task_id, command.detail[:REASON_MAX])]


def note_delivered(known: Task | None, command: c.NoteDelivered, _: DecisionContext) -> list[Event]:
    """Record that a message reached the agent. Idempotent."""
    task = require_task(known, command.task_id)
    if command.message_id not in [one.message_id for one in task.steering]:
        return []
    return [e.MessageDelivered(task.task_id, command.message_id, command.attempt)]


def _open(known: Task | None, task_id: str, number: int) -> tuple[Task, Attempt | None]:
    """The task, and the attempt if it has not ended."""
    task = require_task(known, task_id)
    if number > task.attempts:
        raise Conflict(f"task {task_id!r} has no attempt {number}", hint="Begin it first.")
    attempt = task.attempt
    return task, attempt if attempt is not None and attempt.number == number else None


def _was_asked(task: Task, request_id: str, call_id: str) -> bool:
    return request_id in task.requests or any(one.call_id == call_id for one in task.replies)


def _retry_at_us(task: Task, command: c.EndAttempt, asking: DecisionContext) -> int:
    """When to try again after a failure that may pass; 0 if not."""
    again = command.passing or (task.spec.retry_failures and task.step != "check")
    tries = task.tries + 1
    if task.cancelling or command.outcome != "failed" or not again:
        return 0
    if tries >= task.spec.limits.attempts_max:
        return 0
    wait_s = min(RETRY_BASE_S << (tries - 1), RETRY_S_MAX)
    return to_microseconds(asking.now) + wait_s * 1_000_000


def _after_end(task: Task, attempt: Attempt, command: c.EndAttempt) -> list[Event]:
    """What follows when an attempt is not tried again."""
    match command.outcome:
        case "succeeded" | "failed" if command.outcome == "succeeded" or attempt.step == "check":
            return _after_success(task, attempt, command)
        case "succeeded" | "failed":
            name = request_name(task, "failure")
            return [e.TaskFailed(task.task_id, name, command.reason[:REASON_MAX])]
        case "paused":
            return [_paused(task, command.limit, command.reason)]
        case "uncertain":
            name = request_name(task, "uncertain")
            return [e.TaskLeftUncertain(task.task_id, name, command.reason[:REASON_MAX])]
        case "cancelled" | "waiting":
            return [e.TaskCancelled(task.task_id)] if command.outcome == "cancelled" else []


def _after_success(task: Task, attempt: Attempt, command: c.EndAttempt) -> list[Event]:
    if attempt.step == "plan":
        plan = command.plan or command.claim
        name = request_name(task, "plan")
        return [e.PlanWritten(task.task_id, attempt.number, name, plan)]
    if attempt.step == "check":
        passed = command.outcome == "succeeded"
        checked = e.CheckRecorded(
            task.task_id,
            attempt.number,
            " ".join(task.spec.check),
            command.exit_code,
            command.output_digest,
            passed,
            task.check_files,
        )
        doubtful = not passed or task.check_files.standing == "changed"
        return [checked, _finished(task, review=doubtful)]
    if task.spec.check:
        return []  # the check comes next, outside the agent
    return [_finished(task, review=False)]


def _finished(task: Task, *, review: bool) -> Event:
    """The work is over: it waits for review if there is something to look at."""
    if review or task.spec.workspace.kind == "worktree":
        return e.ReviewRequested(task.task_id, request_name(task, "review"))
    return _done(task, "")


def _done(task: Task, detail: str) -> e.TaskDone:
    return e.TaskDone(task.task_id, request_name(task, "finished"), detail[:REASON_MAX])


def _paused(task: Task, limit: str, reason: str) -> e.TaskPaused:
    name = request_name(task, "paused")
    return e.TaskPaused(task.task_id, name, limit, reason[:REASON_MAX])
