"""Registry of task commands: stream, state and decision of each."""

from typing import Any, Protocol

from everloop.log import Decider, Reader, visible
from everloop.workers.model import commands as c
from everloop.workers.model import decide as d
from everloop.workers.model import decide_attempts as a
from everloop.workers.model.state import TASK, TRANSCRIPT, task_stream, transcript_stream

_CHILDREN = f"""
SELECT count(*) FROM worker_tasks t WHERE t.parent_id = ? AND t.parent_id <> '' AND {visible("t")}
"""  # noqa: S608 - our own condition


class _TaskCommand(Protocol):
    @property
    def task_id(self) -> str: ...


def _stream(command: _TaskCommand) -> str:
    return task_stream(command.task_id)


def _transcript(command: _TaskCommand) -> str:
    return transcript_stream(command.task_id)


def count_children(reader: Reader, command: c.ProposeTask) -> int:
    """How many tasks the parent of a proposed one has proposed before."""
    ((count,),) = reader.rows(_CHILDREN, (command.spec.parent_id,))
    return int(count)


WORKER_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.ProposeTask, _stream, TASK, d.propose_task, also=count_children),
    Decider(c.StartTask, _stream, TASK, d.start_task),
    Decider(c.DismissTask, _stream, TASK, d.dismiss_task),
    Decider(c.RetryTask, _stream, TASK, d.retry_task),
    Decider(c.CancelTask, _stream, TASK, d.cancel_task),
    Decider(c.SteerTask, _stream, TASK, d.steer_task),
    Decider(c.SettleRequest, _stream, TASK, d.settle_request),
    Decider(c.RequestFollowUp, _stream, TASK, d.request_follow_up),
    Decider(c.AcceptMerge, _stream, TASK, d.accept_merge),
    Decider(c.BeginAttempt, _stream, TASK, a.begin_attempt),
    Decider(c.NoteSession, _stream, TASK, a.note_session),
    Decider(c.RecordTranscript, _transcript, TRANSCRIPT, a.record_transcript),
    Decider(c.CompareCheckFiles, _stream, TASK, a.compare_check_files),
    Decider(c.RecordSpending, _stream, TASK, a.record_spending),
    Decider(c.AskQuestion, _stream, TASK, a.ask_question),
    Decider(c.RequestApproval, _stream, TASK, a.request_approval),
    Decider(c.EndAttempt, _stream, TASK, a.end_attempt),
    Decider(c.PauseTask, _stream, TASK, a.pause_task),
    Decider(c.SettleDisposition, _stream, TASK, a.settle_disposition),
    Decider(c.ConfirmCancelled, _stream, TASK, a.confirm_cancelled),
    Decider(c.NoteWorktreeRemoved, _stream, TASK, a.note_worktree_removed),
    Decider(c.NoteDelivered, _stream, TASK, a.note_delivered),
)
