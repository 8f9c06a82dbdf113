"""GitHub over its REST interface: issues, comments, pull requests and checks."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from typing import Any, Literal, cast
from urllib.parse import quote

from everloop.adapters.github.client import GitHubClient
from everloop.workers import (
    Comment,
    CommentKind,
    FailedCheck,
    GitHubRefused,
    GitHubUnclear,
    RemoteIssue,
    RemotePost,
    RemotePullRequest,
)

FAILED = ("failure", "timed_out", "startup_failure")
FAILED_STATUS = ("failure", "error")
SUMMARY_MAX = 8_000
Fields = Mapping[str, Any]


class RestGitHub:
    """The calls that the GitHub flow needs."""

    def __init__(self, client: GitHubClient) -> None:
        self._client = client
        self._login = ""
        self._bases: dict[str, str] = {}

    def login(self) -> str:
        """Whose token this is; asked once."""
        if not self._login:
            self._login = _text(_fields(self._client.get("/user")), "login")
        return self._login

    def labelled_issues(self, repository: str, label: str) -> Sequence[RemoteIssue]:
        path = f"/repos/{_name(repository)}/issues"
        found = self._client.pages(
            path, labels=label, state="open", sort="created", direction="asc"
        )
        return [_issue(one) for one in found if "pull_request" not in one]

    def issue(self, repository: str, number: int) -> RemoteIssue:
        """One issue.

        Raises:
            GitHubRefused: there is none, or it is a pull request.
        """
        found = _fields(self._client.get(f"/repos/{_name(repository)}/issues/{number}"))
        if "pull_request" in found:
            hint = "Name an issue instead."
            raise GitHubRefused(f"{repository}#{number} is a pull request", hint=hint)
        return _issue(found)

    def issue_comments(self, repository: str, number: int, since_us: int) -> Sequence[Comment]:
        since = datetime.fromtimestamp(since_us // 1_000_000, UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
        path = f"/repos/{_name(repository)}/issues/{number}/comments"
        return [_comment("issue", one) for one in self._client.pages(path, since=since)]

    def pull_request_comments(self, repository: str, number: int) -> Sequence[Comment]:
        name = _name(repository)
        beside = self._client.pages(f"/repos/{name}/issues/{number}/comments")
        reviews = self._client.pages(f"/repos/{name}/pulls/{number}/reviews")
        lines = self._client.pages(f"/repos/{name}/pulls/{number}/comments")
        return [
            *(_comment("pull_request", one) for one in beside),
            *(_comment("review", one) for one in reviews if _text(one, "state") != "PENDING"),
            *(_comment("line", one) for one in lines),
        ]

    def pull_request(self, repository: str, number: int) -> RemotePullRequest:
        found = self._client.get(f"/repos/{_name(repository)}/pulls/{number}")
        return _pull_request(_fields(found))

    def find_pull_request(self, repository: str, branch: str) -> RemotePullRequest | None:
        owner = repository.partition("/")[0]
        path = f"/repos/{_name(repository)}/pulls"
        found = self._client.pages(path, head=f"{owner}:{branch}", state="all")
        ours = [one for one in found if _text(_fields(one.get("head")), "ref") == branch]
        newest = max(ours, key=lambda one: _number(one, "number"), default=None)
        return _pull_request(newest) if newest else None

    def failed_checks(self, repository: str, commit: str) -> tuple[FailedCheck, ...] | None:
        name = _name(repository)
        path = f"/repos/{name}/commits/{quote(commit, safe='')}"
        runs = self._client.pages(f"{path}/check-runs", "check_runs", filter="latest")
        statuses = self._client.pages(f"{path}/status", "statuses")
        running = any(_text(one, "status") != "completed" for one in runs)
        pending = any(_text(one, "state") == "pending" for one in statuses)
        if running or pending or not (runs or statuses):
            return None
        failed = [_failed_run(one) for one in runs if _text(one, "conclusion") in FAILED]
        failed += [_failed_status(one) for one in statuses if _text(one, "state") in FAILED_STATUS]
        return tuple(sorted(failed, key=lambda one: (one.name, one.url)))

    def post_comment(self, repository: str, number: int, text: str) -> RemotePost:
        path = f"/repos/{_name(repository)}/issues/{number}/comments"
        return _post(self._client.send("POST", path, {"body": text}), "id")

    def open_pull_request(
        self, repository: str, *, title: str, branch: str, base: str, text: str
    ) -> RemotePost:
        target = base or self._default_branch(repository)
        body = {"title": title, "head": branch, "base": target, "body": text, "draft": True}
        path = f"/repos/{_name(repository)}/pulls"
        return _post(self._client.send("POST", path, body), "number")

    def edit_pull_request(self, repository: str, number: int, text: str) -> RemotePost:
        path = f"/repos/{_name(repository)}/pulls/{number}"
        return _post(self._client.send("PATCH", path, {"body": text}), "number")

    def _default_branch(self, repository: str) -> str:
        if repository not in self._bases:
            found = _fields(self._client.get(f"/repos/{_name(repository)}"))
            self._bases[repository] = _text(found, "default_branch") or "main"
        return self._bases[repository]


def _issue(told: Fields) -> RemoteIssue:
    return RemoteIssue(
        _number(told, "number"),
        _text(told, "title"),
        _text(told, "body"),
        _text(_fields(told.get("user")), "login"),
        _text(told, "html_url"),
        _text(told, "state") == "open",
    )


def _comment(kind: CommentKind, told: Fields) -> Comment:
    author = _fields(told.get("user"))
    created, updated = _text(told, "created_at"), _text(told, "updated_at")
    return Comment(
        kind,
        _number(told, "id"),
        _text(author, "login"),
        _text(told, "author_association"),
        _text(told, "body"),
        _text(told, "html_url"),
        bot=_text(author, "type") == "Bot",
        edited=bool(updated) and updated != created,
        review_state=_text(told, "state").lower() if kind == "review" else "",
        path=_text(told, "path") if kind == "line" else "",
        line=_number(told, "line") if kind == "line" else 0,
    )


def _pull_request(told: Fields) -> RemotePullRequest:
    merged = told.get("merged") is True or bool(told.get("merged_at"))
    state: Literal["open", "merged", "closed"] = "closed"
    if merged:
        state = "merged"
    elif _text(told, "state") == "open":
        state = "open"
    return RemotePullRequest(
        _number(told, "number"), _text(told, "html_url"), state, _text(told, "body")
    )


def _failed_run(told: Fields) -> FailedCheck:
    output = _fields(told.get("output"))
    said = (_text(output, "title"), _text(output, "summary"), _text(output, "text"))
    summary = "\n".join(filter(None, said)) or f"Conclusion: {_text(told, 'conclusion')}."
    return FailedCheck(_text(told, "name"), summary[:SUMMARY_MAX], _text(told, "html_url"))


def _failed_status(told: Fields) -> FailedCheck:
    summary = _text(told, "description") or f"State: {_text(told, 'state')}."
    return FailedCheck(_text(told, "context"), summary[:SUMMARY_MAX], _text(told, "target_url"))


def _post(told: Fields, name: str) -> RemotePost:
    number = _number(told, name)
    if not number:
        raise GitHubUnclear(f"GitHub's answer has no {name}")
    return RemotePost(number, _text(told, "html_url"))


def _name(repository: str) -> str:
    owner, _, name = repository.partition("/")
    return f"{quote(owner, safe='')}/{quote(name, safe='')}"


def _fields(value: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", value) if isinstance(value, dict) else {}


def _text(told: Fields, name: str) -> str:
    value = told.get(name)
    return value if isinstance(value, str) else ""


def _number(told: Fields, name: str) -> int:
    value = told.get(name)
    return value if isinstance(value, int) and not isinstance(value, bool) else 0
