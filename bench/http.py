"""The HTTP door: what a read costs beside a bare route, how soon words and facts reach a client."""

import json
import subprocess
import sys
from collections.abc import Callable, Generator
from contextlib import closing, contextmanager
from http.client import HTTPConnection
from itertools import cycle, islice
from time import perf_counter
from typing import IO, cast

from bench import sample_memory
from bench.comparison import Claim, Outcome, bounded, compare, faster, require, steady
from bench.run_folder import RunFolder

ASKED = 15  # messages whose way is timed
WARM = 3
SECONDS = 5
TICKS_S = 10
ROUND = 50  # requests that are timed together


def measures() -> dict[str, Callable[[RunFolder], Outcome]]:
    """Those of this module, by name."""
    return {
        "http-read": read,
        "http-ask": ask,
        "http-word": word,
        "http-streams": streams,
    }


def read(run: RunFolder) -> Outcome:
    """A list of threads as JSON, beside a bare FastAPI route that gives a constant."""
    title = "GET /api/threads"
    claim = Claim("http-read", title, "a bare FastAPI route", "1/s", "at least", goal=0.7)
    with (
        _ours(run) as (port, credential, _),
        _side("bare") as (other, _, _),
        closing(_Reader(port, credential)) as mine,
        closing(_Reader(other, "")) as theirs,
    ):
        return faster(claim, compare(steady(mine), steady(theirs), **run.pace()))


def ask(run: RunFolder) -> Outcome:
    """From a request that says something to the call of the model, in a long conversation."""
    messages = run.scale.retracted
    title = f"POST a message to the model's call, among {messages:,} messages"
    claim = Claim("http-ask", title, "", "ms", "at most", goal=30)
    with _ours(run, messages) as (port, credential, _):
        found = [_asked(port, credential, text) for text in _questions()][WARM:]
    return bounded(claim, [called for called, _ in found])


def word(run: RunFolder) -> Outcome:
    """From a model's first word to the client that watches."""
    claim = Claim("http-word", "the first word to the client", "", "ms", "at most", goal=20)
    with _ours(run) as (port, credential, _):
        found = [_asked(port, credential, text) for text in _questions()][WARM:]
    return bounded(claim, [heard for _, heard in found])


def streams(run: RunFolder) -> Outcome:
    """Facts to many clients at once: how late the latest in a hundred come."""
    clients = max(10, min(1_000, run.scale.retracted // 100))
    title = f"a fact to {clients:,} clients, {TICKS_S} a second, p99"
    claim = Claim("http-streams", title, "", "ms", "at most", goal=250)
    events = TICKS_S * SECONDS
    with (
        _ours(run) as (port, credential, orders),
        _programme("watch", str(port), credential, str(clients), str(events)) as watching,
    ):
        said = cast("IO[str]", watching.stdout)
        require(said.readline().strip() == "ready", "the watchers did not come in")
        orders.write(f"{events}\n")
        orders.flush()
        told = json.loads(said.readline())
    require(told["lost"] == 0, f"{told['lost']} events were lost")
    return bounded(claim, [told["p99_ms"]] * 2)


class _Reader:
    """A client that reads again and again on one connection."""

    def __init__(self, port: int, credential: str) -> None:
        self._connection = HTTPConnection("127.0.0.1", port)
        self._headers = {"authorization": f"Bearer {credential}"} if credential else {}

    def __call__(self) -> int:
        for _ in range(ROUND):
            self._connection.request("GET", "/api/threads", headers=self._headers)
            answer = self._connection.getresponse()
            require(b'"home"' in answer.read(), "another answer came back")
        return ROUND

    def close(self) -> None:
        self._connection.close()


def _questions() -> list[str]:
    return list(islice(cycle(sample_memory.questions()), WARM + ASKED))


def _asked(port: int, credential: str, text: str) -> tuple[float, float]:
    """Milliseconds from a message to the call of the model, and from its first word to here."""
    known = {"authorization": f"Bearer {credential}", "content-type": "application/json"}
    with (
        closing(HTTPConnection("127.0.0.1", port)) as watching,
        closing(HTTPConnection("127.0.0.1", port)) as saying,
    ):
        watching.request("GET", "/api/stream", headers=known)
        stream = watching.getresponse()
        stream.readline()
        saying.connect()
        body = json.dumps({"text": text}).encode()
        said = perf_counter()
        saying.request("POST", "/api/threads/home/messages", body, known)
        require(saying.getresponse().status == 201, "the message was not taken")
        called = heard = 0.0
        while True:
            line = stream.readline()
            if line.startswith(b'data: {"thread_id"') and not called:
                heard = perf_counter()
                called = float(json.loads(line.removeprefix(b"data: "))["text"])
            if b'"thread.answer_given"' in line:
                return 1_000 * (called - said), 1_000 * (heard - called)


@contextmanager
def _ours(run: RunFolder, messages: int = 0) -> Generator[tuple[int, str, IO[str]]]:
    folder = run.folder("http")
    folder.mkdir()
    with _side("ours", str(folder), str(messages)) as told:
        yield told


@contextmanager
def _side(*words: str) -> Generator[tuple[int, str, IO[str]]]:
    """A server that runs: its port, a credential, and where to send it orders."""
    with _programme(*words) as process:
        said = cast("IO[str]", process.stdout)
        port, _, credential = said.readline().strip().partition(" ")
        yield int(port), credential, cast("IO[str]", process.stdin)


@contextmanager
def _programme(*words: str) -> Generator[subprocess.Popen[str]]:
    process = subprocess.Popen(  # noqa: S603 - our own programme
        [sys.executable, "-m", "bench.http_server_process", *words],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    with process:
        yield process
        cast("IO[str]", process.stdin).close()
