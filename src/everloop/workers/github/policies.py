"""How the GitHub flow, tasks and the inbox act on each other. Pure questions to the views."""

import msgspec

from everloop.domain import Policy
from everloop.inbox import AnswerRequest, Choice, RaiseRequest, RequestAnswered
from everloop.log import Command, Fact, Reader
from everloop.workers.github.model import events as e
from everloop.workers.github.model.commands import GrantIterations, RetryPost
from everloop.workers.github.queries import issue_of_task
from everloop.workers.model.commands import RequestFollowUp
from everloop.workers.model.state import task_stream

RULE = "github.comment_answers"
MARK = ".github."  # in the ids of our requests, after the task's
CONTINUE, AGAIN, LEAVE = "continue", "again", "leave"
LIMIT = (
    Choice(CONTINUE, "Let it try again", "As often as before."),
    Choice(LEAVE, "Leave it to me"),
)
FAILED = (Choice(AGAIN, "Send it again"), Choice(LEAVE, "Leave it"))
UNCERTAIN = (
    Choice(AGAIN, "Send it again", "It may then be there twice."),
    Choice(LEAVE, "Leave it"),
)
OK = (Choice("ok", "OK"),)
_DIGEST = """
SELECT json_extract(data, '$.digest') FROM log
WHERE stream = ? AND kind = 'inbox.request_raised' ORDER BY position DESC LIMIT 1
"""
_TITLE = """
SELECT json_extract(l.data, '$.spec.title') FROM worker_tasks t
JOIN log l ON l.position = t.position WHERE t.task_id = ?
"""


def when_follow_up_sent_let_the_task_work_on(reader: Reader, fact: Fact) -> list[RequestFollowUp]:
    """Bring failed checks or comments to the task."""
    del reader
    sent = fact.event
    assert isinstance(sent, e.FollowUpSent)
    name = f"{sent.task_id}.github.{fact.position}"
    return [RequestFollowUp(sent.task_id, name, sent.text, (fact.position,))]


def when_limit_reached_ask_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask whether the worker may try again."""
    reached = fact.event
    assert isinstance(reached, e.IterationLimitReached)
    title = f"Checks still fail: {_title(reader, reached.task_id)}"
    count = f"Failed checks were given back to the worker {reached.iterations} times."
    body = f"{count} {reached.reason}\n{reached.repository}#{reached.number}"
    request = RaiseRequest(reached.request_id, "paused", title, body, LIMIT)
    return _about(fact, reached.task_id, request)


def when_pull_request_closed_tell_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Tell that the work was not wanted there. What becomes of it, the review asks."""
    closed = fact.event
    assert isinstance(closed, e.PullRequestClosed)
    title = f"Pull request closed without a merge: {_title(reader, closed.task_id)}"
    body = f"{closed.repository}#{closed.pull_request}. The task and its branch are as they were."
    request = RaiseRequest(closed.request_id, "paused", title, body, OK)
    return _about(fact, closed.task_id, request)


def when_post_failed_tell_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Tell what could not be posted, once it is not tried again by itself."""
    failed = fact.event
    assert isinstance(failed, e.PostFailed)
    if failed.retry_at_us:
        return []
    title = f"Not posted to GitHub: {_title(reader, failed.task_id)}"
    body = f"{failed.reason}\n{failed.repository}#{failed.number}"
    request = RaiseRequest(failed.request_id, "failure", title, body, FAILED)
    return _about(fact, failed.task_id, request)


def when_post_uncertain_ask_the_user(reader: Reader, fact: Fact) -> list[RaiseRequest]:
    """Ask about what may be on GitHub, or not."""
    left = fact.event
    assert isinstance(left, e.PostLeftUncertain)
    title = f"Perhaps posted to GitHub: {_title(reader, left.task_id)}"
    body = f"{left.reason}\n{left.repository}#{left.number}"
    request = RaiseRequest(left.request_id, "uncertain", title, body, UNCERTAIN)
    return _about(fact, left.task_id, request)


def when_comment_answered_answer_the_request(reader: Reader, fact: Fact) -> list[AnswerRequest]:
    """Record the receipt; its source is the comment. The first answer counts, as ever."""
    said = fact.event
    assert isinstance(said, e.CommentAnswered)
    rows = reader.rows(_DIGEST, (f"inbox:{said.request_id}",))
    if not rows:
        return []
    answer = AnswerRequest(
        said.request_id,
        said.choice,
        str(rows[0][0]),
        text=said.text,
        device=f"GitHub comment {said.comment_id} of {said.author}",
        by_rule=RULE,
        because=(fact.position,),
    )
    return [answer]


def when_request_answered_go_on(reader: Reader, fact: Fact) -> list[Command]:
    """Do what the user chose about a limit or a post."""
    answered = fact.event
    assert isinstance(answered, RequestAnswered)
    task_id, mark, rest = answered.request_id.partition(MARK)
    issue = issue_of_task(reader, task_id) if mark else None
    if issue is None:
        return []
    because = (fact.position,)
    kind, _, name = rest.partition(".")
    if kind == "limit" and answered.choice == CONTINUE:
        return [GrantIterations(issue.repository, issue.number, because)]
    if kind == "post" and answered.choice == AGAIN:
        post_id = name.partition(".")[2]
        return [RetryPost(issue.repository, issue.number, post_id, because)]
    return []


def _about(fact: Fact, task_id: str, request: RaiseRequest) -> list[RaiseRequest]:
    """The request, with the task that it is about and the fact that led to it."""
    subject = task_stream(task_id)
    return [msgspec.structs.replace(request, subject=subject, because=(fact.position,))]


def _title(reader: Reader, task_id: str) -> str:
    rows = reader.rows(_TITLE, (task_id,))
    return str(rows[0][0]) if rows else task_id


GITHUB_POLICIES: tuple[Policy, ...] = (
    Policy(
        "send-follow-up", e.FollowUpSent, RequestFollowUp, when_follow_up_sent_let_the_task_work_on
    ),
    Policy(
        "ask-after-limit", e.IterationLimitReached, RaiseRequest, when_limit_reached_ask_the_user
    ),
    Policy(
        "tell-closed", e.PullRequestClosed, RaiseRequest, when_pull_request_closed_tell_the_user
    ),
    Policy("tell-post-failed", e.PostFailed, RaiseRequest, when_post_failed_tell_the_user),
    Policy(
        "ask-post-uncertain", e.PostLeftUncertain, RaiseRequest, when_post_uncertain_ask_the_user
    ),
    Policy(
        "answer-by-comment",
        e.CommentAnswered,
        AnswerRequest,
        when_comment_answered_answer_the_request,
    ),
    Policy("github-answer", RequestAnswered, GrantIterations, when_request_answered_go_on),
)
