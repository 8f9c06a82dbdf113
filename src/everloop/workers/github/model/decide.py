"""Decisions of the GitHub flow: pure functions of one issue's link.

Everything that GitHub says comes in here once, whether it was polled or announced by a webhook.
"""

import msgspec

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.record import to_microseconds
from everloop.workers.github.model import commands as c
from everloop.workers.github.model import events as e
from everloop.workers.github.model.comments import answer_of, asks_for_changes
from everloop.workers.github.model.state import Deliveries, IssueLink, Post
from everloop.workers.github.model.texts import checks_follow_up, comments_follow_up
from everloop.workers.github.settings import GitHubSettings

ENGINE = "engine"
TRIES_MAX = 5
RETRY_BASE_S = 15
RETRY_S_MAX = 900
REASON_MAX = 500
COMMENT_MAX = 20_000
UNCHANGED = "The last follow-up changed nothing."


def name_issue(
    known: IssueLink | None, command: c.NameIssue, asking: DecisionContext
) -> list[Event]:
    """Ask for an issue to become a task; again, once its last task has ended."""
    if command.number < 1:
        raise Invalid("an issue has a number from 1 on", hint="Name it as owner/repository#12.")
    if known is not None and known.named:
        return []
    if known is not None and known.task_id and asking.known:
        raise Conflict(
            f"{command.repository}#{command.number} is task {known.task_id!r}",
            hint="End that task first: `everloop tasks`.",
        )
    return [e.IssueNamed(command.repository, command.number)]


def link_issue(
    known: IssueLink | None, command: c.LinkIssue, asking: DecisionContext
) -> list[Draft]:
    """Record the issue, if it has no task, or was named for another one."""
    _require_engine(asking)
    if known is not None and known.task_id and not known.named:
        return []
    linked = e.IssueLinked(
        command.repository,
        command.number,
        command.task_id,
        command.title,
        command.text,
        command.author,
        command.url,
        command.found_by,
    )
    return [Draft(linked)]


def record_delivery(
    known: Deliveries | None, command: c.RecordWebhookDelivery, asking: DecisionContext
) -> list[Event]:
    """Record a delivery. Its request id lets GitHub send it twice."""
    del known
    _require_engine(asking)
    delivery = e.DeliveryReceived(
        command.repository, command.number, command.delivery_id, command.delivery_event
    )
    return [delivery]


class CommentRules:
    """Decisions that depend on what the user switched on, and on how often is tried."""

    def __init__(self, settings: GitHubSettings) -> None:
        self._settings = settings

    def record_comment(
        self, known: IssueLink | None, command: c.RecordComment, asking: DecisionContext
    ) -> list[Draft]:
        """Record a comment once, and the answer that it is, if it is one."""
        _require_engine(asking)
        link, comment = _require_link(known, command), command.comment
        if comment.key in link.seen:
            return []
        kept = msgspec.structs.replace(comment, text=comment.text[:COMMENT_MAX])
        feedback = link.pull_request is not None and asks_for_changes(comment)
        seen = e.CommentRecorded(link.repository, link.number, kept, feedback)
        drafts = [Draft(seen, (link.position,))]
        answered = self._answer(link, command)
        if answered is not None:
            drafts.append(Draft(answered, (link.position,), beside=(0,)))
        return drafts

    def _answer(self, link: IssueLink, command: c.RecordComment) -> e.CommentAnswered | None:
        """The answer to the newest plan that was posted whole, before the comment."""
        comment, chosen = command.comment, self._settings
        said = answer_of(comment, owner=chosen.owner, switched_on=chosen.comment_answers)
        shown = newest_plan(link)
        if said is None or shown is None or not command.plan_unchanged:
            return None
        if not shown.whole or shown.remote_id >= comment.comment_id:
            return None
        return e.CommentAnswered(
            link.repository,
            link.number,
            comment.comment_id,
            comment.author,
            comment.url,
            shown.post_id,
            said.choice,
            said.text,
        )

    def send_follow_up(
        self, known: IssueLink | None, command: c.SendFollowUp, asking: DecisionContext
    ) -> list[Draft]:
        """Give the worker what came back, or stop where it was tried often enough."""
        _require_engine(asking)
        link = _require_link(known, command)
        if not link.pushed or link.pull_request is None:
            return []
        if link.feedback:
            return [self._send_comments(link)]
        checks = link.checks
        if checks is None or checks.commit != link.commit or not checks.failed:
            return []
        if link.followed.get(link.commit) == link.pushed or link.limited == link.pushed:
            return []
        allowed = self._settings.iterations_max * (1 + link.grants)
        unchanged = link.commit in link.followed
        if unchanged or link.iterations >= allowed:
            reason = UNCHANGED if unchanged else f"The limit is {allowed}."
            return [Draft(_limit(link, reason), (checks.position,))]
        text = checks_follow_up(link, checks.failed)
        sent = _follow_up(link, "checks", link.iterations + 1, (), text)
        return [Draft(sent, (checks.position,))]

    def _send_comments(self, link: IssueLink) -> Draft:
        keys = tuple(one.comment.key for one in link.feedback)
        text = comments_follow_up(link, [one.comment for one in link.feedback])
        sent = _follow_up(link, "comments", link.iterations, keys, text)
        return Draft(sent, tuple(one.position for one in link.feedback))


def plan_post(known: IssueLink | None, command: c.PlanPost, asking: DecisionContext) -> list[Draft]:
    """List what is to be posted, once."""
    _require_engine(asking)
    link = _require_link(known, command)
    if command.post_id in link.posts:
        return []
    planned = e.PostPlanned(
        link.repository,
        link.number,
        command.post_id,
        command.post_kind,
        command.title,
        command.text,
        command.whole,
    )
    return [Draft(planned, (link.position, *command.because))]


def begin_post(
    known: IssueLink | None, command: c.BeginPost, asking: DecisionContext
) -> list[Draft]:
    """Claim the next try of a post; a no-op if it was claimed, or its time has not come."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state not in ("planned", "begun") or command.attempt != post.tries + 1:
        return []
    if post.retry_at_us > to_microseconds(asking.now):
        return []
    begun = e.PostBegun(link.repository, link.number, post.post_id, command.attempt)
    return [Draft(begun, (post.position,))]


def finish_post(
    known: IssueLink | None, command: c.FinishPost, asking: DecisionContext
) -> list[Draft]:
    """Record where a post is. Idempotent."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state != "begun":
        return []
    done = e.PostDone(link.repository, link.number, post.post_id, command.remote_id, command.url)
    return [Draft(done, (post.position,))]


def fail_post(known: IssueLink | None, command: c.FailPost, asking: DecisionContext) -> list[Draft]:
    """Record a refusal; one that may pass is tried again a few times."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state != "begun":
        return []
    retry_at_us = 0
    if command.passing and post.tries < TRIES_MAX:
        wait_s = min(RETRY_BASE_S << (post.tries - 1), RETRY_S_MAX)
        retry_at_us = to_microseconds(asking.now) + wait_s * 1_000_000
    failed = e.PostFailed(
        link.repository,
        link.number,
        post.post_id,
        link.task_id,
        post_request(link, post),
        command.reason[:REASON_MAX],
        max(retry_at_us, command.retry_at_us if retry_at_us else 0),
    )
    return [Draft(failed, (post.position,))]


def leave_post_uncertain(
    known: IssueLink | None, command: c.LeavePostUncertain, asking: DecisionContext
) -> list[Draft]:
    """Record that a post may be there or not, and ask the user."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state != "begun":
        return []
    left = e.PostLeftUncertain(
        link.repository,
        link.number,
        post.post_id,
        link.task_id,
        post_request(link, post),
        command.reason[:REASON_MAX],
    )
    return [Draft(left, (post.position,))]


def retry_post(
    known: IssueLink | None, command: c.RetryPost, asking: DecisionContext
) -> list[Draft]:
    """Send a post again, because the user said so."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = link.posts.get(command.post_id)
    if post is None or post.state not in ("failed", "uncertain") or not command.because:
        return []
    retried = e.PostRetried(link.repository, link.number, post.post_id)
    return [Draft(retried, command.because)]


def record_push(
    known: IssueLink | None, command: c.RecordPush, asking: DecisionContext
) -> list[Draft]:
    """Record which commit of which branch was pushed."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state != "begun":
        return []
    pushed = e.BranchPushed(
        link.repository, link.number, post.post_id, command.branch, command.commit
    )
    return [Draft(pushed, (post.position,))]


def record_pull_request(
    known: IssueLink | None, command: c.RecordPullRequest, asking: DecisionContext
) -> list[Draft]:
    """Record the pull request of the task's branch."""
    _require_engine(asking)
    link = _require_link(known, command)
    post = _require_post(link, command.post_id)
    if post.state != "begun":
        return []
    opened = e.PullRequestOpened(
        link.repository, link.number, post.post_id, command.pull_request, command.url
    )
    return [Draft(opened, (post.position,))]


def record_pull_request_state(
    known: IssueLink | None, command: c.RecordPullRequestState, asking: DecisionContext
) -> list[Draft]:
    """Record a change of the pull request; the same state again changes nothing."""
    _require_engine(asking)
    link = _require_link(known, command)
    own = link.pull_request
    if own is None or own.number != command.pull_request or own.state == command.state:
        return []
    if own.state == "merged":  # nothing undoes a merge
        return []
    place = (link.repository, link.number, own.number)
    happened: Event
    match command.state:
        case "merged":
            happened = e.PullRequestMerged(*place)
        case "closed":
            request = f"{link.task_id}.github.closed.{own.position}"
            happened = e.PullRequestClosed(*place, link.task_id, request)
        case "open":
            happened = e.PullRequestReopened(*place)
    return [Draft(happened, (own.position,))]


def record_checks(
    known: IssueLink | None, command: c.RecordChecks, asking: DecisionContext
) -> list[Draft]:
    """Record how the checks of the newest commit ended; the same again changes nothing."""
    _require_engine(asking)
    link = _require_link(known, command)
    before = link.checks
    if not link.commit or command.commit != link.commit:
        return []
    if before is not None and (before.commit, before.failed) == (command.commit, command.failed):
        return []
    concluded = e.ChecksConcluded(link.repository, link.number, command.commit, command.failed)
    return [Draft(concluded, (link.position,))]


def grant_iterations(
    known: IssueLink | None, command: c.GrantIterations, asking: DecisionContext
) -> list[Draft]:
    """Let the worker try again, because the user said so."""
    _require_engine(asking)
    link = _require_link(known, command)
    if not link.limited or not command.because:
        return []
    return [Draft(e.IterationsGranted(link.repository, link.number), command.because)]


def newest_plan(link: IssueLink) -> Post | None:
    """The plan that was posted last; None if there is none, or a newer one is on its way."""
    plans = [one for one in link.posts.values() if one.kind == "plan"]
    return plans[-1] if plans and plans[-1].state == "done" else None


def post_request(link: IssueLink, post: Post) -> str:
    """The id of the request about a post that needs the user."""
    return f"{link.task_id}.github.post.{post.tries}.{post.post_id}"


def _follow_up(
    link: IssueLink,
    reason: e.FollowUpReason,
    iteration: int,
    comments: tuple[str, ...],
    text: str,
) -> e.FollowUpSent:
    return e.FollowUpSent(
        link.repository,
        link.number,
        link.task_id,
        link.pushed,
        reason,
        iteration,
        comments,
        text,
    )


def _limit(link: IssueLink, reason: str) -> e.IterationLimitReached:
    return e.IterationLimitReached(
        link.repository,
        link.number,
        link.task_id,
        link.pushed,
        f"{link.task_id}.github.limit.{link.follow_ups}",
        link.iterations,
        reason,
    )


def _require_link(known: IssueLink | None, command: object) -> IssueLink:
    if known is None or not known.task_id:
        number: int = getattr(command, "number", 0)
        raise NotFound(f"issue {number} has no task", hint="Name it with `everloop work --issue`.")
    return known


def _require_post(link: IssueLink, post_id: str) -> Post:
    post = link.posts.get(post_id)
    if post is None:
        raise NotFound(f"nothing is to be posted as {post_id!r}", hint="Plan it first.")
    return post


def _require_engine(asking: DecisionContext) -> None:
    if asking.by.actor != ENGINE:
        raise Forbidden("only Everloop itself records this", hint="Answer in the inbox instead.")
