"""Sends posts to GitHub, each once: recorded before and after, and looked for before it is sent.

A post that was begun and has no end may be on its way. After a while GitHub is asked whether it is
there; only if it is not, it is sent again, and not more than a few times.
"""

from everloop.errors import EverloopError, Rejected, RunnerFailed
from everloop.log import Command, CommandBus, Context
from everloop.ports import Clock
from everloop.workers.github.model import commands as c
from everloop.workers.github.model.decide import TRIES_MAX
from everloop.workers.github.model.state import IssueLink, Post
from everloop.workers.github.model.texts import has_marker
from everloop.workers.github.ports import (
    BranchPublisher,
    GitHub,
    GitHubRefused,
    RateLimited,
    RemotePost,
)
from everloop.workers.github.settings import RepositorySettings
from everloop.workers.model.state import Task

ENGINE = Context(actor="engine")
SETTLE_US = 60_000_000  # a request that was sent longer ago has arrived, or never will
UNKNOWN = "It was sent, and no answer came; GitHub does not show it."


class Poster:
    """Sends comments and pull requests."""

    def __init__(self, bus: CommandBus, clock: Clock, github: GitHub) -> None:
        self._bus, self._clock, self._github = bus, clock, github

    def send(self, link: IssueLink, post: Post, repository: RepositorySettings) -> None:
        """Send a post that is due.

        Raises:
            RateLimited: GitHub wants no more requests for now.
            GitHubUnclear: no answer came, so it is looked for later.
        """
        sent_before = post.state == "begun"
        if sent_before and self._clock.now_us() - post.begun_us < SETTLE_US:
            return
        if sent_before and post.tries >= TRIES_MAX:
            self._look_last(link, post)
            return
        place = (link.repository, link.number, post.post_id)
        begun = self._bus.do(c.BeginPost(*place, post.tries + 1), by=ENGINE)
        if not begun.facts:
            return
        try:
            self._finish(link, post, self._find(link, post) or self._create(link, post, repository))
        except RateLimited as problem:
            reason, until = str(problem), problem.until_us
            self._do(c.FailPost(*place, reason, passing=True, retry_at_us=until))
            raise
        except GitHubRefused as problem:
            reason = f"{problem}. {problem.hint}".strip()
            if sent_before and not problem.passing:
                self._do(c.LeavePostUncertain(*place, f"{UNKNOWN} {reason}"))
            else:
                self._do(c.FailPost(*place, reason, passing=problem.passing))

    def _look_last(self, link: IssueLink, post: Post) -> None:
        """Look once more for what was sent often enough."""
        place = (link.repository, link.number, post.post_id)
        try:
            found = self._find(link, post)
        except GitHubRefused as problem:
            if problem.passing:
                raise
            self._do(c.LeavePostUncertain(*place, f"{UNKNOWN} {problem}"))
            return
        if found:
            self._finish(link, post, found)
        else:
            self._do(c.LeavePostUncertain(*place, UNKNOWN))

    def _find(self, link: IssueLink, post: Post) -> RemotePost | None:
        """The post on GitHub, if it is there: by its marker, and by who wrote it."""
        if post.kind == "plan":
            own = self._github.login().lower()
            for one in self._github.issue_comments(link.repository, link.number, link.linked_us):
                if one.author.lower() == own and has_marker(one.text, post.post_id):
                    return RemotePost(one.comment_id, one.url)
            return None
        if link.pull_request is not None:
            return None  # its text is replaced, which can be done twice
        found = self._github.find_pull_request(link.repository, link.branch)
        if found is None or not (found.state == "open" or has_marker(found.text, post.post_id)):
            return None
        return RemotePost(found.number, found.url)

    def _create(self, link: IssueLink, post: Post, repository: RepositorySettings) -> RemotePost:
        if post.kind == "plan":
            return self._github.post_comment(link.repository, link.number, post.text)
        if link.pull_request is not None:
            number = link.pull_request.number
            return self._github.edit_pull_request(link.repository, number, post.text)
        return self._github.open_pull_request(
            link.repository,
            title=post.title,
            branch=link.branch,
            base=repository.base,
            text=post.text,
        )

    def _finish(self, link: IssueLink, post: Post, found: RemotePost) -> None:
        place = (link.repository, link.number, post.post_id, found.remote_id, found.url)
        opened = post.kind == "pull_request" and link.pull_request is None
        self._do(c.RecordPullRequest(*place) if opened else c.FinishPost(*place))

    def _do(self, command: Command) -> None:
        self._bus.do(command, by=ENGINE)


class Pusher:
    """Pushes the branches of tasks that worked on this machine. Pushing twice changes nothing."""

    def __init__(self, bus: CommandBus, publisher: BranchPublisher) -> None:
        self._bus, self._publisher = bus, publisher

    def push(self, link: IssueLink, post: Post, task: Task, remote: str) -> None:
        """Push a branch, and record its commit."""
        place = (link.repository, link.number, post.post_id)
        if post.state == "begun" and post.tries >= TRIES_MAX:
            reason = "The push was begun several times and never ended."
            self._bus.do(c.FailPost(*place, reason), by=ENGINE)
            return
        begun = self._bus.do(c.BeginPost(*place, post.tries + 1), by=ENGINE)
        if not begun.facts:
            return
        try:
            done = self._publisher.publish(task, remote)
        except (Rejected, RunnerFailed) as problem:
            reason, passing = _said(problem), isinstance(problem, RunnerFailed)
            self._bus.do(c.FailPost(*place, reason, passing=passing), by=ENGINE)
            return
        self._bus.do(c.RecordPush(*place, done.branch, done.commit), by=ENGINE)


def _said(problem: EverloopError) -> str:
    return f"{problem}. {problem.hint}".strip()
