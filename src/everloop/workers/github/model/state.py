"""State of an issue with its task, posts, pull request, checks and comments: a pure fold."""

from collections.abc import Callable
from typing import Any, Literal

import msgspec

from everloop.log import Event, Fact, Fold
from everloop.workers.github.model import events as e

PostState = Literal["planned", "begun", "done", "failed", "uncertain"]


class Post(msgspec.Struct, frozen=True):
    """Something that is posted once."""

    post_id: str
    kind: e.PostKind
    title: str
    text: str
    whole: bool
    position: int
    state: PostState = "planned"
    tries: int = 0
    begun_us: int = 0
    retry_at_us: int = 0
    remote_id: int = 0
    url: str = ""
    reason: str = ""


class PullRequest(msgspec.Struct, frozen=True):
    """The pull request of a task's branch."""

    number: int
    url: str
    state: Literal["open", "merged", "closed"] = "open"
    position: int = 0  # of the fact that says its state


class Checks(msgspec.Struct, frozen=True):
    """How the checks of a commit ended."""

    commit: str
    failed: tuple[e.FailedCheck, ...]
    position: int


class PendingComment(msgspec.Struct, frozen=True):
    """A comment that asks for changes and was not given to the worker yet."""

    comment: e.Comment
    position: int


class IssueLink(msgspec.Struct, frozen=True):
    """An issue and what became of it. `task_id` is empty until GitHub gave its text.

    `pushed` is the review whose work `commit` is; `followed` says for which publication a commit's
    failed checks were dealt with.
    """

    repository: str
    number: int
    named: bool = False
    rounds: int = 0
    task_id: str = ""
    title: str = ""
    text: str = ""
    author: str = ""
    url: str = ""
    position: int = 0
    linked_us: int = 0
    posts: dict[str, Post] = {}
    seen: tuple[str, ...] = ()
    feedback: tuple[PendingComment, ...] = ()
    branch: str = ""
    commit: str = ""
    pushed: str = ""
    pull_request: PullRequest | None = None
    checks: Checks | None = None
    followed: dict[str, str] = {}
    follow_ups: int = 0
    iterations: int = 0
    grants: int = 0
    limited: str = ""  # the publication after which the limit was reached


Changes = dict[str, Any]


def evolve(known: IssueLink | None, fact: Fact) -> IssueLink:
    """The link after a fact."""
    happened: Any = fact.event
    link = known or IssueLink(happened.repository, happened.number)
    change = _CHANGES.get(type(fact.event))
    return msgspec.structs.replace(link, **change(link, happened, fact)) if change else link


def _named(link: IssueLink, new: e.IssueNamed, fact: Fact) -> Changes:
    del link, new, fact
    return {"named": True}


def _linked(link: IssueLink, new: e.IssueLinked, fact: Fact) -> Changes:
    """A second task for the same issue begins from nothing, but for the comments seen before."""
    fresh = IssueLink(
        new.repository,
        new.number,
        rounds=link.rounds + 1,
        task_id=new.task_id,
        title=new.title,
        text=new.text,
        author=new.author,
        url=new.url,
        position=fact.position,
        linked_us=fact.recorded_us,
        seen=link.seen,
    )
    return msgspec.structs.asdict(fresh)


def _commented(link: IssueLink, new: e.CommentRecorded, fact: Fact) -> Changes:
    seen: Changes = {"seen": (*link.seen, new.comment.key)}
    if new.feedback:
        seen["feedback"] = (*link.feedback, PendingComment(new.comment, fact.position))
    return seen


def _planned(link: IssueLink, new: e.PostPlanned, fact: Fact) -> Changes:
    post = Post(new.post_id, new.post_kind, new.title, new.text, new.whole, fact.position)
    return {"posts": {**link.posts, new.post_id: post}}


def _post(link: IssueLink, post_id: str, **changes: Any) -> Changes:
    known = link.posts.get(post_id)
    if known is None:
        return {}
    return {"posts": {**link.posts, post_id: msgspec.structs.replace(known, **changes)}}


def _begun(link: IssueLink, new: e.PostBegun, fact: Fact) -> Changes:
    begun = {"state": "begun", "tries": new.attempt, "begun_us": fact.recorded_us}
    return _post(link, new.post_id, **begun, retry_at_us=0)


def _done(link: IssueLink, new: e.PostDone, fact: Fact) -> Changes:
    del fact
    found = {"remote_id": new.remote_id, "url": new.url}
    return _post(link, new.post_id, state="done", reason="", **found)


def _failed(link: IssueLink, new: e.PostFailed, fact: Fact) -> Changes:
    del fact
    state = "planned" if new.retry_at_us else "failed"
    return _post(link, new.post_id, state=state, reason=new.reason, retry_at_us=new.retry_at_us)


def _uncertain(link: IssueLink, new: e.PostLeftUncertain, fact: Fact) -> Changes:
    del fact
    return _post(link, new.post_id, state="uncertain", reason=new.reason)


def _retried(link: IssueLink, new: e.PostRetried, fact: Fact) -> Changes:
    del fact
    return _post(link, new.post_id, state="planned", tries=0, retry_at_us=0)


def _pushed(link: IssueLink, new: e.BranchPushed, fact: Fact) -> Changes:
    del fact
    done = _post(link, new.post_id, state="done", reason="")
    review = new.post_id.removesuffix(PUSH)
    return {**done, "branch": new.branch, "commit": new.commit, "pushed": review}


def _opened(link: IssueLink, new: e.PullRequestOpened, fact: Fact) -> Changes:
    found = PullRequest(new.pull_request, new.url, "open", fact.position)
    done = _post(
        link, new.post_id, state="done", reason="", remote_id=new.pull_request, url=new.url
    )
    return {**done, "pull_request": found}


def _pull_request(link: IssueLink, new: Event, fact: Fact) -> Changes:
    if link.pull_request is None:
        return {}
    change = {"state": _STATES[type(new)], "position": fact.position}
    return {"pull_request": msgspec.structs.replace(link.pull_request, **change)}


def _checked(link: IssueLink, new: e.ChecksConcluded, fact: Fact) -> Changes:
    del link
    return {"checks": Checks(new.commit, new.failed, fact.position)}


def _followed(link: IssueLink, new: e.FollowUpSent, fact: Fact) -> Changes:
    del fact
    changes: Changes = {"follow_ups": link.follow_ups + 1, "iterations": new.iteration}
    left = tuple(one for one in link.feedback if one.comment.key not in new.comments)
    if new.reason == "checks":
        changes["followed"] = {**link.followed, link.commit: new.post_id}
    return {**changes, "feedback": left}


def _limited(link: IssueLink, new: e.IterationLimitReached, fact: Fact) -> Changes:
    del link, fact
    return {"limited": new.post_id}


def _granted(link: IssueLink, new: e.IterationsGranted, fact: Fact) -> Changes:
    """The commit that failed counts as new, so the worker gets its failure again."""
    del new, fact
    followed = {name: post for name, post in link.followed.items() if name != link.commit}
    return {"grants": link.grants + 1, "limited": "", "followed": followed}


_STATES: dict[type[Event], str] = {
    e.PullRequestMerged: "merged",
    e.PullRequestClosed: "closed",
    e.PullRequestReopened: "open",
}
_CHANGES: dict[type[Event], Callable[[IssueLink, Any, Fact], Changes]] = {
    e.IssueNamed: _named,
    e.IssueLinked: _linked,
    e.CommentRecorded: _commented,
    e.PostPlanned: _planned,
    e.PostBegun: _begun,
    e.PostDone: _done,
    e.PostFailed: _failed,
    e.PostLeftUncertain: _uncertain,
    e.PostRetried: _retried,
    e.BranchPushed: _pushed,
    e.PullRequestOpened: _opened,
    e.ChecksConcluded: _checked,
    e.FollowUpSent: _followed,
    e.IterationLimitReached: _limited,
    e.IterationsGranted: _granted,
    **dict.fromkeys(_STATES, _pull_request),
}

PUSH, PULL_REQUEST = ".push", ".pull-request"  # a review's two posts are named after it


class Deliveries(msgspec.Struct, frozen=True):
    """Deliveries of a webhook are recorded by their ids; nothing is folded from them."""


def evolve_deliveries(known: Deliveries | None, fact: Fact) -> Deliveries:
    """The same, whatever was delivered."""
    del fact
    return known or Deliveries()


def link_stream(repository: str, number: int) -> str:
    """The stream of an issue. GitHub does not tell the case of names apart."""
    return f"github:{repository.lower()}#{number}"


def delivery_stream(repository: str) -> str:
    """The stream of the deliveries for a repository."""
    return f"github_deliveries:{repository.lower()}"


LINK = Fold("github.link", IssueLink, evolve)
DELIVERIES = Fold("github.deliveries", Deliveries, evolve_deliveries)
