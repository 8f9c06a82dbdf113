"""Commands of tasks. The user's: propose, start, retry, cancel, steer. The rest is the engine's."""

from everloop.inbox import Question, QuestionAnswer
from everloop.log import Command
from everloop.workers.model.check_files import CheckFiles
from everloop.workers.model.events import TranscriptEntry
from everloop.workers.model.spec import Outcome, TaskSpec


class ProposeTask(Command, frozen=True):
    """Propose a task. With `start`, which is the user's alone, it also starts.

    `by_schedule`: the engine starts it, because the user set this schedule.
    """

    task_id: str
    spec: TaskSpec
    start: bool = False
    because: tuple[int, ...] = ()
    by_schedule: str = ""


class StartTask(Command, frozen=True):
    """Start a proposed task. `by_rule`: the engine starts it by this rule of the user."""

    task_id: str
    skip_plan: bool = False
    by_rule: str = ""
    because: tuple[int, ...] = ()


class DismissTask(Command, frozen=True):
    """Decline a proposed task."""

    task_id: str


class RetryTask(Command, frozen=True):
    """Try the last step of a task again that failed, is uncertain or was cancelled."""

    task_id: str


class CancelTask(Command, frozen=True):
    """End a task and everything that it runs."""

    task_id: str


class SteerTask(Command, frozen=True):
    """Send the agent a message while it works."""

    task_id: str
    message_id: str
    text: str


class SettleRequest(Command, frozen=True):
    """Bring the answer to a request to its task; `by` is who gave it."""

    task_id: str
    request_id: str
    choice: str
    answers: tuple[QuestionAnswer, ...] = ()
    text: str = ""
    by: str = "user"
    because: tuple[int, ...] = ()


class RequestFollowUp(Command, frozen=True):
    """Ask for more work on what is in review; an agent at work gets the text as a message.

    `follow_up_id` is the id of that message.
    """

    task_id: str
    follow_up_id: str
    text: str
    because: tuple[int, ...] = ()


class AcceptMerge(Command, frozen=True):
    """End a task whose work was merged elsewhere; its branch is kept."""

    task_id: str
    because: tuple[int, ...] = ()


class BeginAttempt(Command, frozen=True):
    """Claim the next step of a task, to run it. Of two processes that try, one succeeds."""

    task_id: str
    attempt: int
    host: str


class NoteSession(Command, frozen=True):
    """Note the agent's session."""

    task_id: str
    attempt: int
    session_id: str


class RecordTranscript(Command, frozen=True):
    """Record more of what an attempt showed."""

    task_id: str
    attempt: int
    upto: int
    entries: tuple[TranscriptEntry, ...]


class CompareCheckFiles(Command, frozen=True):
    """Record what the worker did to the files that the check depends on, before it runs."""

    task_id: str
    attempt: int
    files: CheckFiles


class RecordSpending(Command, frozen=True):
    """Record what an attempt spent since the last time."""

    task_id: str
    attempt: int
    cost_usd: float
    tokens: int


class AskQuestion(Command, frozen=True):
    """Ask the user for the agent."""

    task_id: str
    attempt: int
    request_id: str
    call_id: str
    questions: tuple[Question, ...]


class RequestApproval(Command, frozen=True):
    """Ask the user whether the agent may use a tool."""

    task_id: str
    attempt: int
    request_id: str
    call_id: str
    tool: str
    arguments: str
    lives_s: int = 0


class EndAttempt(Command, frozen=True):
    """Record how an attempt ended, and what follows from it.

    `passing`: it failed for a reason that may pass. `limit`: which limit was reached, if any.
    `plan` and `claim` are what the agent wrote. `elsewhere`: it ran on a lost machine, where nobody
    can look whether something of it still runs, so it does not count as cancelled.
    """

    task_id: str
    attempt: int
    outcome: Outcome
    exit_code: int = 0
    output_digest: str = ""
    reason: str = ""
    duration_s: float = 0.0
    passing: bool = False
    limit: str = ""
    plan: str = ""
    claim: str = ""
    elsewhere: bool = False


class PauseTask(Command, frozen=True):
    """Pause a task that was not begun, because a limit is reached."""

    task_id: str
    limit: str
    reason: str


class SettleDisposition(Command, frozen=True):
    """Record that the chosen disposition was carried out, or why not."""

    task_id: str
    disposition: str
    done: bool
    detail: str


class ConfirmCancelled(Command, frozen=True):
    """Record that a task is cancelled: none of its processes is left."""

    task_id: str


class NoteWorktreeRemoved(Command, frozen=True):
    """Record that the worktree of an ended task was removed, and where its work is."""

    task_id: str
    detail: str


class NoteDelivered(Command, frozen=True):
    """Record that a message reached the agent."""

    task_id: str
    message_id: str
    attempt: int
