"""Decisions about tasks, given earlier facts."""

from typing import Any

import msgspec
import pytest

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import Command, Context, DecisionContext, Event
from everloop.log.model.record import to_microseconds
from everloop.testing.deterministic import NEW_YEAR, given
from everloop.workers.deciders import WORKER_DECIDERS
from everloop.workers.model import commands as c
from everloop.workers.model import decide as d
from everloop.workers.model import decide_attempts as a
from everloop.workers.model import events as e
from everloop.workers.model.spec import TaskLimits, TaskSpec, Workspace
from everloop.workers.model.state import TASK, Task

SPEC = TaskSpec("Fix it", "Fix the flaky test.", "claude", plan_first=True)
COMMAND = TaskSpec("List", command=("ls",))
PROPOSED = e.TaskProposed("t1", SPEC)
STARTED = e.TaskStarted("t1", "run")
BEGUN = e.AttemptBegun("t1", 1, "run", "here", "")
RUNNING = (PROPOSED, STARTED, BEGUN)
APPROVAL = e.ApprovalRequested("t1", 1, "t1.c1", "c1", "Bash", "command: ls", 60)
FAILED = e.TaskFailed("t1", "t1.failure.1", "broken")
UNCERTAIN = e.TaskLeftUncertain("t1", "t1.uncertain.1", "lost")


def state(*events: Event) -> Task:
    """The task after these events."""
    found = given(TASK, *events).state
    assert found is not None
    return found


def end(outcome: Any, **more: Any) -> c.EndAttempt:
    """The end of the first attempt."""
    return msgspec.structs.replace(c.EndAttempt("t1", 1, outcome), **more)


def kinds(happened: list[Event]) -> list[str]:
    """The names of events."""
    return [type(one).__name__ for one in happened]


def test_every_command_is_decided_once() -> None:
    known = {
        value
        for value in vars(c).values()
        if isinstance(value, type) and issubclass(value, Command) and value is not Command
    }
    decided = [decider.command for decider in WORKER_DECIDERS]
    assert set(decided) == known
    assert len(decided) == len(set(decided))


def test_anybody_proposes_and_the_same_proposal_again_changes_nothing() -> None:
    command = c.ProposeTask("t1", SPEC)
    assert given(TASK).when(d.propose_task, command, actor="agent:x") == [PROPOSED]
    assert given(TASK, PROPOSED).when(d.propose_task, command) == []
    with pytest.raises(Conflict):
        given(TASK, PROPOSED).when(d.propose_task, c.ProposeTask("t1", COMMAND))


@pytest.mark.promise("P-WORK-1")
@pytest.mark.parametrize("actor", ["agent:thread", "worker:t0", "engine"])
def test_only_the_user_starts_retries_cancels_and_steers(actor: str) -> None:
    for decide, command, facts in (
        (d.propose_task, c.ProposeTask("t1", SPEC, start=True), ()),
        (d.start_task, c.StartTask("t1"), (PROPOSED,)),
        (d.dismiss_task, c.DismissTask("t1"), (PROPOSED,)),
        (d.retry_task, c.RetryTask("t1"), (*RUNNING, FAILED)),
        (d.cancel_task, c.CancelTask("t1"), RUNNING),
        (d.steer_task, c.SteerTask("t1", "m1", "Stop."), RUNNING),
    ):
        with pytest.raises(Forbidden, match="only the user"):
            given(TASK, *facts).when(decide, command, actor=actor)


@pytest.mark.parametrize(
    "spec",
    [
        TaskSpec(" ", command=("ls",)),
        TaskSpec("x", "b" * 100_001, "claude"),
        TaskSpec("x", command=()),
        TaskSpec("x", command=("ls",), plan_first=True),
        TaskSpec("x", command=("ls", "\0")),
        TaskSpec("x", "", "claude"),
        TaskSpec("x", command=("ls",), workspace=Workspace("worktree")),
        TaskSpec("x", command=("ls",), depth=3),
    ],
)
def test_a_malformed_task_is_refused(spec: TaskSpec) -> None:
    with pytest.raises(Invalid):
        given(TASK).when(d.propose_task, c.ProposeTask("t1", spec))


def test_a_task_starts_with_its_plan_unless_the_user_skips_it() -> None:
    assert given(TASK, PROPOSED).when(d.start_task, c.StartTask("t1")) == [
        e.TaskStarted("t1", "plan")
    ]
    assert given(TASK, PROPOSED).when(d.start_task, c.StartTask("t1", skip_plan=True)) == [STARTED]
    assert given(TASK, PROPOSED, STARTED).when(d.start_task, c.StartTask("t1")) == []


def test_an_attempt_is_begun_once() -> None:
    command = c.BeginAttempt("t1", 1, "here")
    assert given(TASK, PROPOSED, STARTED).when(a.begin_attempt, command) == [BEGUN]
    assert given(TASK, *RUNNING).when(a.begin_attempt, command) == []


@pytest.mark.promise("P-WORK-1")
def test_nothing_begins_before_it_was_started() -> None:
    assert given(TASK, PROPOSED).when(a.begin_attempt, c.BeginAttempt("t1", 1, "here")) == []


def test_a_plan_waits_for_review_and_is_approved_revised_or_skipped() -> None:
    facts = (PROPOSED, e.TaskStarted("t1", "plan"), e.AttemptBegun("t1", 1, "plan", "here", ""))
    ended = given(TASK, *facts).when(a.end_attempt, end("succeeded", plan="1. Look."))
    assert kinds(ended) == ["AttemptEnded", "PlanWritten"]
    waiting = (*facts, *ended)
    assert state(*waiting).state == "planned"
    (name,) = state(*waiting).requests

    def answer(choice: str, text: str = "") -> Task:
        settled = given(TASK, *waiting).when(
            d.settle_request, c.SettleRequest("t1", name, choice, text=text)
        )
        return state(*waiting, *settled)

    approved, skipped = answer("approve"), answer("skip")
    revised, cancelled = answer("revise", "Smaller."), answer("cancel")
    assert (approved.state, approved.step, approved.plan) == ("approved", "run", "1. Look.")
    assert (skipped.step, skipped.plan) == ("run", "")
    assert (revised.step, revised.feedback) == ("plan", ("Smaller.",))
    assert cancelled.state == "cancelled"


@pytest.mark.promise("P-INBOX-4")
def test_a_denial_by_expiry_reaches_the_agent() -> None:
    facts = (*RUNNING, APPROVAL)
    assert state(*facts).state == "waiting"
    command = c.SettleRequest("t1", "t1.c1", "deny", text="Nobody answered in time.", by="engine")
    settled = given(TASK, *facts).when(d.settle_request, command)
    (reply,) = state(*facts, *settled).replies
    assert (reply.call_id, reply.choice, reply.by) == ("c1", "deny", "engine")
    assert given(TASK, *facts, *settled).when(d.settle_request, command) == []


def test_an_answer_after_the_process_ended_lets_a_new_attempt_resume() -> None:
    ended = given(TASK, *RUNNING, APPROVAL).when(a.end_attempt, end("waiting"))
    facts = (*RUNNING, APPROVAL, *ended)
    assert (state(*facts).state, state(*facts).attempt) == ("waiting", None)
    settled = given(TASK, *facts).when(d.settle_request, c.SettleRequest("t1", "t1.c1", "approve"))
    assert state(*facts, *settled).due


@pytest.mark.parametrize(("tries", "wait_s"), [(0, 2), (1, 4)])
def test_a_passing_failure_is_tried_again_after_a_wait_that_is_on_record(
    tries: int, wait_s: int
) -> None:
    task = msgspec.structs.replace(state(*RUNNING), tries=tries)
    happened = a.end_attempt(task, end("failed", passing=True), _asking())
    ended = happened[0].event
    assert isinstance(ended, e.AttemptEnded)
    assert ended.retry_at_us == to_microseconds(NEW_YEAR) + wait_s * 1_000_000
    assert len(happened) == 1


def test_the_last_of_several_tries_fails_the_task() -> None:
    task = msgspec.structs.replace(state(*RUNNING), tries=2)
    happened = a.end_attempt(task, end("failed", passing=True, reason="529"), _asking())
    assert kinds([one.event for one in happened]) == ["AttemptEnded", "TaskFailed"]


def test_a_failure_of_the_work_itself_is_not_tried_again_by_itself() -> None:
    happened = given(TASK, *RUNNING).when(a.end_attempt, end("failed", exit_code=1))
    assert kinds(happened) == ["AttemptEnded", "TaskFailed"]


@pytest.mark.promise("P-WORK-2")
def test_what_is_uncertain_is_repeated_only_by_the_user() -> None:
    facts = (*RUNNING, UNCERTAIN)
    assert not state(*facts).due
    assert given(TASK, *facts).when(a.begin_attempt, c.BeginAttempt("t1", 2, "here")) == []
    again = given(TASK, *facts).when(d.retry_task, c.RetryTask("t1"))
    assert state(*facts, *again).due


def test_a_retry_of_an_earlier_failure_repeats_nothing_uncertain() -> None:
    """A second device may still show the failure of an attempt that was tried again since."""
    failed = (*RUNNING, FAILED)
    uncertain = e.TaskLeftUncertain("t1", "t1.uncertain.2", "lost")
    facts = (*failed, e.TaskRetried("t1", "run"), msgspec.structs.replace(BEGUN, attempt=2))
    late = c.SettleRequest("t1", "t1.failure.1", "retry")
    assert kinds(given(TASK, *failed).when(d.settle_request, late)) == ["TaskRetried"]
    assert given(TASK, *facts, uncertain).when(d.settle_request, late) == []
    asked = c.SettleRequest("t1", "t1.uncertain.2", "retry")
    told = given(TASK, *facts, uncertain).when(d.settle_request, asked)
    assert kinds(told) == ["TaskRetried"]


@pytest.mark.promise("P-WORK-4")
def test_a_running_task_is_cancelled_when_its_attempt_has_ended() -> None:
    asked = given(TASK, *RUNNING).when(d.cancel_task, c.CancelTask("t1"))
    assert asked == [e.CancelRequested("t1")]
    ended = given(TASK, *RUNNING, *asked).when(a.end_attempt, end("succeeded", claim="Done."))
    assert kinds(ended) == ["AttemptEnded", "ResultClaimed", "TaskCancelled"]


def test_a_task_that_does_not_run_is_cancelled_at_once_and_an_ended_one_not() -> None:
    cancel = c.CancelTask("t1")
    assert given(TASK, PROPOSED).when(d.cancel_task, cancel) == [e.TaskCancelled("t1")]
    with pytest.raises(Conflict):
        given(TASK, *RUNNING, FAILED).when(d.cancel_task, cancel)
    with pytest.raises(NotFound):
        given(TASK).when(d.cancel_task, cancel)


@pytest.mark.promise("P-WORK-7")
def test_a_limit_pauses_with_what_is_there_and_the_user_goes_on_or_ends() -> None:
    spent = e.SpendingRecorded("t1", 1, 5.5, 100)
    ended = given(TASK, *RUNNING, spent).when(
        a.end_attempt, end("paused", limit="cost", reason="It spent $5.50.", claim="Half.")
    )
    facts = (*RUNNING, spent, *ended)
    task = state(*facts)
    assert (task.state, task.claim) == ("waiting", "Half.")
    (name,) = task.requests
    go_on = given(TASK, *facts).when(d.settle_request, c.SettleRequest("t1", name, "continue"))
    assert state(*facts, *go_on).spec.limits.cost_usd == 10.5
    finish = given(TASK, *facts).when(d.settle_request, c.SettleRequest("t1", name, "finish"))
    assert state(*facts, *finish).state == "failed"


def test_a_task_that_is_due_is_paused_before_it_spends() -> None:
    command = c.PauseTask("t1", "daily", "All tasks together spent $20.00.")
    assert kinds(given(TASK, PROPOSED, STARTED).when(a.pause_task, command)) == ["TaskPaused"]
    assert given(TASK, *RUNNING).when(a.pause_task, command) == []


@pytest.mark.promise("P-WORK-8")
def test_a_task_resumes_its_session_where_it_was_and_begins_anew_on_another_machine() -> None:
    noted, lost = (
        e.SessionNoted("t1", 1, "s1"),
        e.AttemptEnded("t1", 1, "uncertain", -1, "", "", 0.0, 0),
    )
    retried = (*RUNNING, noted, lost, UNCERTAIN, e.TaskRetried("t1", "run"))
    for host, session in (("here", "s1"), ("elsewhere", "")):
        begun = e.AttemptBegun("t1", 2, "run", host, session)
        assert given(TASK, *retried).when(a.begin_attempt, c.BeginAttempt("t1", 2, host)) == [begun]
        assert (state(*retried, begun).session_id, state(*retried, begun).host) == (session, host)


@pytest.mark.promise("P-WORK-8")
def test_work_that_was_lost_with_a_machine_is_not_checked_on_another() -> None:
    checked = e.TaskProposed("t1", msgspec.structs.replace(COMMAND, check=("true",)))
    ended = e.AttemptEnded("t1", 1, "succeeded", 0, "", "", 0.0, 0)
    before = given(TASK, checked, STARTED, BEGUN, ended)
    (here,) = before.when(a.begin_attempt, c.BeginAttempt("t1", 2, "here"))
    (there,) = before.when(a.begin_attempt, c.BeginAttempt("t1", 2, "elsewhere"))
    assert kinds([here, there]) == ["AttemptBegun", "TaskLeftUncertain"]


@pytest.mark.promise("P-WORK-4")
def test_a_task_on_a_lost_machine_does_not_count_as_cancelled() -> None:
    cancelling = given(TASK, *RUNNING, e.CancelRequested("t1"))
    assert kinds(cancelling.when(a.end_attempt, end("uncertain"))) == [
        "AttemptEnded",
        "TaskCancelled",
    ]
    assert kinds(cancelling.when(a.end_attempt, end("uncertain", elsewhere=True))) == [
        "AttemptEnded",
        "TaskLeftUncertain",
    ]


def test_a_message_is_queued_and_delivered_once() -> None:
    steered = given(TASK, *RUNNING).when(d.steer_task, c.SteerTask("t1", "m1", "Use ruff."))
    facts = (*RUNNING, *steered)
    delivered = given(TASK, *facts).when(a.note_delivered, c.NoteDelivered("t1", "m1", 1))
    assert delivered == [e.MessageDelivered("t1", "m1", 1)]
    again = c.NoteDelivered("t1", "m1", 1)
    assert given(TASK, *facts, *delivered).when(a.note_delivered, again) == []


@pytest.mark.parametrize(
    ("facts", "text", "error"),
    [
        ((PROPOSED,), "Hi.", Conflict),
        (RUNNING, " ", Invalid),
        ((e.TaskProposed("t1", COMMAND), STARTED, BEGUN), "Hi.", Invalid),
    ],
)
def test_a_message_needs_an_agent_at_work(
    facts: tuple[Event, ...], text: str, error: type[Exception]
) -> None:
    with pytest.raises(error):
        given(TASK, *facts).when(d.steer_task, c.SteerTask("t1", "m1", text))


def test_a_task_proposes_no_more_tasks_than_its_limit() -> None:
    child = TaskSpec("Child", command=("ls",), parent_id="t0", limits=TaskLimits(fanout_max=1))
    asking = msgspec.structs.replace(_asking(), known=1)
    with pytest.raises(Invalid, match="which is the limit"):
        d.propose_task(None, c.ProposeTask("t1", child), asking)


def _asking() -> DecisionContext:
    return DecisionContext(Context(actor="engine"), NEW_YEAR)


IN_REVIEW = (
    e.TaskProposed("t1", msgspec.structs.replace(SPEC, plan_first=False)),
    STARTED,
    BEGUN,
    e.AttemptEnded("t1", 1, "succeeded", 0, "", "", 1.0, 0),
    e.ReviewRequested("t1", "t1.review.1"),
)


def test_a_follow_up_takes_the_place_of_the_review_and_is_not_the_users_word() -> None:
    command = c.RequestFollowUp("t1", "f1", "Checks failed.")
    happened = given(TASK, *IN_REVIEW).when(d.request_follow_up, command, actor="engine")
    assert happened == [e.FollowUpRequested("t1", "t1.review.1", "Checks failed.")]
    task = state(*IN_REVIEW, *happened)
    assert (task.state, task.step, task.feedback) == ("approved", "run", ("Checks failed.",))
    assert task.requests == {}


def test_a_follow_up_is_a_message_to_an_agent_at_work_and_nothing_to_what_ended() -> None:
    command = c.RequestFollowUp("t1", "f1", "Checks failed.")
    happened = given(TASK, *RUNNING).when(d.request_follow_up, command, actor="engine")
    assert happened == [e.MessageSteered("t1", "f1", "Checks failed.")]
    chosen = e.DispositionChosen("t1", "merge")
    for facts in ((PROPOSED,), (*RUNNING, FAILED), (*IN_REVIEW, chosen)):
        assert given(TASK, *facts).when(d.request_follow_up, command, actor="engine") == []


def test_a_merge_elsewhere_keeps_the_branch_of_what_is_in_review() -> None:
    command = c.AcceptMerge("t1", (1,))
    happened = given(TASK, *IN_REVIEW).when(d.accept_merge, command, actor="engine")
    assert kinds(happened) == ["RequestSettled", "DispositionChosen"]
    assert state(*IN_REVIEW, *happened).disposition == "keep"
    assert given(TASK, *RUNNING).when(d.accept_merge, command, actor="engine") == []


@pytest.mark.parametrize("actor", ["user", "agent:x", "worker:t1", "github:octo/shop"])
def test_only_the_engine_brings_follow_ups_and_merges(actor: str) -> None:
    with pytest.raises(Forbidden):
        given(TASK, *IN_REVIEW).when(
            d.request_follow_up, c.RequestFollowUp("t1", "f1", "x"), actor=actor
        )
    with pytest.raises(Forbidden):
        given(TASK, *IN_REVIEW).when(d.accept_merge, c.AcceptMerge("t1"), actor=actor)


def test_a_removed_worktree_is_noted_once_and_only_of_an_ended_task() -> None:
    removed = e.WorktreeRemoved("t1", "Kept as branch b.")
    note = c.NoteWorktreeRemoved("t1", removed.detail)
    assert given(TASK, *RUNNING).when(a.note_worktree_removed, note) == []
    assert given(TASK, *RUNNING, FAILED).when(a.note_worktree_removed, note) == [removed]
    assert given(TASK, *RUNNING, FAILED, removed).when(a.note_worktree_removed, note) == []
    assert state(*RUNNING, FAILED, removed).worktree_removed == removed.detail
    assert state(*RUNNING, FAILED, removed, e.TaskRetried("t1", "run")).worktree_removed == ""
