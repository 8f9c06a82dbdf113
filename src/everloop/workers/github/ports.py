"""What the GitHub flow needs from outside: GitHub itself, and a push of a task's branch."""

from collections.abc import Sequence
from typing import Literal, Protocol

import msgspec

from everloop.errors import Unavailable
from everloop.workers.github.model.events import Comment, FailedCheck
from everloop.workers.model.state import Task


class GitHubRefused(Unavailable):
    """GitHub said no, or was not reached: nothing happened there. `passing`: it may pass."""

    def __init__(self, message: str, *, hint: str = "", passing: bool = False) -> None:
        super().__init__(message, hint=hint)
        self.passing = passing


class RateLimited(GitHubRefused):
    """GitHub wants no more requests until a time."""

    def __init__(self, message: str, *, until_us: int) -> None:
        super().__init__(message, hint="It goes on by itself.", passing=True)
        self.until_us = until_us


class GitHubUnclear(Unavailable):
    """A request was sent and no usable answer came: it may have happened."""


class RemoteIssue(msgspec.Struct, frozen=True):
    """An issue as GitHub gives it."""

    number: int
    title: str
    text: str
    author: str
    url: str
    open: bool


class RemotePullRequest(msgspec.Struct, frozen=True):
    """A pull request as GitHub gives it."""

    number: int
    url: str
    state: Literal["open", "merged", "closed"]
    text: str


class RemotePost(msgspec.Struct, frozen=True):
    """Where something is that was posted."""

    remote_id: int
    url: str


class PushedBranch(msgspec.Struct, frozen=True):
    """What was pushed."""

    branch: str
    commit: str


class GitHub(Protocol):
    """The part of GitHub's REST interface that is used.

    Every call may raise `GitHubRefused`; those that post may also raise `GitHubUnclear`.
    """

    def login(self) -> str:
        """Whose token this is."""
        ...

    def labelled_issues(self, repository: str, label: str) -> Sequence[RemoteIssue]:
        """The open issues with a label, without pull requests."""
        ...

    def issue(self, repository: str, number: int) -> RemoteIssue:
        """One issue."""
        ...

    def issue_comments(self, repository: str, number: int, since_us: int) -> Sequence[Comment]:
        """The comments beside an issue that were written or changed since a time."""
        ...

    def pull_request_comments(self, repository: str, number: int) -> Sequence[Comment]:
        """The comments beside a pull request, its reviews, and the comments at its lines."""
        ...

    def pull_request(self, repository: str, number: int) -> RemotePullRequest:
        """One pull request."""
        ...

    def find_pull_request(self, repository: str, branch: str) -> RemotePullRequest | None:
        """The newest pull request of a branch of the same repository, open or not."""
        ...

    def failed_checks(self, repository: str, commit: str) -> tuple[FailedCheck, ...] | None:
        """The checks of a commit that failed; None while some run, or where there are none."""
        ...

    def post_comment(self, repository: str, number: int, text: str) -> RemotePost:
        """Add a comment."""
        ...

    def open_pull_request(
        self, repository: str, *, title: str, branch: str, base: str, text: str
    ) -> RemotePost:
        """Open a draft. An empty base is the repository's default branch."""
        ...

    def edit_pull_request(self, repository: str, number: int, text: str) -> RemotePost:
        """Replace the text of a pull request."""
        ...


class BranchPublisher(Protocol):
    """Commits the work of a task to its branch and pushes that."""

    def publish(self, task: Task, remote: str) -> PushedBranch:
        """Push to a remote of the task's repository. Doing it again changes nothing.

        Raises:
            Rejected: there is nothing to push, or the remote does not take it.
            RunnerFailed: git failed for a reason that may pass.
        """
        ...
