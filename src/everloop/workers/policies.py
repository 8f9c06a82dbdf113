"""How tasks and the inbox act on each other. Pure questions to the views.

A fact of a task raises a request under an id that the fact names, so raising twice raises once. The
answer to it comes back as a command to the task. Requests about a task that moved on are withdrawn.
"""

import hashlib
import shlex
from collections.abc import Sequence

from everloop.domain import Policy
from everloop.inbox import (
    BODY_MAX,
    QUESTIONS_MAX,
    Choice,
    RaiseRequest,
    RequestAnswered,
    RequestExpired,
    WithdrawRequest,
    open_requests_about,
    written_out,
)
from everloop.log import Event, Fact, Reader
from everloop.log.model.record import fact_of
from everloop.usage.commands import RecordModelCall
from everloop.workers.automation.model.events import StartRuleDeclined
from everloop.workers.automation.queries import is_news, matching_start_rule
from everloop.workers.model import events as e
from everloop.workers.model.check_files import describe_check_files
from everloop.workers.model.commands import SettleRequest
from everloop.workers.model.spec import TaskSpec
from everloop.workers.model.state import task_of_subject, task_stream

CANCEL = Choice("cancel", "Cancel the task")
START = (
    Choice("start", "Start"),
    Choice("dismiss", "No, thanks"),
)
START_PLANNED = (
    Choice("start", "Start with a plan"),
    Choice("skip_plan", "Start without a plan"),
    Choice("dismiss", "No, thanks"),
)
APPROVAL = (Choice("approve", "Allow"), Choice("deny", "Deny"))
PLAN = (
    Choice("approve", "Approve"),
    Choice("revise", "Ask for changes", needs_text=True),
    Choice("skip", "Go ahead without this plan"),
    CANCEL,
)
PAUSED = (
    Choice("continue", "Go on", "The limit is raised by as much again."),
    Choice("finish", "End with what is there"),
    CANCEL,
)
KEEP = Choice("keep", "Keep the branch")
REVIEW = (
    Choice("merge", "Merge"),
    KEEP,
    Choice("revise", "Ask for changes", needs_text=True),
    Choice("discard", "Discard", "Removes the worktree; committed work stays on its branch."),
)
REVIEW_PLAIN = (
    Choice("keep", "Accept"),
    Choice("revise", "Ask for changes", needs_text=True),
)
AGAIN = Choice("again", "Run it again")
MENDS = ("revise", "again")
RETRY = (Choice("retry", "Retry"), Choice("dismiss", "OK"))
UNCERTAIN = (
    Choice("retry", "Try again", "It may then happen twice."),
    Choice("dismiss", "Leave it"),
)
OK = (Choice("ok", "OK"),)
LONG_SHOWN = 20_000  # characters that are shown of what is too long for a request


def when_task_proposed_ask_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask whether to start what somebody else than the user proposed, unless a rule starts it."""
    new = fact.event
    if not isinstance(new, e.TaskProposed) or fact.actor in ("user", "engine"):
        return []
    if matching_start_rule(reader, fact.actor, new.spec):
        return []
    return [ask_to_start(fact, new.task_id, new.spec)]


def when_start_rule_declined_ask_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask about a task that a rule did not start."""
    declined = fact.event
    assert isinstance(declined, StartRuleDeclined)
    proposed = _proposed(reader, declined.task_id)
    return [ask_to_start(fact, declined.task_id, proposed.spec)] if proposed else []


def ask_to_start(fact: Fact, task_id: str, spec: TaskSpec) -> RaiseRequest:
    """The request to start a task."""
    where = spec.workspace.path or "an empty folder of its own"
    command = shlex.join(spec.command) if spec.runner == "command" else ""
    what = "\n\n".join(filter(None, (command, spec.brief)))
    lines = [f"Runner: {spec.runner}. Workspace: {where} ({spec.workspace.kind})."]
    if spec.check:
        lines.append(f"Check: {shlex.join(spec.check)}")
    lines += task_wishes(spec)
    body = f"{what}\n\n" + "\n".join(lines)
    choices = START_PLANNED if spec.plan_first else START
    return _raise(fact, f"{task_id}.proposal", "proposal", spec.title, body, choices)


def task_wishes(spec: TaskSpec) -> list[str]:
    """What a task wants besides working in its folder, in sentences."""
    grants = spec.grants
    wishes = (
        (grants.network, "It wants to use the network."),
        (grants.sandbox == "off", "It wants to run without a sandbox."),
        (grants.skip_permissions, "It wants to run without asking for permissions."),
        (bool(grants.variables), f"It wants the variables {', '.join(grants.variables)}."),
    )
    return [sentence for wanted, sentence in wishes if wanted]


def when_question_asked_raise_it(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Put the agent's questions into the inbox, as one form."""
    asked = fact.event
    assert isinstance(asked, e.QuestionAsked)
    title = f"{_title(reader, asked.task_id)} has a question"
    form = (Choice("answer", "Send"), CANCEL)
    shown, count = asked.questions[:QUESTIONS_MAX], len(asked.questions)
    note = f"The agent asked {count} questions; these are the first." if count > len(shown) else ""
    return [_raise(fact, asked.request_id, "question", title, note, form, questions=shown)]


def when_approval_requested_raise_it(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask for an approval, showing exactly what would run."""
    asked = fact.event
    assert isinstance(asked, e.ApprovalRequested)
    title = f"{_title(reader, asked.task_id)}: allow {asked.tool}?"
    more = {"lives_s": asked.lives_s, "expiry_choice": "deny"} if asked.lives_s else {}
    return [_raise(fact, asked.request_id, "approval", title, asked.arguments, APPROVAL, **more)]


def when_plan_written_ask_for_review(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask the user to review a plan."""
    written = fact.event
    assert isinstance(written, e.PlanWritten)
    title = f"Plan: {_title(reader, written.task_id)}"
    return [_raise(fact, written.request_id, "plan_review", title, written.plan, PLAN)]


def when_task_paused_ask_how_to_go_on(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask how to go on after a limit."""
    paused = fact.event
    assert isinstance(paused, e.TaskPaused)
    title = f"{_title(reader, paused.task_id)} reached its {paused.limit} limit"
    return [_raise(fact, paused.request_id, "paused", title, paused.reason, PAUSED)]


def when_work_finished_ask_for_review(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask the user to review the work, with the claim and the verdict beside each other."""
    asked = fact.event
    assert isinstance(asked, e.ReviewRequested)
    proposed = _proposed(reader, asked.task_id)
    spec = proposed.spec if proposed else TaskSpec("")
    title = f"Review: {_title(reader, asked.task_id)}"
    claim, check = _claim_and_check(reader, asked.task_id)
    choices: Sequence[Choice] = REVIEW if spec.workspace.kind == "worktree" else REVIEW_PLAIN
    if spec.runner == "command":  # it reads no feedback
        choices = tuple(AGAIN if one.value == "revise" else one for one in choices)
    if check is not None and not check.passed:  # what mends it comes first
        choices = sorted(choices, key=lambda one: one.value not in MENDS)
    body = _describe(claim, check)
    return [_raise(fact, asked.request_id, "review", title, body, choices)]


def when_task_done_say_so(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Show finished work."""
    done = fact.event
    assert isinstance(done, e.TaskDone)
    if not is_news(reader, done.task_id, e.TaskDone.wire):
        return []
    title = f"Done: {_title(reader, done.task_id)}"
    body = "\n\n".join(filter(None, (done.detail, claim_and_verdict(reader, done.task_id))))
    return [_raise(fact, done.request_id, "finished", title, body, OK)]


def when_task_failed_offer_a_retry(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Show a failure with a retry."""
    failed = fact.event
    assert isinstance(failed, e.TaskFailed)
    if not is_news(reader, failed.task_id, e.TaskFailed.wire):
        return []
    title = f"Failed: {_title(reader, failed.task_id)}"
    return [_raise(fact, failed.request_id, "failure", title, failed.reason, RETRY)]


def when_task_uncertain_ask_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask the user about what may have happened."""
    left = fact.event
    assert isinstance(left, e.TaskLeftUncertain)
    title = f"Uncertain: {_title(reader, left.task_id)}"
    return [_raise(fact, left.request_id, "uncertain", title, left.reason, UNCERTAIN)]


def when_money_was_spent_book_it(reader: Reader, fact: Fact) -> list[RecordModelCall]:
    """Book what a worker spent with all other usage."""
    spent = fact.event
    assert isinstance(spent, e.SpendingRecorded)
    proposed = _proposed(reader, spent.task_id)
    spec = proposed.spec if proposed else None
    model = ":".join(filter(None, (spec.runner, spec.model))) if spec else "worker"
    because = (fact.position,)
    return [RecordModelCall("worker", model, spent.tokens, 0, spent.cost_usd, because=because)]


def when_request_closed_settle_it(reader: Reader, fact: Fact) -> list[SettleRequest]:
    """Bring the answer, or what expiry means, to the task."""
    closed = fact.event
    assert isinstance(closed, RequestAnswered | RequestExpired)
    rows = reader.rows(
        "SELECT subject FROM inbox_requests WHERE request_id = ?", (closed.request_id,)
    )
    task_id = task_of_subject(rows[0][0]) if rows else ""
    if not task_id:
        return []
    answers = closed.answers if isinstance(closed, RequestAnswered) else ()
    text = closed.text if isinstance(closed, RequestAnswered) else "Nobody answered in time."
    command = SettleRequest(
        task_id,
        closed.request_id,
        closed.choice,
        answers,
        text,
        fact.actor,
        (fact.position,),
    )
    return [command]


def when_task_moved_on_withdraw(reader: Reader, fact: Fact) -> list[WithdrawRequest]:
    """Withdraw what is no longer asked: requests raised before this fact."""
    task_id: str = getattr(fact.event, "task_id", "")
    found = open_requests_about(reader, task_stream(task_id))
    reason = f"The task is {_WORDS[type(fact.event)]}."
    return [
        WithdrawRequest(one.request_id, reason, (fact.position,))
        for one in found
        if one.position < fact.position
    ]


_WORDS: dict[type[Event], str] = {
    e.TaskStarted: "started",
    e.TaskCancelled: "cancelled",
    e.TaskDismissed: "dismissed",
    e.TaskRetried: "tried again",
    e.FollowUpRequested: "worked on again",
    e.TaskDone: "done",
    e.TaskFailed: "failed",
    e.TaskLeftUncertain: "uncertain",
}

WORKER_POLICIES: tuple[Policy, ...] = (
    Policy("ask-to-start", e.TaskProposed, RaiseRequest, when_task_proposed_ask_the_user),
    Policy("ask-declined", StartRuleDeclined, RaiseRequest, when_start_rule_declined_ask_the_user),
    Policy("raise-question", e.QuestionAsked, RaiseRequest, when_question_asked_raise_it),
    Policy("raise-approval", e.ApprovalRequested, RaiseRequest, when_approval_requested_raise_it),
    Policy("raise-plan", e.PlanWritten, RaiseRequest, when_plan_written_ask_for_review),
    Policy("raise-pause", e.TaskPaused, RaiseRequest, when_task_paused_ask_how_to_go_on),
    Policy("raise-review", e.ReviewRequested, RaiseRequest, when_work_finished_ask_for_review),
    Policy("raise-done", e.TaskDone, RaiseRequest, when_task_done_say_so),
    Policy("raise-failure", e.TaskFailed, RaiseRequest, when_task_failed_offer_a_retry),
    Policy("raise-uncertain", e.TaskLeftUncertain, RaiseRequest, when_task_uncertain_ask_the_user),
    Policy("book-spending", e.SpendingRecorded, RecordModelCall, when_money_was_spent_book_it),
    Policy("settle-answer", RequestAnswered, SettleRequest, when_request_closed_settle_it),
    Policy("settle-expiry", RequestExpired, SettleRequest, when_request_closed_settle_it),
    *(
        Policy(
            f"withdraw-{word.replace(' ', '-')}", kind, WithdrawRequest, when_task_moved_on_withdraw
        )
        for kind, word in _WORDS.items()
    ),
)


def _raise(
    fact: Fact,
    request_id: str,
    kind: str,
    title: str,
    body: str,
    choices: Sequence[Choice],
    **more: object,
) -> RaiseRequest:
    task_id: str = getattr(fact.event, "task_id", "")
    if len(written_out(body)) > BODY_MAX:
        body, choices = _shortened(body, choices)
    fields = {"subject": task_stream(task_id), "because": (fact.position,), **more}
    return RaiseRequest(request_id, kind, title, body, tuple(choices), **fields)  # type: ignore[arg-type]


def _shortened(body: str, choices: Sequence[Choice]) -> tuple[str, Sequence[Choice]]:
    """What is too long to show, said as that. What cannot be shown whole cannot be approved."""
    digest = hashlib.sha256(body.encode()).hexdigest()
    note = f"It has {len(body):,} characters, too many to show here (SHA-256 {digest})."
    left = [one for one in choices if one.value != "approve"]
    return (note if len(left) < len(choices) else f"{note}\n\n{body[:LONG_SHOWN]}…"), left


def _proposed(reader: Reader, task_id: str) -> e.TaskProposed | None:
    rows = reader.rows("SELECT position FROM worker_tasks WHERE task_id = ?", (task_id,))
    happened = fact_of(reader.record(rows[0][0])).event if rows else None
    return happened if isinstance(happened, e.TaskProposed) else None


def _title(reader: Reader, task_id: str) -> str:
    proposed = _proposed(reader, task_id)
    return proposed.spec.title if proposed else task_id


def claim_and_verdict(reader: Reader, task_id: str) -> str:
    """What the agent claims, and what the check outside of it found."""
    return _describe(*_claim_and_check(reader, task_id))


def _describe(claim: str, check: e.CheckRecorded | None) -> str:
    lines = [f"The worker says:\n{claim}"] if claim else []
    if check is not None:
        word = "passed" if check.passed else f"failed with exit code {check.exit_code}"
        lines.append(f"Check `{check.command}` {word} (output {check.output_digest[:12]}).")
        lines += filter(None, (describe_check_files(check.check_files),))
    return "\n\n".join(lines)


def _claim_and_check(reader: Reader, task_id: str) -> tuple[str, e.CheckRecorded | None]:
    rows = reader.rows(_NEWEST, (task_stream(task_id),))
    found = [fact_of(reader.record(row[0])).event for row in rows]
    claim = next((one.text for one in found if isinstance(one, e.ResultClaimed)), "")
    return claim, next((one for one in found if isinstance(one, e.CheckRecorded)), None)


_NEWEST = f"""
SELECT position FROM log WHERE stream = ?
AND kind IN ('{e.ResultClaimed.wire}', '{e.CheckRecorded.wire}') ORDER BY position DESC LIMIT 4
"""  # noqa: S608 - our own kinds
