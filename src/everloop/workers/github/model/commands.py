"""Commands of the GitHub flow. To name an issue is for everybody; the rest is the engine's."""

from typing import Literal

from everloop.log import Command
from everloop.workers.github.model.events import Comment, FailedCheck, FoundBy, PostKind


class NameIssue(Command, frozen=True):
    """Let an issue become a task, also without a label."""

    repository: str
    number: int


class LinkIssue(Command, frozen=True):
    """Record an issue and the task that it becomes. For one issue, once."""

    repository: str
    number: int
    task_id: str
    title: str
    text: str
    author: str
    url: str
    found_by: FoundBy = "label"


class RecordWebhookDelivery(Command, frozen=True):
    """Record a delivery of the webhook whose signature was right."""

    repository: str
    number: int
    delivery_id: str
    delivery_event: str


class RecordComment(Command, frozen=True):
    """Record a comment that was not seen before.

    `plan_unchanged`: the plan on GitHub is still word for word what was posted.
    """

    repository: str
    number: int
    comment: Comment
    plan_unchanged: bool = False


class PlanPost(Command, frozen=True):
    """Put something into the list of what is to be posted. The same again changes nothing."""

    repository: str
    number: int
    post_id: str
    post_kind: PostKind
    title: str = ""
    text: str = ""
    whole: bool = True
    because: tuple[int, ...] = ()


class BeginPost(Command, frozen=True):
    """Claim a post to send it. Of two processes that try, one succeeds."""

    repository: str
    number: int
    post_id: str
    attempt: int


class FinishPost(Command, frozen=True):
    """Record that a post is on GitHub."""

    repository: str
    number: int
    post_id: str
    remote_id: int
    url: str


class FailPost(Command, frozen=True):
    """Record that a post was refused. `passing`: that may pass."""

    repository: str
    number: int
    post_id: str
    reason: str
    passing: bool = False
    retry_at_us: int = 0


class LeavePostUncertain(Command, frozen=True):
    """Record that nobody can tell whether a post arrived."""

    repository: str
    number: int
    post_id: str
    reason: str


class RetryPost(Command, frozen=True):
    """Send a post again that failed or is uncertain."""

    repository: str
    number: int
    post_id: str
    because: tuple[int, ...] = ()


class RecordPush(Command, frozen=True):
    """Record that a task's branch was pushed."""

    repository: str
    number: int
    post_id: str
    branch: str
    commit: str


class RecordPullRequest(Command, frozen=True):
    """Record the pull request that a post opened, or found."""

    repository: str
    number: int
    post_id: str
    pull_request: int
    url: str


class RecordPullRequestState(Command, frozen=True):
    """Record whether the pull request is open, merged or closed."""

    repository: str
    number: int
    pull_request: int
    state: Literal["open", "merged", "closed"]


class RecordChecks(Command, frozen=True):
    """Record how the checks of a commit ended."""

    repository: str
    number: int
    commit: str
    failed: tuple[FailedCheck, ...]


class SendFollowUp(Command, frozen=True):
    """Give the worker what the newest publication got back: comments first, then failed checks."""

    repository: str
    number: int


class GrantIterations(Command, frozen=True):
    """Let the worker try as often again."""

    repository: str
    number: int
    because: tuple[int, ...] = ()
