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
from everloop.log.postgres.blobs import PostgresBlobStore
from everloop.log.postgres.connection import Connection, ReconnectingConnection
from everloop.log.postgres.follower import ReplicaFollower
from everloop.log.postgres.ownership import PostgresClaimStore
from everloop.log.postgres.pipeline import (
    Pipeline,
    PreparedCall,
    pack_int,
    pack_record,
    unpack_int,
    unpack_record,
)
from everloop.log.postgres.pubsub import PostgresNodeMessages
from everloop.log.postgres.schema import INSERT_ROW_COUNTS, TenantStatements, find_tenant
from everloop.log.postgres.scrub import scrub_log_table
from everloop.log.read.projection import Projection
from everloop.log.sqlite.file import delete_log_file
from everloop.log.write.append import Replica
from everloop.ports import BusyHandler, SystemPorts

PAGE = 500  # records fetched at once


def open_postgres_log(
    url: str,
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    tenant: str = "local",
    ports: SystemPorts,
    limits: Limits | None = None,
) -> Log:
    """Open a tenant's log at a server, with this node's copy at `path`.

    Raises:
        Unavailable: the server cannot be reached, or refuses the login.
        Corrupt: the server's log is inconsistent, or was written by a newer build.
    """
    bounds = limits or Limits()

    def line(patience: BusyHandler = ports.patience) -> ReconnectingConnection:
        return ReconnectingConnection(url, patience, lock_wait_s=bounds.lock_wait_s)

    main = line()
    try:
        place = main.run_with_retry(lambda db: find_tenant(db, tenant))
        sequencer = PostgresSequencer(main, place)
        log = _open_copy(path, projections, ports, bounds, sequencer)
    except BaseException:
        main.disconnect()
        raise
    follower = ReplicaFollower(log, sequencer.catch_up, line(_no_retry), place, ports)
    log.claims = PostgresClaimStore(line(), f"{place.id} {tenant}")
    log.blobs = depot = PostgresBlobStore(line(), place)
    log.messages = messages = PostgresNodeMessages(line(_no_retry), place.messages)
    follower.deliver = messages.deliver
    log.after_scrub += [follower.mark_scrubbed, lambda: scrub_log_table(line(), place), depot.scrub]
    log.transactions.add_late_arrivals = log.commit_queue.add_late_arrivals
    log.on_close += [follower.close, messages.close, depot.close, main.disconnect]
    log.health_checks.append(follower.problem)
    log.primary = partial(_server_records, line, place)
    try:
        follower.start()
        messages.start()
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

    def __init__(self, line: ReconnectingConnection, tenant: TenantStatements) -> None:
        self._line = line
        self._tenant = tenant
        self._trip: Pipeline | None = None
        self._rejected_position = 0

    def begin(self, copy: Replica) -> int:
        """Become the only writer, bring the copy up to date, and return the time in µs."""
        while True:
            answer = self._sync(copy, [PreparedCall("begin")], "turn")
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
            raise self._line.translate_error(problem) from problem

    def abort(self) -> None:
        """Release the write lock without writing."""
        self._line.roll_back()

    def catch_up(self, copy: Replica, *, at_once: bool = True) -> bool:
        """Copy missing records, all or one page; returns whether the copy is up to date.

        Takes no write lock, so others can write. Runs in the open transaction of the copy.
        """
        while True:
            answer = self._sync(copy, [], "look")
            if copy.head >= answer.head or not at_once:
                return copy.head >= answer.head

    def _sync(self, copy: Replica, before: Sequence[PreparedCall], question: str) -> _Reply:
        """Query the server and copy new records; replace a copy that cannot be trusted."""
        tip = copy.head_and_digest()
        answer = self._line.run_with_retry(
            partial(self._query, tip[0] if tip else 0, before, question)
        )
        if tip is None or not _is_prefix(*tip, answer):
            copy.recreate()
        elif answer.news or tip[0] == answer.head:
            self._adopt(copy, answer.news)
        else:
            raise Corrupt(
                f"position {tip[0] + 1} is missing in the server's log",
                hint="Restore the database from its backup.",
            )
        return answer

    def _adopt(self, copy: Replica, records: Sequence[Record]) -> None:
        try:
            copy.apply_records(records)
        except Corrupt:
            position = copy.head + 1
            if position == self._rejected_position:
                raise  # the new copy fails too, so the server's records are damaged
            self._rejected_position = position
            copy.recreate()

    def _query(
        self, position: int, before: Sequence[PreparedCall], question: str, db: Connection
    ) -> _Reply:
        if self._trip is None or self._trip.db is not db:
            self._trip = Pipeline(db, self._tenant.statements)
        at, upto = pack_int(position), pack_int(position + PAGE)
        *_, found, news = self._trip.execute(
            [*before, PreparedCall(question, [at]), PreparedCall("news", [at, upto])]
        )
        if not found:
            raise Corrupt(
                "the tenant is missing at the server", hint="Restore the database from its backup."
            )
        head, digest, now_us = found[0]
        return _Reply(
            unpack_int(head), digest, [unpack_record(row) for row in news], unpack_int(now_us)
        )

    def _write(self, trip: Pipeline, records: Sequence[Record]) -> None:
        erasures = [
            PreparedCall("erase", [pack_int(position)]) for position in _purged_positions(records)
        ]
        moving = PreparedCall("move", [pack_int(records[-1].position)])
        trip.execute([*_inserts(records), *erasures, moving, PreparedCall("commit")])


def _open_copy(
    path: Path,
    projections: Sequence[Projection],
    ports: SystemPorts,
    limits: Limits,
    sequencer: PostgresSequencer,
) -> Log:
    """Open the node's copy; if it is damaged, start with an empty one."""
    try:
        return open_log(path, projections, ports=ports, limits=limits, sequencer=sequencer)
    except Corrupt as problem:
        if not isinstance(problem.__cause__, apsw.Error):
            raise
    delete_log_file(path)
    return open_log(path, projections, ports=ports, limits=limits, sequencer=sequencer)


def _no_retry(tries: int) -> bool:
    """Never retry: the follower has its own backoff."""
    return tries < 0


def _server_records(
    line: Callable[[], ReconnectingConnection], tenant: TenantStatements, after: int, upto: int
) -> list[Record]:
    """The server's records in (after, upto], over a new connection."""
    fresh = line()

    def ask(db: Connection) -> list[Record]:
        (found,) = Pipeline(db, tenant.statements).execute(
            [PreparedCall("news", [pack_int(after), pack_int(upto)])]
        )
        return [unpack_record(row) for row in found]

    try:
        return fresh.run_with_retry(ask)
    finally:
        fresh.disconnect()


def _is_prefix(position: int, digest: bytes, answer: _Reply) -> bool:
    """Whether a copy that ends with this digest is a prefix of the server's log."""
    return position <= answer.head and (position == 0 or digest == answer.digest)


def _inserts(records: Sequence[Record]) -> Iterator[PreparedCall]:
    """Insert calls for these records, as few as possible."""
    start = 0
    for rows in INSERT_ROW_COUNTS:
        while len(records) - start >= rows:
            chosen = records[start : start + rows]
            yield PreparedCall(
                f"insert {rows}", [v for record in chosen for v in pack_record(record)]
            )
            start += rows


def _purged_positions(records: Sequence[Record]) -> list[int]:
    """The positions that purge facts among these records erase."""
    purges = (fact_of(record).event for record in records if record.kind == Purged.wire)
    return [at for purge in purges if isinstance(purge, Purged) for at in purge.positions]
