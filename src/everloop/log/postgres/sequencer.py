"""The PostgreSQL store: one server orders the log, every node reads its own full copy of it.

To append, a node takes the tenant's write lock (a row lock), copies the records it is missing,
decides and folds locally, makes its records durable at the server, and then commits its copy. So
decisions never race, and after an append a node's reads are at least that new.

The copy is a cache. If it is missing, damaged, or not a prefix of the server's log (it belongs to
another log, or the server was restored from a backup), it is dropped and filled again.

If the connection is lost during a commit, the outcome is unknown. The writer then takes the write
lock again, which waits until the server is done with the lost transaction, and looks.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from pathlib import Path
from typing import NamedTuple

import apsw
import psycopg

from everloop.errors import Corrupt
from everloop.log.log import Log
from everloop.log.model.facts import Purged
from everloop.log.model.limits import Limits
from everloop.log.model.record import Record, fact_of
from everloop.log.opening import open_log
from everloop.log.postgres.blobs import PostgresDepot
from everloop.log.postgres.connection import Connection, Line
from everloop.log.postgres.follower import Follower
from everloop.log.postgres.ownership import PostgresOwners
from everloop.log.postgres.pipeline import Call, Trip, pack, pack_record, unpack, unpack_record
from everloop.log.postgres.schema import INSERTS, Tenant, find_tenant
from everloop.log.postgres.scrub import scrub
from everloop.log.read.projection import Projection
from everloop.log.sqlite.file import delete
from everloop.log.write.append import Copy
from everloop.ports import Patience, World

PAGE = 500  # records fetched at once


def open_postgres_log(
    url: str,
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    tenant: str = "local",
    world: World,
    limits: Limits | None = None,
) -> Log:
    """Open a tenant's log at a server, with this node's copy at `path`.

    Raises:
        Unavailable: the server cannot be reached, or refuses the login.
        Corrupt: the server's log is inconsistent, or was written by a newer build.
    """
    bounds = limits or Limits()

    def line(patience: Patience = world.patience) -> Line:
        return Line(url, patience, lock_wait_s=bounds.lock_wait_s)

    main = line()
    try:
        place = main.insist(lambda db: find_tenant(db, tenant))
        sequencer = PostgresSequencer(main, place)
        log = _open_copy(path, projections, world, bounds, sequencer)
    except BaseException:
        main.drop()
        raise
    follower = Follower(log, sequencer.catch_up, line(_no_retry), place, world)
    log.owners = PostgresOwners(line(), f"{place.id} {tenant}")
    log.depot = depot = PostgresDepot(line(), place)
    log.scrubbers += [follower.scrubbed, lambda: scrub(line(), place), depot.scrub]
    log.scribe.gather = log.writer.gather
    log.closers += [follower.close, depot.close, main.drop]
    log.watches.append(follower.trouble)
    log.original = partial(_server_records, line, place)
    try:
        follower.start()
    except BaseException:
        log.close()
        raise
    return log


class _Reply(NamedTuple):
    """The server's reply to a node whose copy ends at some position."""

    head: int
    digest: bytes | None  # the server's digest at that position
    news: list[Record]  # the records after it, at most a page
    now_us: int


class PostgresSequencer:
    """Takes the tenant's write lock across all nodes. Callers hold the local write lock."""

    def __init__(self, line: Line, tenant: Tenant) -> None:
        self._line = line
        self._tenant = tenant
        self._trip: Trip | None = None
        self._rejected_position = 0

    def begin(self, copy: Copy) -> int:
        """Become the only writer, bring the copy up to date, and return the time in µs."""
        while True:
            answer = self._sync(copy, [Call("begin")], "turn")
            if copy.head == answer.head:
                return answer.now_us
            self.abort()  # other nodes must not wait while we read much
            self.catch_up(copy)

    def publish(self, records: Sequence[Record]) -> None:
        """Make records durable. When it returns, they are part of the log.

        Raises:
            Unavailable: the server failed; whether they are part of the log is not known.
        """
        if not records:
            self.abort()
            return
        assert self._trip is not None, "publish() follows begin()"
        try:
            self._write(self._trip, records)
        except psycopg.Error as problem:
            raise self._line.failed(problem) from problem

    def abort(self) -> None:
        """Release the write lock without writing."""
        self._line.roll_back()

    def catch_up(self, copy: Copy, *, at_once: bool = True) -> bool:
        """Copy missing records, all or one page; returns whether the copy is up to date.

        Takes no write lock, so others can write. Runs in the open transaction of the copy.
        """
        while True:
            answer = self._sync(copy, [], "look")
            if copy.head >= answer.head or not at_once:
                return copy.head >= answer.head

    def _sync(self, copy: Copy, before: Sequence[Call], question: str) -> _Reply:
        """Query the server and copy new records; replace a copy that cannot be trusted."""
        tip = copy.tip()
        answer = self._line.insist(partial(self._query, tip[0] if tip else 0, before, question))
        if tip is None or not _is_prefix(*tip, answer):
            copy.renew()
        elif answer.news or tip[0] == answer.head:
            self._adopt(copy, answer.news)
        else:
            raise Corrupt(
                f"position {tip[0] + 1} is missing in the server's log",
                hint="Restore the database from its backup.",
            )
        return answer

    def _adopt(self, copy: Copy, records: Sequence[Record]) -> None:
        try:
            copy.adopt(records)
        except Corrupt:
            position = copy.head + 1
            if position == self._rejected_position:
                raise  # the new copy fails too, so the server's records are damaged
            self._rejected_position = position
            copy.renew()

    def _query(
        self, position: int, before: Sequence[Call], question: str, db: Connection
    ) -> _Reply:
        if self._trip is None or self._trip.db is not db:
            self._trip = Trip(db, self._tenant.statements)
        at, upto = pack(position), pack(position + PAGE)
        *_, found, news = self._trip.make([*before, Call(question, [at]), Call("news", [at, upto])])
        if not found:
            raise Corrupt(
                "the tenant is missing at the server", hint="Restore the database from its backup."
            )
        head, digest, now_us = found[0]
        return _Reply(unpack(head), digest, [unpack_record(row) for row in news], unpack(now_us))

    def _write(self, trip: Trip, records: Sequence[Record]) -> None:
        erasures = [Call("erase", [pack(position)]) for position in _purged_positions(records)]
        moving = Call("move", [pack(records[-1].position)])
        trip.make([*_inserts(records), *erasures, moving, Call("commit")])


def _open_copy(
    path: Path,
    projections: Sequence[Projection],
    world: World,
    limits: Limits,
    sequencer: PostgresSequencer,
) -> Log:
    """Open the node's copy; if it is damaged, start with an empty one."""
    try:
        return open_log(path, projections, world=world, limits=limits, sequencer=sequencer)
    except Corrupt as problem:
        if not isinstance(problem.__cause__, apsw.Error):
            raise
    delete(path)
    return open_log(path, projections, world=world, limits=limits, sequencer=sequencer)


def _no_retry(tries: int) -> bool:
    """Never retry: the follower has its own backoff."""
    return tries < 0


def _server_records(
    line: Callable[[], Line], tenant: Tenant, after: int, upto: int
) -> list[Record]:
    """The server's records in (after, upto], over a new connection."""
    fresh = line()

    def ask(db: Connection) -> list[Record]:
        (found,) = Trip(db, tenant.statements).make([Call("news", [pack(after), pack(upto)])])
        return [unpack_record(row) for row in found]

    try:
        return fresh.insist(ask)
    finally:
        fresh.drop()


def _is_prefix(position: int, digest: bytes, answer: _Reply) -> bool:
    """Whether a copy that ends with this digest is a prefix of the server's log."""
    return position <= answer.head and (position == 0 or digest == answer.digest)


def _inserts(records: Sequence[Record]) -> Iterator[Call]:
    """Insert calls for these records, as few as possible."""
    start = 0
    for rows in INSERTS:
        while len(records) - start >= rows:
            chosen = records[start : start + rows]
            yield Call(f"insert {rows}", [v for record in chosen for v in pack_record(record)])
            start += rows


def _purged_positions(records: Sequence[Record]) -> list[int]:
    """The positions that purge facts among these records erase."""
    purges = (fact_of(record).event for record in records if record.kind == Purged.wire)
    return [at for purge in purges if isinstance(purge, Purged) for at in purge.positions]
