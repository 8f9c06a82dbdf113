"""The tasks that keep issues and pull requests in step with GitHub, and push branches.

One process of all that have the log open talks to GitHub. It keeps nothing but when it looked last:
what there is to do, the log says. A delivery of the webhook only says where to look now, so that a
comment acts once, whether it was announced, polled, or both.
"""

import hashlib
from collections.abc import Callable, Sequence

from everloop.background.task import BackgroundTask
from everloop.errors import EverloopError, Rejected, Unavailable
from everloop.log import Command, CommandBus, Context, Log
from everloop.log.ownership import Claim
from everloop.ports import Clock
from everloop.workers.github.model import commands as c
from everloop.workers.github.model.decide import newest_plan
from everloop.workers.github.model.events import Comment
from everloop.workers.github.model.state import LINK, IssueLink, link_stream
from everloop.workers.github.model.steps import due_commands, due_posts
from everloop.workers.github.model.texts import has_marker, is_marked, task_spec
from everloop.workers.github.ports import (
    BranchPublisher,
    GitHub,
    GitHubRefused,
    RateLimited,
    RemoteIssue,
)
from everloop.workers.github.posting import Poster, Pusher
from everloop.workers.github.queries import (
    IssueRef,
    deliveries_after,
    issue_of_pull_request,
    named_issues,
    open_issues,
)
from everloop.workers.github.settings import GitHubSettings, RepositorySettings
from everloop.workers.model.commands import ProposeTask
from everloop.workers.model.decide import review_request
from everloop.workers.model.spec import TaskLimits
from everloop.workers.model.state import TASK, Task, task_stream

ENGINE = Context(actor="engine")
LOOK_S = 1.0
OPEN_MAX = 20  # issues of a repository that are tasks at the same time


class GitHubTask(BackgroundTask):
    """Looks at issues and pull requests, records what is new, and posts what is due."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        settings: GitHubSettings,
        limits: TaskLimits,
        github: GitHub,
    ) -> None:
        super().__init__(log, "GitHub", self._work, claim="workers.github")
        self._bus, self._clock, self._settings, self._limits = bus, clock, settings, limits
        self._github = github
        self._poster = Poster(bus, clock, github)
        self._next: dict[str, int] = {}  # when each place is looked at again
        self._delivered = log.head  # before that, everything is looked at once anyway
        self._refused: dict[str, EverloopError] = {}  # named issues that GitHub did not give
        self._blocked_until_us = 0

    def tick(self) -> None:
        """Look at what is due, record it, and post what follows from it."""
        self._take_deliveries()
        if self._clock.now_us() < self._blocked_until_us:
            return
        problems = [
            *self._refused.values(),
            *self._each(self._repositories(), self._look_at_issues),
            *self._each(self._open(), self._look_at_link),
            *self._each(self._open(), self._advance),
        ]
        self.problem = problems[-1] if problems else None

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self.tick()
            self.stopping.wait(LOOK_S)

    def _each(self, refs: list[IssueRef], look: Callable[[IssueRef], None]) -> list[EverloopError]:
        """Do something for each; one that fails does not keep the others from it."""
        problems: list[EverloopError] = []
        for ref in refs:
            try:
                look(ref)
            except RateLimited as problem:
                self._blocked_until_us = problem.until_us
                return [*problems, problem]
            except (Rejected, Unavailable) as problem:
                problems.append(problem)
        return problems

    # -- where to look -----------------------------------------------------------------------------

    def _repositories(self) -> list[IssueRef]:
        return [IssueRef(one.name, 0) for one in self._settings.repositories.values() if one.name]

    def _open(self) -> list[IssueRef]:
        with self._log.reading() as reader:
            found = open_issues(reader)
        return [one for one in found if self._settings.find_repository(one.repository)]

    def _take_deliveries(self) -> None:
        """Look at once where the webhook says that something is new."""
        with self._log.reading() as reader:
            for one in deliveries_after(reader, self._delivered):
                self._delivered = one.position
                issue = issue_of_pull_request(reader, one.repository, one.number)
                place = issue or IssueRef(one.repository, one.number)
                self._next.pop(_place(place), None)
                self._next.pop(_place(IssueRef(one.repository, 0)), None)
                if not one.number:
                    self._next.clear()

    def _is_due(self, ref: IssueRef, every_s: float) -> bool:
        """Whether to look now; then the next look is so much later."""
        now = self._clock.now_us()
        if self._next.get(_place(ref), 0) > now:
            return False
        self._next[_place(ref)] = now + int(every_s * 1_000_000)
        return True

    # -- what GitHub says --------------------------------------------------------------------------

    def _look_at_issues(self, ref: IssueRef) -> None:
        """Link what has the label, or was named, as long as not too many are tasks."""
        repository = self._settings.find_repository(ref.repository)
        assert repository is not None, "only those that are set are looked at"
        with self._log.reading() as reader:
            named = [one for one in named_issues(reader) if _same(one, ref)]
            room = OPEN_MAX - sum(_same(one, ref) for one in open_issues(reader))
        self._link_named(repository, named)
        if not self._settings.label or not self._is_due(ref, self._settings.issues_every_s):
            return
        for issue in self._github.labelled_issues(repository.name, self._settings.label):
            if room > 0 and self._load(repository.name, issue.number) is None:
                self._link(repository, issue, found_by_name=False)
                room -= 1

    def _link_named(self, repository: RepositorySettings, named: Sequence[IssueRef]) -> None:
        """Fetch issues that were named; one that GitHub does not give is asked for again later."""
        for one in named:
            if not self._is_due(one, self._settings.issues_every_s):
                continue
            try:
                issue = self._github.issue(repository.name, one.number)
            except RateLimited:
                raise
            except GitHubRefused as problem:
                self._refused[_place(one)] = problem
            else:
                self._link(repository, issue, found_by_name=True)
                self._refused.pop(_place(one), None)
                self._next.pop(_place(one), None)

    def _link(
        self, repository: RepositorySettings, issue: RemoteIssue, *, found_by_name: bool
    ) -> None:
        known = self._load(repository.name, issue.number)
        word = f"{link_stream(repository.name, issue.number)}.{known.rounds if known else 0}"
        digest = hashlib.sha256(word.encode()).hexdigest()[:16]
        link = c.LinkIssue(
            repository.name,
            issue.number,
            f"tsk-{issue.number}-{digest}",
            issue.title,
            issue.text,
            issue.author,
            issue.url,
            "name" if found_by_name else "label",
        )
        self._do(link)

    def _look_at_link(self, ref: IssueRef) -> None:
        """Record new comments, and how the pull request and its checks stand."""
        link = self._load(*ref)
        if link is None or not self._is_due(ref, self._settings.pull_requests_every_s):
            return
        own = self._github.login().lower()
        found = self._github.issue_comments(link.repository, link.number, link.linked_us)
        unchanged = _is_plan_unchanged(link, found, own)
        for comment in found:
            self._record(link, comment, own, unchanged=unchanged)
        if link.pull_request is not None:
            self._look_at_pull_request(link, link.pull_request.number, own)

    def _look_at_pull_request(self, link: IssueLink, number: int, own: str) -> None:
        for comment in self._github.pull_request_comments(link.repository, number):
            self._record(link, comment, own, unchanged=False)
        place = (link.repository, link.number)
        state = self._github.pull_request(link.repository, number).state
        self._do(c.RecordPullRequestState(*place, number, state))
        failed = self._github.failed_checks(link.repository, link.commit) if link.commit else None
        if failed is not None:
            self._do(c.RecordChecks(*place, link.commit, failed))

    def _record(self, link: IssueLink, comment: Comment, own: str, *, unchanged: bool) -> None:
        """Record a comment of others. What we posted ourselves is on record already."""
        ours = comment.author.lower() == own and is_marked(comment.text)
        if not ours and comment.key not in link.seen:
            self._do(c.RecordComment(link.repository, link.number, comment, unchanged))

    # -- what follows ------------------------------------------------------------------------------

    def _advance(self, ref: IssueRef) -> None:
        """Propose the task, plan what is due, and send it."""
        link, repository = self._load(*ref), self._settings.find_repository(ref.repository)
        if link is None or repository is None:
            return
        task = self._log.state(TASK, task_stream(link.task_id))
        if task is None:
            self._propose(link, repository)
            return
        answers = self._settings.comment_answers and bool(self._settings.owner)
        for command in due_commands(link, task, answers=answers):
            self._do(command)
        fresh = self._load(*ref) or link
        for post in due_posts(fresh, self._clock.now_us()):
            if post.kind != "push":
                self._poster.send(fresh, post, repository)

    def _propose(self, link: IssueLink, repository: RepositorySettings) -> None:
        """Propose the task, in the name of the repository: only the user or a rule starts it."""
        spec = task_spec(link, repository, self._limits)
        command = ProposeTask(link.task_id, spec, because=(link.position,))
        by = Context(actor=f"github:{link.repository.lower()}")
        self._bus.do(command, by=by, request_id=f"github-propose-{link.task_id}")

    def _load(self, repository: str, number: int) -> IssueLink | None:
        found = self._log.state(LINK, link_stream(repository, number))
        return found if found is not None and found.task_id else None

    def _do(self, command: Command) -> None:
        self._bus.do(command, by=ENGINE)


class PushTask(BackgroundTask):
    """Pushes the branches of tasks that worked here: their worktrees are on this machine."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        clock: Clock,
        settings: GitHubSettings,
        publisher: BranchPublisher,
        host: str,
    ) -> None:
        super().__init__(log, "GitHub pushes", self._work, claim=f"workers.github.push.{host}")
        self._clock, self._settings, self._host = clock, settings, host
        self._pusher = Pusher(bus, publisher)

    def tick(self) -> None:
        """Push what is due."""
        with self._log.reading() as reader:
            refs = open_issues(reader)
        for ref in refs:
            link = self._log.state(LINK, link_stream(*ref))
            repository = self._settings.find_repository(ref.repository)
            if link is not None and repository is not None and link.posts:
                self._push(link, repository)

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self.tick()
            self.stopping.wait(LOOK_S)

    def _push(self, link: IssueLink, repository: RepositorySettings) -> None:
        task = self._log.state(TASK, task_stream(link.task_id))
        if task is None or task.host != self._host or not _is_in_review(task):
            return
        for post in due_posts(link, self._clock.now_us()):
            if post.kind == "push":
                self._pusher.push(link, post, task, repository.remote)


def _is_in_review(task: Task) -> bool:
    return bool(review_request(task)) and not task.disposition


def _is_plan_unchanged(link: IssueLink, comments: Sequence[Comment], own: str) -> bool:
    """Whether the plan on GitHub is still what was posted: nobody edited or removed it."""
    plan = newest_plan(link)
    if plan is None:
        return False
    shown = [one for one in comments if one.comment_id == plan.remote_id]
    return any(
        one.author.lower() == own and not one.edited and has_marker(one.text, plan.post_id)
        for one in shown
    )


def _same(one: IssueRef, other: IssueRef) -> bool:
    return one.repository.lower() == other.repository.lower()


def _place(ref: IssueRef) -> str:
    return link_stream(ref.repository, ref.number)
