"""Events of the GitHub flow: what GitHub said, what is posted there, and what follows from it.

`repository` and `number` name the issue that all of it belongs to.
"""

from typing import Literal

import msgspec

from everloop.log import Event, event

CommentKind = Literal["issue", "pull_request", "review", "line"]
PostKind = Literal["plan", "push", "pull_request"]
FoundBy = Literal["label", "name"]
FollowUpReason = Literal["checks", "comments"]


class Comment(msgspec.Struct, frozen=True):
    """What somebody wrote on GitHub: beside an issue or pull request, as a review, or at a line.

    `association` is what GitHub says about who they are to the repository.
    """

    kind: CommentKind
    comment_id: int
    author: str
    association: str
    text: str
    url: str
    bot: bool = False
    edited: bool = False
    review_state: str = ""
    path: str = ""
    line: int = 0

    @property
    def key(self) -> str:
        """Its name among all comments: numbers are unique for each kind only."""
        place = "comment" if self.kind in ("issue", "pull_request") else self.kind
        return f"{place}:{self.comment_id}"


class FailedCheck(msgspec.Struct, frozen=True):
    """A check that failed, and what it says about that."""

    name: str
    summary: str
    url: str = ""


@event("github.issue_named")
class IssueNamed(Event, frozen=True):
    """Somebody here wants an issue to become a task."""

    repository: str
    number: int


@event("github.issue_linked")
class IssueLinked(Event, frozen=True):
    """An issue becomes a task. Title and text are as GitHub gave them: nobody here wrote them."""

    repository: str
    number: int
    task_id: str
    title: str
    text: str
    author: str
    url: str
    found_by: FoundBy


@event("github.delivery_received")
class DeliveryReceived(Event, frozen=True):
    """GitHub signed and sent a delivery of the webhook: something there is new.

    `number` is the issue or pull request it is about; 0: GitHub names none.
    """

    repository: str
    number: int
    delivery_id: str
    delivery_event: str


@event("github.comment_recorded")
class CommentRecorded(Event, frozen=True):
    """A comment, as GitHub gave it when it was first seen. `feedback`: it asks for changes."""

    repository: str
    number: int
    comment: Comment
    feedback: bool


@event("github.comment_answered")
class CommentAnswered(Event, frozen=True):
    """A comment of the owner answers a request, because they switched that on."""

    repository: str
    number: int
    comment_id: int
    author: str
    url: str
    request_id: str
    choice: str
    text: str


@event("github.post_planned")
class PostPlanned(Event, frozen=True):
    """Something is to be posted. `whole`: the text has all of what it shows."""

    repository: str
    number: int
    post_id: str
    post_kind: PostKind
    title: str
    text: str
    whole: bool


@event("github.post_begun")
class PostBegun(Event, frozen=True):
    """A post is about to be sent. Without an end, GitHub is asked whether it arrived."""

    repository: str
    number: int
    post_id: str
    attempt: int


@event("github.post_done")
class PostDone(Event, frozen=True):
    """A post is on GitHub, under this number and address."""

    repository: str
    number: int
    post_id: str
    remote_id: int
    url: str


@event("github.post_failed")
class PostFailed(Event, frozen=True):
    """A post was refused. `retry_at_us` is when it is tried again; 0: not by itself."""

    repository: str
    number: int
    post_id: str
    task_id: str
    request_id: str
    reason: str
    retry_at_us: int


@event("github.post_left_uncertain")
class PostLeftUncertain(Event, frozen=True):
    """Whether a post arrived cannot be told, so it is not sent again by itself."""

    repository: str
    number: int
    post_id: str
    task_id: str
    request_id: str
    reason: str


@event("github.post_retried")
class PostRetried(Event, frozen=True):
    """The user wants a post sent again."""

    repository: str
    number: int
    post_id: str


@event("github.branch_pushed")
class BranchPushed(Event, frozen=True):
    """The work of a task was pushed. `post_id` names the review that it is for."""

    repository: str
    number: int
    post_id: str
    branch: str
    commit: str


@event("github.pull_request_opened")
class PullRequestOpened(Event, frozen=True):
    """A pull request for the task's branch is on GitHub."""

    repository: str
    number: int
    post_id: str
    pull_request: int
    url: str


@event("github.pull_request_merged")
class PullRequestMerged(Event, frozen=True):
    """The pull request was merged."""

    repository: str
    number: int
    pull_request: int


@event("github.pull_request_closed")
class PullRequestClosed(Event, frozen=True):
    """The pull request was closed without being merged."""

    repository: str
    number: int
    pull_request: int
    task_id: str
    request_id: str


@event("github.pull_request_reopened")
class PullRequestReopened(Event, frozen=True):
    """A closed pull request was opened again."""

    repository: str
    number: int
    pull_request: int


@event("github.checks_concluded")
class ChecksConcluded(Event, frozen=True):
    """All checks of a commit have ended; without failed ones they passed."""

    repository: str
    number: int
    commit: str
    failed: tuple[FailedCheck, ...]


@event("github.follow_up_sent")
class FollowUpSent(Event, frozen=True):
    """The worker gets what failed or was asked for. `iteration` counts failed checks only.

    `post_id` is the publication that it answers, `comments` the keys of the comments in it.
    """

    repository: str
    number: int
    task_id: str
    post_id: str
    reason: FollowUpReason
    iteration: int
    comments: tuple[str, ...]
    text: str


@event("github.iteration_limit_reached")
class IterationLimitReached(Event, frozen=True):
    """Checks still fail, and the worker is not asked again by itself."""

    repository: str
    number: int
    task_id: str
    post_id: str
    request_id: str
    iterations: int
    reason: str


@event("github.iterations_granted")
class IterationsGranted(Event, frozen=True):
    """The user lets the worker try as often again."""

    repository: str
    number: int
