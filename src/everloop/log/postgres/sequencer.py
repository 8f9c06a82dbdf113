"""The log in PostgreSQL: one server orders it, every node keeps a whole copy of it and reads that.

To append, a node takes the tenant's turn (a row lock), adopts what its copy lacks, decides and
folds as it would alone, makes its records durable at the server, and then commits its copy. So
decisions never race, and after an append a node's reads are at least that new.

The copy is a cache. If it is gone, damaged, or no prefix of what the server holds (it is of another
log, or the server was restored from a backup), it is dropped and filled again; never trusted.

If the connection is lost while a commit is under way, nobody knows what became of it. The scribe
then takes the next turn, which waits until the server is done with the lost one, and looks.
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

PAGE = 500  # records that are fetched at once


def open_postgres_log(
    url: str,
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    tenant: str = "local",
    world: World,
    limits: Limits | None = None,
) -> Log:
    """Open a tenant's log at a server, with this node's copy of it at `path`.

    Raises:
        Unavailable: the server cannot be reached, or does not let us in.
        Corrupt: the server's log contradicts itself, or was written by a newer build.
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
    follower = Follower(log, sequencer.catch_up, line(_impatient), place, world)
    log.owners = PostgresOwners(line(), f"{place.id} {tenant}")
    log.depot = depot = PostgresDepot(line(), place)
    log.scrubbers += [follower.scrubbed, lambda: scrub(line(), place), depot.scrub]
    log.scribe.gather = log.writer.gather
    log.closers += [follower.close, depot.close, main.drop]
    log.watches.append(follower.trouble)
    log.original = partial(_originals, line, place)
    try:
        follower.start()
    except BaseException:
        log.close()
        raise
    return log


class _Answer(NamedTuple):
    """What the server says of its log to one who has a copy up to some position."""

    head: int
    digest: bytes | None  # of the record at that position
    news: list[Record]  # the next ones, at most a page
    now_us: int


class PostgresSequencer:
    """Gives the turn to write, across all nodes. Used by whoever holds the writer's pen."""

    def __init__(self, line: Line, tenant: Tenant) -> None:
        self._line = line
        self._tenant = tenant
        self._trip: Trip | None = None
        self._doubted = 0

    def begin(self, copy: Copy) -> int:
        """Become the only writer, bring the copy up to date, and say what time it is."""
        while True:
            answer = self._take_in(copy, [Call("begin")], "turn")
            if copy.head == answer.head:
                return answer.now_us
            self.abort()  # the others shall not wait while we read for long
            self.catch_up(copy)

    def publish(self, records: Sequence[Record]) -> None:
        """Make these records durable. When it returns they are part of the log.

        Raises:
            Unavailable: the server failed; whether they are part of the log is not known.
        """
        if not records:
            self.abort()
            return
        assert self._trip is not None, "who publishes has the turn"
        try:
            self._write(self._trip, records)
        except psycopg.Error as problem:
            raise self._line.failed(problem) from problem

    def abort(self) -> None:
        """Give the turn back without writing."""
        self._line.roll_back()

    def catch_up(self, copy: Copy, *, at_once: bool = True) -> bool:
        """Adopt what the copy lacks, all at once or one page of it; say whether it is level then.

        Takes no turn, so others go on writing. Runs in the transaction that the copy has open.
        """
        while True:
            answer = self._take_in(copy, [], "look")
            if copy.head >= answer.head or not at_once:
                return copy.head >= answer.head

    def _take_in(self, copy: Copy, before: Sequence[Call], question: str) -> _Answer:
        """Ask the server, and adopt the news; if the copy is not to be trusted, begin it anew."""
        tip = copy.tip()
        answer = self._line.insist(partial(self._ask, tip[0] if tip else 0, before, question))
        if tip is None or not _agree(*tip, answer):
            copy.renew()
        elif answer.news or tip[0] == answer.head:
            self._adopt(copy, answer.news)
        else:
            raise Corrupt(
                f"the server's log has no position {tip[0] + 1}", hint="Restore its backup."
            )
        return answer

    def _adopt(self, copy: Copy, records: Sequence[Record]) -> None:
        try:
            copy.adopt(records)
        except Corrupt:
            doubtful = copy.head + 1
            if doubtful == self._doubted:
                raise  # on a new copy too: it is the server's records that do not fit
            self._doubted = doubtful
            copy.renew()

    def _ask(self, position: int, before: Sequence[Call], question: str, db: Connection) -> _Answer:
        if self._trip is None or self._trip.db is not db:
            self._trip = Trip(db, self._tenant.statements)
        at, upto = pack(position), pack(position + PAGE)
        *_, found, news = self._trip.make([*before, Call(question, [at]), Call("news", [at, upto])])
        if not found:
            raise Corrupt("the tenant is gone from the server", hint="Restore its backup.")
        head, digest, now_us = found[0]
        return _Answer(unpack(head), digest, [unpack_record(row) for row in news], unpack(now_us))

    def _write(self, trip: Trip, records: Sequence[Record]) -> None:
        erasures = [Call("erase", [pack(position)]) for position in _erased(records)]
        moving = Call("move", [pack(records[-1].position)])
        trip.make([*_inserts(records), *erasures, moving, Call("commit")])


def _open_copy(
    path: Path,
    projections: Sequence[Projection],
    world: World,
    limits: Limits,
    sequencer: PostgresSequencer,
) -> Log:
    """Open the node's copy; if it is damaged, begin it anew."""
    try:
        return open_log(path, projections, world=world, limits=limits, sequencer=sequencer)
    except Corrupt as problem:
        if not isinstance(problem.__cause__, apsw.Error):
            raise
    delete(path)
    return open_log(path, projections, world=world, limits=limits, sequencer=sequencer)


def _impatient(tries: int) -> bool:
    """For who has a better way to wait: try once."""
    return tries < 0


def _originals(line: Callable[[], Line], tenant: Tenant, after: int, upto: int) -> list[Record]:
    """The server's own records in (after, upto]."""
    fresh = line()

    def ask(db: Connection) -> list[Record]:
        (found,) = Trip(db, tenant.statements).make([Call("news", [pack(after), pack(upto)])])
        return [unpack_record(row) for row in found]

    try:
        return fresh.insist(ask)
    finally:
        fresh.drop()


def _agree(position: int, digest: bytes, answer: _Answer) -> bool:
    """Whether a copy that ends so is a prefix of the server's log."""
    return position <= answer.head and (position == 0 or digest == answer.digest)


def _inserts(records: Sequence[Record]) -> Iterator[Call]:
    """The fewest calls that insert these records."""
    start = 0
    for rows in INSERTS:
        while len(records) - start >= rows:
            chosen = records[start : start + rows]
            yield Call(f"insert {rows}", [v for record in chosen for v in pack_record(record)])
            start += rows


def _erased(records: Sequence[Record]) -> list[int]:
    """The positions whose payloads these records say were purged."""
    purges = (fact_of(record).event for record in records if record.kind == Purged.wire)
    return [at for purge in purges if isinstance(purge, Purged) for at in purge.positions]
