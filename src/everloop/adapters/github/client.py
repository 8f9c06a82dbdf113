"""Requests to GitHub's REST interface: conditional, page by page, and within its rate limits.

A GET sends the ETag of the last answer; 304 costs nothing of the rate limit and gives that answer
again. When GitHub says to wait, no request is sent until then. Redirects are not followed, and the
token goes to no other address than the one that is set.
"""

import http.client
import json
import re
from collections import OrderedDict
from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, NamedTuple, cast
from urllib.parse import SplitResult, urlencode, urlsplit

from everloop.errors import Invalid
from everloop.ports import Clock
from everloop.workers import GitHubRefused, GitHubUnclear, RateLimited

TIMEOUT_S = 20.0
ANSWER_BYTES_MAX = 20_000_000
PAGE_SIZE = 100
PAGES_MAX = 30
CACHED_MAX = 500
WAIT_S_MAX = 3_600
LOOPBACK = ("127.0.0.1", "::1", "localhost")
NOT_MODIFIED, CLIENT_ERRORS, SERVER_ERRORS = 304, 400, 500
LIMITED = (403, 429)
UNAUTHORIZED, NOT_FOUND = 401, 404
REDIRECTS = range(301, 309)
MESSAGE_SHOWN = 200
_NEXT = re.compile(r'<(?P<url>[^>]+)>;\s*rel="next"')


class _Answer(NamedTuple):
    status: int
    headers: Mapping[str, str]
    body: bytes


class _Cached(NamedTuple):
    etag: str
    body: bytes
    link: str


class GitHubClient:
    """Sends requests with a token, one at a time."""

    def __init__(self, api_url: str, token: Callable[[], str], clock: Clock) -> None:
        """`token` is asked before each request, so that a new one needs no restart.

        Raises:
            Invalid: the address would send the token in clear text over a network.
        """
        self._origin = urlsplit(api_url.rstrip("/"))
        if self._origin.scheme != "https" and self._origin.hostname not in LOOPBACK:
            raise Invalid(
                f"github.api_url {api_url!r} is not https", hint="Only loopback may go without."
            )
        self._token, self._clock = token, clock
        self._cache: OrderedDict[str, _Cached] = OrderedDict()
        self._wait_until_us = 0
        self.sent = 0  # requests that were sent, for tests and measurements

    def get(self, path: str, **query: str) -> Any:
        """The JSON at a path.

        Raises:
            GitHubRefused: there is none for this token.
        """
        return self._page(self._target(path, query))[0]

    def pages(self, path: str, key: str = "", **query: str) -> list[dict[str, Any]]:
        """All entries of a list, from all of its pages; `key` names it within an object.

        Raises:
            GitHubRefused: there is none for this token, or it has too many pages.
        """
        target = self._target(path, {**query, "per_page": str(PAGE_SIZE)})
        found: list[dict[str, Any]] = []
        for _ in range(PAGES_MAX):
            value, link = self._page(target)
            found += _entries(value, key)
            following = _NEXT.search(link)
            if following is None:
                return found
            target = self._same_origin(following["url"])
        raise GitHubRefused(f"{path} has more than {PAGES_MAX} pages", hint="Close old issues.")

    def send(self, method: str, path: str, body: Mapping[str, Any]) -> dict[str, Any]:
        """Post or change something, and return what GitHub says it is now.

        Raises:
            GitHubRefused: GitHub said no, or was not reached.
            GitHubUnclear: it was sent, and no usable answer came.
        """
        answer = self._request(method, self._target(path, {}), json.dumps(body).encode(), {})
        if answer.status >= SERVER_ERRORS:
            raise GitHubUnclear(
                f"GitHub answered {answer.status} to {method} {path}", hint="It is looked for."
            )
        self._check(answer, f"{method} {path}")
        value = _decode(answer.body)
        if not isinstance(value, dict):
            raise GitHubUnclear(f"GitHub's answer to {method} {path} is no object")
        return cast("dict[str, Any]", value)

    def _page(self, target: str) -> tuple[Any, str]:
        """The JSON of one page, and its `Link` header; from the cache if it is not modified."""
        known = self._cache.get(target)
        more = {"if-none-match": known.etag} if known else {}
        try:
            answer = self._request("GET", target, None, more)
        except GitHubUnclear as problem:  # nothing happens by reading
            raise GitHubRefused(str(problem), hint=problem.hint, passing=True) from problem
        if answer.status == NOT_MODIFIED and known:
            self._cache.move_to_end(target)
            return _decode(known.body), known.link
        self._check(answer, f"GET {target.partition('?')[0]}")
        link = answer.headers.get("link", "")
        if etag := answer.headers.get("etag", ""):
            self._cache[target] = _Cached(etag, answer.body, link)
            self._cache.move_to_end(target)
            if len(self._cache) > CACHED_MAX:
                self._cache.popitem(last=False)
        return _decode(answer.body), link

    def _check(self, answer: _Answer, what: str) -> None:
        """Raise what an answer means that is no success."""
        if answer.status < REDIRECTS.start:
            return
        if answer.status in LIMITED and (until := self._limit(answer)):
            self._wait_until_us = until
            raise RateLimited("GitHub's rate limit is reached", until_us=until)
        said = _message(answer.body)
        words = f"GitHub answered {answer.status} to {what}" + (f": {said}" if said else "")
        if answer.status in REDIRECTS:
            hint = "The repository was renamed: change its name in the settings."
        elif answer.status == UNAUTHORIZED:
            hint = "Make a new token; docs/github.md says which rights it needs."
        elif answer.status in (403, NOT_FOUND):
            hint = "Check the name, and whether the token may do that."
        else:
            hint = ""
        raise GitHubRefused(words, hint=hint, passing=answer.status >= SERVER_ERRORS)

    def _limit(self, answer: _Answer) -> int:
        """Until when to wait; 0 if the refusal is no rate limit."""
        now_us = self._clock.now_us()
        after = answer.headers.get("retry-after", "")
        if after.isdigit():
            return now_us + min(int(after), WAIT_S_MAX) * 1_000_000
        reset = answer.headers.get("x-ratelimit-reset", "")
        if answer.headers.get("x-ratelimit-remaining") == "0" and reset.isdigit():
            latest = now_us + WAIT_S_MAX * 1_000_000
            return max(now_us + 1_000_000, min(int(reset) * 1_000_000, latest))
        if answer.status == 429 or "rate limit" in _message(answer.body).lower():
            return now_us + 60_000_000
        return 0

    def _request(
        self, method: str, target: str, body: bytes | None, more: Mapping[str, str]
    ) -> _Answer:
        if self._clock.now_us() < self._wait_until_us:
            raise RateLimited("GitHub's rate limit is reached", until_us=self._wait_until_us)
        token = self._token()
        if not token:
            hint = "Set `github.token_file`; docs/github.md explains how."
            raise GitHubRefused("there is no token for GitHub", hint=hint)
        origin = self._origin
        secure = origin.scheme == "https"
        kind = http.client.HTTPSConnection if secure else http.client.HTTPConnection
        headers = {
            "accept": "application/vnd.github+json",
            "authorization": f"Bearer {token}",
            "user-agent": "everloop",
            "x-github-api-version": "2022-11-28",
            **({"content-type": "application/json"} if body is not None else {}),
            **more,
        }
        where = f"GitHub at {origin.netloc}"
        with closing(kind(origin.hostname or "", origin.port, timeout=TIMEOUT_S)) as connection:
            try:
                connection.connect()
            except OSError as problem:
                words = f"{where} cannot be reached ({type(problem).__name__})"
                raise GitHubRefused(words, hint="It is tried again.", passing=True) from problem
            self.sent += 1
            try:
                connection.request(method, target, body, headers)
                answer = connection.getresponse()
                content = answer.read(ANSWER_BYTES_MAX + 1)
            except (OSError, http.client.HTTPException) as problem:
                words = f"{where} gave no answer ({type(problem).__name__})"
                raise GitHubUnclear(words, hint="It is looked at again.") from problem
        if len(content) > ANSWER_BYTES_MAX:
            raise GitHubUnclear(f"the answer of {where} is too large")
        names = {name.lower(): value for name, value in answer.getheaders()}
        return _Answer(answer.status, names, content)

    def _target(self, path: str, query: Mapping[str, str]) -> str:
        asked = f"?{urlencode(query)}" if query else ""
        return f"{self._origin.path}{path}{asked}"

    def _same_origin(self, url: str) -> str:
        """The path of the next page, which must be at the same address."""
        parts: SplitResult = urlsplit(url)
        if (parts.scheme, parts.netloc) != (self._origin.scheme, self._origin.netloc):
            raise GitHubRefused("GitHub's next page is at another address", hint="Not followed.")
        return f"{parts.path}?{parts.query}" if parts.query else parts.path


def _entries(value: Any, key: str) -> list[dict[str, Any]]:
    """The objects of a list; with a `key`, of the list that an object has there."""
    if key:
        value = cast("dict[str, Any]", value).get(key) if isinstance(value, dict) else None
    many = cast("Sequence[Any]", value) if isinstance(value, list) else ()
    return [cast("dict[str, Any]", one) for one in many if isinstance(one, dict)]


def _decode(body: bytes) -> Any:
    try:
        return json.loads(body)
    except (ValueError, RecursionError) as problem:
        raise GitHubRefused("GitHub's answer is not JSON", passing=True) from problem


def _message(body: bytes) -> str:
    """What GitHub says about a refusal, shortened."""
    try:
        told: Any = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    if not isinstance(told, dict):
        return ""
    said = cast("dict[str, Any]", told)
    more = [one.get("message") for one in _entries(said, "errors")]
    parts = [one for one in (said.get("message"), *more) if isinstance(one, str)]
    return ": ".join(parts)[:MESSAGE_SHOWN]
