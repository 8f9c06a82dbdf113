"""GitHub service, called by every interface: name an issue, the issue of a task, the webhook."""

import re
from collections.abc import Callable, Sequence
from typing import Any, cast

import msgspec

from everloop.errors import Forbidden, Invalid, NotFound
from everloop.log import CommandBus, Context, Log
from everloop.workers.github.model import commands as c
from everloop.workers.github.model.state import LINK, IssueLink, link_stream
from everloop.workers.github.queries import IssueRef, issue_of_task
from everloop.workers.github.settings import GitHubSettings
from everloop.workers.github.webhook_signature import is_signed

ENGINE = Context(actor="engine")
EVENTS = frozenset(
    (
        "issues",
        "issue_comment",
        "pull_request",
        "pull_request_review",
        "pull_request_review_comment",
        "check_run",
        "check_suite",
        "status",
    )
)
_ISSUE = re.compile(r"(?P<repository>[A-Za-z0-9][A-Za-z0-9-]*/[A-Za-z0-9._-]+)#(?P<number>\d{1,9})")
_DELIVERY = re.compile(r"[A-Za-z0-9-]{8,80}")


class IssueView(msgspec.Struct, frozen=True):
    """An issue with its pull request, and how often failed checks were given back."""

    repository: str
    number: int
    issue_url: str
    pull_request: int
    pull_request_url: str
    pull_request_state: str
    iterations: int
    iterations_max: int
    problem: str


class GitHubService:
    """The issues of one log that are tasks."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        settings: GitHubSettings,
        webhook_secret: Callable[[], str] = str,
    ) -> None:
        """`webhook_secret` gives the secret of the webhook; empty: there is none."""
        self._log, self._bus, self._settings = log, bus, settings
        self._webhook_secret = webhook_secret

    def name_issue(self, text: str, by: Context) -> IssueRef:
        """Let an issue, `owner/repository#12`, become a task once GitHub gave its text.

        Raises:
            Invalid: it is not written so, or its repository is not in the settings.
        """
        found = _ISSUE.fullmatch(text.strip())
        if found is None:
            raise Invalid(f"{text!r} is not an issue", hint="Name it as owner/repository#12.")
        repository = self._settings.find_repository(found["repository"])
        if repository is None:
            raise Invalid(
                f"the repository {found['repository']!r} is not in the settings",
                hint="Add a section [github.repositories.NAME]; docs/github.md explains how.",
            )
        issue = IssueRef(repository.name, int(found["number"]))
        self._bus.do(c.NameIssue(*issue), by=by)
        return issue

    def issue_of_task(self, task_id: str) -> IssueView | None:
        """The issue that became a task; None if none did."""
        with self._log.reading() as reader:
            ref = issue_of_task(reader, task_id)
        link = self._log.state(LINK, link_stream(*ref)) if ref else None
        if link is None or link.task_id != task_id:
            return None
        return self._view(link)

    def receive(self, body: bytes, *, signature: str, delivery_id: str, event: str) -> bool:
        """Take a delivery of the webhook; returns whether it is of interest. Twice is once.

        Raises:
            NotFound: there is no webhook.
            Forbidden: the signature is wrong.
            Invalid: it is not a delivery of GitHub.
        """
        secret = self._webhook_secret()
        if not secret or not self._settings.repositories:
            raise NotFound("there is no webhook", hint="docs/github.md explains how to set one up.")
        if not is_signed(body, signature, secret):
            raise Forbidden("the signature is wrong", hint="Use the same secret on both sides.")
        if not _DELIVERY.fullmatch(delivery_id):
            raise Invalid("a delivery needs its id", hint="GitHub sends X-GitHub-Delivery.")
        name, number = _subject(body)
        repository = self._settings.find_repository(name)
        if repository is None or event not in EVENTS:
            return False
        record = c.RecordWebhookDelivery(repository.name, number, delivery_id, event)
        self._bus.do(record, by=ENGINE, request_id=f"github-delivery-{delivery_id}")
        return True

    def _view(self, link: IssueLink) -> IssueView:
        own = link.pull_request
        stuck = [one.reason for one in link.posts.values() if one.state in ("failed", "uncertain")]
        return IssueView(
            link.repository,
            link.number,
            _web_address(link.url),
            own.number if own else 0,
            _web_address(own.url) if own else "",
            own.state if own else "",
            link.iterations,
            self._settings.iterations_max * (1 + link.grants),
            stuck[-1] if stuck else "",
        )


def _web_address(url: str) -> str:
    """An address that a page may link to; empty if it is of another kind."""
    return url if url.startswith(("https://", "http://")) else ""


def _subject(body: bytes) -> tuple[str, int]:
    """The repository of a delivery, and the number of the issue or pull request; 0 if none.

    Raises:
        Invalid: the body is not a JSON object.
    """
    try:
        told: Any = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError) as problem:
        raise Invalid("the delivery is not JSON", hint="Choose application/json.") from problem
    if not isinstance(told, dict):
        raise Invalid("the delivery is not an object", hint="Choose application/json.")
    payload = cast("dict[str, Any]", told)
    name = _field(payload.get("repository"), "full_name")
    numbers = [_field(payload.get(key), "number") for key in ("issue", "pull_request")]
    for key in ("check_run", "check_suite"):
        pulls = _field(payload.get(key), "pull_requests")
        many = cast("Sequence[Any]", pulls) if isinstance(pulls, list) else ()
        numbers += [_field(one, "number") for one in many[:1]]
    number = next((one for one in numbers if isinstance(one, int) and one > 0), 0)
    return (name if isinstance(name, str) else ""), number


def _field(value: Any, name: str) -> Any:
    return cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
