"""Nodes of one tenant's log at a PostgreSQL server, in this process and in others.

The functions at the end run in separate processes, which a test may kill.
"""

import multiprocessing
import time
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager, suppress
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import msgspec
import psycopg
from tests.log.samples import Said, Sayings, Tally

from everloop.adapters.system import system_ports
from everloop.errors import EverloopError, Unavailable
from everloop.log import Limits, Log, open_log
from everloop.log.integrity.verify import verify_log
from everloop.log.postgres.sequencer import open_postgres_log

TIMEOUT_S = 60.0


class Place(msgspec.Struct, frozen=True):
    """Where a tenant's log is: everything a process needs to open a node of it."""

    url: str
    tenant: str
    folder: str

    def open(self, name: str, limits: Limits | None = None, *, vfs: str | None = None) -> Log:
        """A node, with its copy in a file of that name, on a disk of that name."""
        bounds = limits or Limits()
        return open_postgres_log(
            self.url,
            self.copy(name),
            [Sayings(), Tally()],
            tenant=self.tenant,
            ports=system_ports(bounds.lock_wait_s)._replace(vfs=vfs),
            limits=bounds,
        )

    def copy(self, name: str) -> Path:
        """The file of a node's copy."""
        return Path(self.folder) / f"{name}.db"


class Nodes:
    """The nodes of one tenant in this process; all are closed in the end."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self._open: list[Log] = []

    def open(self, name: str, limits: Limits | None = None, *, vfs: str | None = None) -> Log:
        """One more node."""
        log = self.place.open(name, limits, vfs=vfs)
        self._open.append(log)
        return log

    def close(self) -> None:
        """Close them all."""
        for log in self._open:
            log.close()

    def ask_server(self, question: str) -> list[tuple[Any, ...]]:
        """Rows straight from the server."""
        with psycopg.connect(self.place.url, autocommit=True) as db:
            return db.execute(question.encode()).fetchall()

    @property
    def table(self) -> str:
        """The tenant's table at the server."""
        with psycopg.connect(self.place.url) as db:
            row = db.execute(
                "SELECT id FROM everloop.tenants WHERE name = %s", (self.place.tenant,)
            ).fetchone()
        assert row is not None
        return f"everloop.log_{row[0]}"


def said(log: Log, stream: str = "s") -> list[str]:
    """The visible texts of a stream."""
    return [fact.event.text for fact in log.read(stream) if isinstance(fact.event, Said)]


def say(log: Log, *texts: str, stream: str = "s", request_id: str | None = None) -> int:
    """Append texts; returns the last position."""
    words = [Said(text) for text in texts]
    return log.append(stream, words, actor="user", request_id=request_id).position


def wait_for_head(log: Log, head: int) -> None:
    """Wait until a node has reached a position."""
    if head:
        next(log.follow(after=head - 1))  # from a fixed place: it may get there while we look


def eventually(condition: Callable[[], bool]) -> None:
    """Wait until a condition is true; an error counts as false."""
    deadline = time.monotonic() + TIMEOUT_S
    while True:
        with suppress(EverloopError):
            if condition():
                return
        assert time.monotonic() < deadline, "it never came to hold"
        time.sleep(0.02)


def full_content(log: Log) -> tuple[Any, ...]:
    """The full content of a node: every record, and every row of every view."""
    with log.file.reading() as reader:
        views = [list(view.dump(reader.db)) for view in log.file.views.all]
        return list(reader.records()), views


def assert_sound(log: Log) -> None:
    """Positions without gaps, versions in order, every digest right."""
    records = list(log.records())
    assert [record.position for record in records] == list(range(1, len(records) + 1))
    found = verify_log(log)
    assert found.ok, found.damage


@contextmanager
def processes(
    target: Callable[..., None], calls: Iterable[tuple[Any, ...]]
) -> Generator[list[BaseProcess]]:
    """Run each call in its own process; those that remain are killed."""
    context = multiprocessing.get_context("spawn")
    started: list[BaseProcess] = [context.Process(target=target, args=call) for call in calls]
    for process in started:
        process.start()
    try:
        yield started
    finally:
        for process in started:
            process.kill()
            process.join(TIMEOUT_S)


def finish(started: list[BaseProcess]) -> None:
    """Wait until all of them ended well."""
    for process in started:
        process.join()
        assert process.exitcode == 0, process


# -- in separate processes -------------------------------------------------------------------------


def write_in_order(place: Place, name: str, streams: int, count: int) -> None:
    """Append with own request ids, to several streams in turn."""
    log = place.open(name)
    for number in range(count):
        say(log, f"{name} {number}", stream=f"s{number % streams}", request_id=f"{name}-{number}")
    log.close()


def write_until_killed(place: Place, name: str, acknowledged: Path) -> None:
    """Append for ever; write down each id only after its append returned."""
    log = place.open(name)
    number = 0
    with acknowledged.open("a") as book:
        while True:
            request = f"{name}-{number}"
            try:
                say(log, request, stream=f"stream {name}", request_id=request)
            except Unavailable:
                continue  # the same id again
            book.write(f"{request}\n")
            book.flush()
            number += 1


def own_until_killed(place: Place, name: str, what: str) -> None:
    """Claim something and hold it; append a note when it is claimed and when it is lost."""
    _own(place.open(name), name, what)


def own_file_until_killed(path: Path, name: str, what: str) -> None:
    """The same, with a log in a file."""
    _own(open_log(path, ports=system_ports(10)), name, what)


def _own(log: Log, name: str, what: str) -> None:
    claim = log.claim(what, wait_s=TIMEOUT_S)
    assert claim is not None
    say(log, name, stream="owned by")
    eventually(lambda: not claim.held)
    say(log, name, stream="lost by")
