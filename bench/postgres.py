"""PostgreSQL: eight callers on one node, and eight nodes, beside bare inserts at the same server.

The bare side is psycopg in autocommit: one prepared insert of the same bytes into an equal table,
with the same constraints and indexes, and a commit each. It takes no turns, folds nothing, and may
commit in any order, so with eight nodes the difference is the price of one order for all.
"""

import multiprocessing
import threading
from collections.abc import Callable, Generator, Iterator
from contextlib import ExitStack, contextmanager
from itertools import count, cycle, islice
from multiprocessing.connection import Connection as Wire
from pathlib import Path
from time import perf_counter
from typing import Any

import msgspec
import psycopg

from bench.comparison import Claim, Outcome, Rate, compare, faster
from bench.material import ACTOR, messages
from bench.run_folder import QUICK, Pace, RunFolder, run_folder
from everloop.adapters.system import system_ports
from everloop.log import Log
from everloop.log.postgres.sequencer import open_postgres_log
from everloop.testing.postgres import postgres_server

CLIENTS = 8
ROWS = 500
BARE = "bare psycopg inserts"

_TABLE = b"CREATE TABLE IF NOT EXISTS bare (LIKE everloop.log_1 INCLUDING ALL)"
_INSERT = f"INSERT INTO bare VALUES ({', '.join(['%s'] * 15)})".encode()  # noqa: S608

Act = Callable[[], object]


def clients(run: RunFolder) -> Outcome:
    """Eight threads on one node, beside eight threads with a connection each."""
    title = f"PostgreSQL, {CLIENTS} callers on one node"
    claim = Claim("postgres", title, BARE, "appends/s", "at least", goal=0.6)
    with _server(run) as url, ExitStack() as open_:
        log = _node(url, run.path("node"))
        open_.callback(log.close)
        ours = _together([_appends(log, number) for number in range(CLIENTS)])
        bare = _together([_inserts(url, number) for number in range(CLIENTS)])
        return faster(claim, compare(ours, bare, **_pace(run)))


def nodes(run: RunFolder) -> Outcome:
    """Eight processes, each a node, beside eight processes with a connection each."""
    title = f"PostgreSQL, {CLIENTS} nodes with one caller each"
    note = "every append is in one order for all nodes, so they take turns"
    claim = Claim("postgres-nodes", title, BARE, "appends/s", "at least", goal=0.05, note=note)
    with (
        _server(run) as url,
        _crew(_node_works, url, run) as ours,
        _crew(_bare_works, url, run) as bare,
    ):
        return faster(claim, compare(ours, bare, **_pace(run)))


def measure() -> dict[str, Any]:
    """Both measures, as plain figures."""
    with run_folder(Path(__file__).parent / "results", QUICK) as run:
        outcomes = [clients(run), nodes(run)]
    return {outcome.claim.name: msgspec.to_builtins(outcome) for outcome in outcomes}


def _pace(run: RunFolder) -> Pace:
    scale = run.scale
    return Pace(rounds=max(2, scale.rounds // 2), slice_s=5 * scale.slice_s)


@contextmanager
def _server(run: RunFolder) -> Generator[str]:
    """A server with the log's tables and the bare one. Run by root, it lies in /tmp."""
    folder = run.folder("postgres")
    folder.mkdir()
    with postgres_server(folder) as server:
        log = _node(server.url, run.path("first"))
        log.append("thread:first", list(islice(messages(), ROWS)), actor=ACTOR)
        log.close()
        with psycopg.connect(server.url, autocommit=True) as db:
            db.execute(_TABLE)
        yield server.url


def _node(url: str, path: Path) -> Log:
    return open_postgres_log(url, path, ports=system_ports(10))


def _appends(log: Log, number: int) -> Act:
    said = messages()
    return lambda: log.append(f"thread:{number}", [next(said)], actor=ACTOR)


def _inserts(url: str, number: int) -> Act:
    db = psycopg.connect(url, autocommit=True)
    rows = _rows(db, number)
    return lambda: db.execute(_INSERT, next(rows))


def _rows(db: psycopg.Connection, number: int) -> Iterator[list[Any]]:
    """Rows without end: real ones, with positions, a stream and versions of their own."""
    real = db.execute("SELECT * FROM everloop.log_1 WHERE stream = 'thread:first'").fetchall()
    for version, row in zip(count(1), cycle(real)):
        position = number * 1_000_000_000 + version
        yield [row[0], position, f"thread:{number}", row[3], version, *row[5:]]


def _together(acts: list[Act]) -> Rate:
    """The rate of several threads, each of which repeats its act."""

    def rate(seconds: float) -> float:
        done = [0] * len(acts)
        start = perf_counter()

        def work(at: int) -> None:
            done[at] = _repeat(acts[at], seconds)

        threads = [threading.Thread(target=work, args=(at,)) for at in range(len(acts))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        return sum(done) / (perf_counter() - start)

    return rate


def _repeat(act: Act, seconds: float) -> int:
    done, until = 0, perf_counter() + seconds
    while perf_counter() < until:
        act()
        done += 1
    return done


# -- in processes of their own ---------------------------------------------------------------------


@contextmanager
def _crew(
    work: Callable[[Wire, str, Path, int], None], url: str, run: RunFolder
) -> Generator[Rate]:
    """The rate of several processes, each of which repeats its act when it is told to."""
    context = multiprocessing.get_context("spawn")
    wires: list[Any] = []
    for number in range(CLIENTS):
        ours, theirs = context.Pipe()
        context.Process(target=work, args=(theirs, url, run.path("node"), number)).start()
        wires.append(ours)

    def tell(seconds: float) -> list[int]:
        for wire in wires:
            wire.send(seconds)
        return [wire.recv() for wire in wires]

    def rate(seconds: float) -> float:
        start = perf_counter()
        return sum(tell(seconds)) / (perf_counter() - start)

    try:
        tell(0)  # until all are there
        yield rate
    finally:
        for wire in wires:
            wire.send(None)


def _obey(wire: Wire, act: Act) -> None:
    while (seconds := wire.recv()) is not None:
        wire.send(_repeat(act, seconds))


def _node_works(wire: Wire, url: str, path: Path, number: int) -> None:
    log = _node(url, path)
    _obey(wire, _appends(log, number))
    log.close()


def _bare_works(wire: Wire, url: str, path: Path, number: int) -> None:
    del path  # the bare side keeps no copy
    _obey(wire, _inserts(url, number))


if __name__ == "__main__":
    print(msgspec.json.format(msgspec.json.encode(measure())).decode())
