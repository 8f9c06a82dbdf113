"""A fake of GitHub's REST interface on loopback: issues, comments, pull requests, checks.

It answers with ETags, in pages, and with rate limits, as GitHub does. It keeps what was posted.
"""

import hashlib
import json
import re
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, cast
from urllib.parse import parse_qs, urlsplit

Json = dict[str, Any]
TOKEN = "ghp_of-the-test"  # noqa: S105 - of a fake
LOGIN = "octo-owner"
REPOSITORY = "octo/shop"


class FakeGitHub:
    """What the server knows. Change it under no lock: tests do one thing after the other."""

    def __init__(self) -> None:
        self.issues: dict[int, Json] = {}
        self.comments: dict[int, list[Json]] = {}
        self.pulls: dict[int, Json] = {}
        self.reviews: dict[int, list[Json]] = {}
        self.lines: dict[int, list[Json]] = {}
        self.check_runs: dict[str, list[Json]] = {}
        self.statuses: dict[str, list[Json]] = {}
        self.requests: list[str] = []  # method, path and status of each
        self.tokens: set[str] = set()
        self.page_size = 100
        self.limited: dict[str, str] = {}  # headers of a refusal for all requests, while set
        self.refusals: dict[str, tuple[int, str]] = {}  # by method and path
        self.arrived = threading.Event()  # set when a post arrived that gets no answer
        self.silent = False  # posts are kept, and get no answer
        self.deaf = False  # posts are neither kept nor answered
        self._numbers = 100
        self.url = ""

    def number(self) -> int:
        """A new number."""
        self._numbers += 1
        return self._numbers

    def add_issue(self, number: int, title: str, text: str = "", label: str = "everloop") -> None:
        """Somebody opens an issue."""
        self.issues[number] = {
            "number": number,
            "title": title,
            "body": text,
            "state": "open",
            "user": {"login": "reporter", "type": "User"},
            "html_url": f"{self.url}/{REPOSITORY}/issues/{number}",
            "labels": [{"name": label}],
        }

    def add_comment(
        self, number: int, text: str, author: str = LOGIN, association: str = "OWNER", **more: Any
    ) -> Json:
        """Somebody writes beside an issue or pull request."""
        made = self._comment(text, author, association, **more)
        self.comments.setdefault(number, []).append(made)
        return made

    def add_line_comment(
        self, pull: int, text: str, author: str = "reviewer", association: str = "MEMBER"
    ) -> None:
        """Somebody writes at a line of a pull request."""
        made = self._comment(text, author, association, path="a.txt", line=1)
        self.lines.setdefault(pull, []).append(made)

    def add_review(self, pull: int, text: str, state: str, association: str = "MEMBER") -> None:
        """Somebody reviews a pull request."""
        made = self._comment(text, "reviewer", association, state=state)
        self.reviews.setdefault(pull, []).append(made)

    def end_checks(self, commit: str, conclusion: str, summary: str = "") -> None:
        """The one check of a commit ends."""
        output = {"title": "", "summary": summary, "text": None}
        self.check_runs[commit] = [
            {"name": "tests", "status": "completed", "conclusion": conclusion, "output": output}
        ]

    def merge(self, pull: int) -> None:
        """Somebody merges."""
        self.pulls[pull] |= {"state": "closed", "merged": True, "merged_at": "2026-01-01T00:00:00Z"}

    def posted(self, method: str = "POST") -> list[str]:
        """The paths of all that was posted."""
        return [one.split()[1] for one in self.requests if one.startswith(f"{method} ")]

    def _comment(self, text: str, author: str, association: str, **more: Any) -> Json:
        number = self.number()
        return {
            "id": number,
            "body": text,
            "user": {"login": author, "type": "User"},
            "author_association": association,
            "html_url": f"{self.url}/comment/{number}",
            "created_at": "2026-01-01T00:00:00Z",
            "updated_at": "2026-01-01T00:00:00Z",
            **more,
        }

    # -- the interface -----------------------------------------------------------------------------

    def read(self, path: str, query: dict[str, str]) -> Any:
        """What a GET gives; None: there is no such thing."""
        if path == "/user":
            return {"login": LOGIN}
        rest = path.removeprefix(f"/repos/{REPOSITORY}")
        if rest == "":
            return {"default_branch": "main"}
        if rest == "/issues":
            label = query.get("labels")
            return [one for one in self.issues.values() if {"name": label} in one["labels"]]
        if rest == "/pulls":
            branch = query["head"].partition(":")[2]
            return [one for one in self.pulls.values() if one["head"]["ref"] == branch]
        if found := re.fullmatch(r"/commits/(\w+)/(check-runs|status)", rest):
            key = {"check-runs": "check_runs", "status": "statuses"}[found[2]]
            return {key: getattr(self, key).get(found[1], [])}
        return self._read_numbered(rest)

    def _read_numbered(self, rest: str) -> Any:
        found = re.fullmatch(r"/(issues|pulls)/(\d+)(/\w+)?", rest)
        if found is None:
            return None
        number, below = int(found[2]), found[3]
        if below is None:
            return (self.issues if found[1] == "issues" else self.pulls).get(number)
        if found[1] == "issues":
            return self.comments.get(number, [])
        return (self.reviews if below == "/reviews" else self.lines).get(number, [])

    def write(self, method: str, path: str, body: Json) -> Any:
        """What a POST or PATCH makes."""
        rest = path.removeprefix(f"/repos/{REPOSITORY}")
        if found := re.fullmatch(r"/issues/(\d+)/comments", rest):
            return self.add_comment(int(found[1]), body["body"])
        if rest == "/pulls":
            return self._open_pull(body)
        if method == "PATCH" and (found := re.fullmatch(r"/pulls/(\d+)", rest)):
            self.pulls[int(found[1])] |= body
            return self.pulls[int(found[1])]
        return None

    def _open_pull(self, body: Json) -> Json:
        number = self.number()
        self.pulls[number] = {
            **body,
            "number": number,
            "state": "open",
            "merged": False,
            "head": {"ref": body["head"]},
            "html_url": f"{self.url}/{REPOSITORY}/pull/{number}",
        }
        return self.pulls[number]


class _Handler(BaseHTTPRequestHandler):
    """Answers one request."""

    fake: FakeGitHub
    protocol_version = "HTTP/1.1"

    def do_GET(self) -> None:
        parts = urlsplit(self.path)
        query = {name: values[0] for name, values in parse_qs(parts.query).items()}
        if self._is_refused("GET", parts.path):
            return
        found = self.fake.read(parts.path, query)
        if found is None:
            self._answer("GET", 404, {"message": "Not Found"})
            return
        page, size = int(query.get("page", "1")), self.fake.page_size
        headers: dict[str, str] = {}
        if isinstance(found, list):
            whole = cast("Sequence[Any]", found)
            if page * size < len(whole):
                base = f"{self.fake.url}{parts.path}?{parts.query.partition('&page=')[0]}"
                headers["link"] = f'<{base}&page={page + 1}>; rel="next"'
            found = list(whole[(page - 1) * size : page * size])
        etag = f'"{hashlib.sha256(json.dumps(found).encode()).hexdigest()[:16]}"'
        if self.headers.get("if-none-match") == etag:
            self._answer("GET", 304, None, headers)
            return
        self._answer("GET", 200, found, {**headers, "etag": etag})

    def do_POST(self) -> None:
        self._write("POST")

    def do_PATCH(self) -> None:
        self._write("PATCH")

    def _write(self, method: str) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        if self._is_refused(method, self.path):
            return
        if self.fake.deaf:
            self._hang()
            return
        made = self.fake.write(method, self.path, body)
        if self.fake.silent:
            self.fake.requests.append(f"{method} {self.path} kept")
            self._hang()
            return
        status = 201 if method == "POST" else 200
        self._answer(method, status if made else 404, made or {"message": "Not Found"})

    def _hang(self) -> None:
        """Wait until the other side is gone, and answer nothing."""
        self.fake.arrived.set()
        self.connection.recv(1)
        self.close_connection = True

    def _is_refused(self, method: str, path: str) -> bool:
        self.fake.tokens.add(self.headers.get("authorization", ""))
        if self.fake.limited:
            self._answer(method, 403, {"message": "API rate limit exceeded"}, self.fake.limited)
            return True
        refused = self.fake.refusals.get(f"{method} {path}")
        if refused:
            self._answer(method, refused[0], {"message": refused[1]})
        return refused is not None

    def _answer(
        self, method: str, status: int, value: Any, headers: dict[str, str] | None = None
    ) -> None:
        self.fake.requests.append(f"{method} {urlsplit(self.path).path} {status}")
        body = b"" if value is None else json.dumps(value).encode()
        self.send_response(status)
        for name, text in (headers or {}).items():
            self.send_header(name, text)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        with suppress(OSError):
            self.wfile.write(body)

    def log_message(self, format: str, *args: Any) -> None:
        del format, args


@contextmanager
def fake_github() -> Generator[FakeGitHub]:
    """A server on a free port of loopback."""
    fake = FakeGitHub()

    class Handler(_Handler):
        """Answers from this fake."""

    Handler.fake = fake
    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    fake.url = f"http://127.0.0.1:{server.server_address[1]}"
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
