"""The scribe writes: it carries out a batch of works in one transaction, all durable at its end.

A work decides inside the transaction, on state that nobody else can change meanwhile, so decisions
never race. Positions, versions, times and digests are given here and nowhere else. Views are folded
in the same transaction.

An error from COMMIT does not say that nothing was written. After one, the file is opened anew and
each request id is looked up before anybody is answered.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, TypeVar

import apsw
import msgspec

from everloop.errors import Conflict, Corrupt, EverloopError, Invalid, Rejected, Unavailable
from everloop.log.branches import Branch
from everloop.log.event import encode
from everloop.log.facts import STREAM, Purged
from everloop.log.file import COLUMNS, LogFile, Reader, unavailable
from everloop.log.limits import Limits
from everloop.log.record import (
    GENESIS,
    SALT_BYTES,
    Fact,
    Record,
    chain,
    encode_positions,
    fact_of,
    link,
    microseconds,
    seal_of,
    sealed,
)
from everloop.log.sql import let_go, one
from everloop.log.states import States
from everloop.log.work import Desk, Draft, Receipt, Sequencer, Work
from everloop.ports import World

S = TypeVar("S")

INSERT = f"INSERT INTO log ({COLUMNS}) VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)"  # noqa: S608


class _Place(NamedTuple):
    """Where a record goes."""

    position: int
    stream: str
    branch: str
    version: int
    recorded_us: int


class Scribe:
    """The one writer of a file. Callers hold the writer's lock around every method."""

    def __init__(
        self,
        file: LogFile,
        states: States,
        world: World,
        *,
        limits: Limits,
        sequencer: Sequencer | None = None,
    ) -> None:
        self.file = file
        self.states = states
        self.head = 0
        self._clock = world.clock
        self._entropy = world.entropy
        self._sequencer = sequencer
        self._event_bytes_max = limits.event_bytes_max
        self._last_us = 0
        self._tails: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._written: list[Record] = []
        self._reader: Reader | None = None

    def open(self) -> None:
        """Open the file for writing; create or lift its schema; fold what the views lack."""
        db = self.file.connect(synchronous="NORMAL" if self._sequencer else "FULL")
        try:
            if not self.file.prepared(db):
                db.execute("BEGIN IMMEDIATE")
                self.file.prepare(db)
                db.execute("COMMIT")
            self._reader = Reader(db)
        except apsw.Error as problem:
            let_go(db)
            raise unavailable(problem, self.file.path) from problem
        except EverloopError:
            let_go(db)
            raise
        self._forget_memory()

    def close(self) -> None:
        """Close the file for writing."""
        if self._reader is not None:
            let_go(self._reader.db)
            self._reader = None

    def commit(self, batch: Sequence[Work]) -> None:
        """Carry out every work, each with its own receipt or error."""
        try:
            self._attempt(batch)
        except Unavailable as problem:
            self._settle(batch, problem)
        except Exception as problem:  # noqa: BLE001 - a disk's fault, or a view's own
            if isinstance(problem, apsw.Error) and not isinstance(problem, _VIEWS_FAULTS):
                self._settle(batch, unavailable(problem, self.file.path))
                return
            self._roll_back()
            if len(batch) == 1:
                batch[0].error = problem
                return
            for work in batch:  # find out whose work it was
                self.commit([work])
        except BaseException:
            self._roll_back()
            for work in batch:  # what has a receipt already may not be durable
                work.receipt, work.error = (
                    None,
                    Unavailable(
                        "the append was interrupted", hint="Repeat it with the same request id."
                    ),
                )
            raise

    def adopt(self, records: Sequence[Record]) -> None:
        """Take in records that another store ordered, in the caller's transaction.

        Raises:
            Corrupt: a record does not follow from what is here.
        """
        reader = self._open_reader()
        for record in records:
            digest = self._follows(reader, record)
            self._insert(reader.db, record, fact_of(record))
            self._tails[record.stream, record.branch] = (record.version, digest)
            if record.stream == STREAM:
                self.file.refresh(reader.db, self.head)
        if records:
            self.file.views.mark(reader.db, self.head)

    def tip(self) -> tuple[int, bytes]:
        """The newest position in the file and its digest, in the caller's transaction."""
        row = one(self._open_reader().db, _TIP)
        return (row[0], row[1]) if row else (0, GENESIS)

    def renew(self) -> None:
        """Begin the file anew, empty, in a new transaction: what it held is not to be trusted."""
        self.close()
        self.file.discard()
        reader = self._open_reader()
        reader.db.execute("BEGIN IMMEDIATE")
        self._catch_up(reader)

    def take_over(self, records: Sequence[Record]) -> None:
        """Make records of another log the next ones of this one, all or nothing, durably."""

        def act(_: Reader) -> None:
            if self._sequencer:
                self._sequencer.begin(self)
            self.adopt(records)
            if self._sequencer:
                self._sequencer.publish(records)

        self.transaction(act)

    def transaction(self, act: Callable[[Reader], S]) -> S:
        """Do something to the file, all or nothing."""
        reader = self._open_reader()
        try:
            reader.db.execute("BEGIN IMMEDIATE")
            self._catch_up(reader)
            result = act(reader)
            self._open_reader().db.execute("COMMIT")  # `act` may have renewed the file
        except apsw.Error as problem:
            self._roll_back()
            raise unavailable(problem, self.file.path) from problem
        except BaseException:
            self._roll_back()
            raise
        return result

    def _attempt(self, batch: Sequence[Work]) -> None:
        reader = self._open_reader()
        reader.db.execute("BEGIN IMMEDIATE")
        self._catch_up(reader)
        now_us = self._sequencer.begin(self) if self._sequencer else microseconds(self._clock.now())
        reader = self._open_reader()  # the sequencer may have renewed the file
        self._written = []
        before = self.head
        for work in batch:
            work.receipt = work.error = None
            try:
                self._carry_out(reader, work, max(now_us, self._last_us))
            except Rejected as refusal:
                if self.head != before + len(self._written):
                    raise  # it came too late: something of this work is already in the transaction
                work.error = refusal
        if self._written:
            self.file.views.mark(reader.db, self.head)
        if self._sequencer:
            self._sequencer.publish(self._written)
        reader.db.execute("COMMIT")

    def _catch_up(self, reader: Reader) -> None:
        """Take in what other processes wrote, and fold what views lack."""
        head = reader.head()
        if head < self.head:
            self._forget_memory()  # a backup was restored under us
        if head != self.head:
            self._tails.clear()
            self.head = head
            row = reader.rows("SELECT recorded_at FROM log WHERE position = ?", (head,))
            self._last_us = row[0][0] if row else 0
            self.file.refresh(reader.db, head)
            if self.file.views.position(reader.db) < head:
                self._fold_missing(reader, head)

    def _fold_missing(self, reader: Reader, head: int) -> None:
        behind = self.file.views.behind(reader.db, head)
        for record in reader.records(min(position for _, position in behind), head):
            fact = fact_of(record)
            for view, position in behind:
                if record.position > position:
                    view.fold(reader.db, fact)
        self.file.views.mark(reader.db, head)

    def _carry_out(self, reader: Reader, work: Work, now_us: int) -> None:
        if not work.fresh and (done := reader.requested(work.request_id)):
            work.repeat(done)
            return
        branches = self.file.branches
        branch = branches[work.branch] if work.branch else branches.home_of(work.stream)
        version, digest = self._tail(reader, work.stream, branch)
        if work.expected is not None and work.expected != version:
            raise Conflict(
                f"stream {work.stream!r} is at version {version}, not {work.expected}",
                hint="Read the stream again and decide again.",
            )
        desk = Desk(reader, self.states, branches, branch, now_us)
        drafts = work.decide(desk)
        texts = [self._checked(desk, draft) for draft in drafts]
        facts: list[Fact] = []
        for draft, text in zip(drafts, texts, strict=True):
            version += 1
            place = _Place(self.head + 1, work.stream, branch.name, version, now_us)
            record, fact = self._record(work, draft, text, place, digest)
            self._insert(reader.db, record, fact)
            digest = record.digest
            facts.append(fact)
            self._written.append(record)
        if facts:
            self._tails[work.stream, branch.name] = (version, digest)
            self.states.advance(work.stream, branch.name, facts)
            if work.stream == STREAM:
                self.file.refresh(reader.db, self.head)
        work.receipt = Receipt(work.request_id, work.stream, branch.name, version, tuple(facts))

    def _tail(self, reader: Reader, stream: str, branch: Branch) -> tuple[int, bytes]:
        known = self._tails.get((stream, branch.name))
        if known is not None:
            return known
        tail = reader.tail(stream, branch)
        return tail.version, tail.digest

    def _follows(self, reader: Reader, record: Record) -> bytes:
        """The digest of a record that comes next, once it is sure that it does."""
        version, previous = self._tail(reader, record.stream, self.file.branches[record.branch])
        if record.position != self.head + 1 or record.version != version + 1:
            raise Corrupt(
                f"record {record.position} does not follow position {self.head},"
                f" version {version} of {record.stream!r}"
            )
        if chain(previous, record) != record.digest:
            raise Corrupt(f"record {record.position} does not match its digest")
        return record.digest

    def _checked(self, desk: Desk, draft: Draft) -> str:
        """The draft as text, once it is sure that it may be recorded."""
        text = encode(draft.event)
        if len(text) > self._event_bytes_max and len(text.encode()) > self._event_bytes_max:
            raise Invalid(
                f"{draft.event.wire} is larger than {self._event_bytes_max:,} bytes",
                hint="Store large content as an attachment, or raise `event_bytes_max`.",
            )
        if draft.because:
            self._check_sources(desk, draft)
        return text

    def _check_sources(self, desk: Desk, draft: Draft) -> None:
        desk.reader.look(desk.sight)
        own_tree = {name for name, _ in desk.branch.lineage()}
        for source in draft.because:
            row = one(desk.reader.db, _SOURCE, (source,))
            if row is None:
                raise Invalid(f"{draft.event.wire} names position {source}, which does not exist")
            where, hidden = row
            foreign = self.file.branches[where].root != desk.branch.root
            if hidden or not (foreign or (where in own_tree and desk.sight.sees(where, source))):
                raise Conflict(
                    f"{draft.event.wire} comes from position {source}, which does not count here",
                    hint="Read again; what it came from was retracted or is on another branch.",
                )

    def _record(
        self, work: Work, draft: Draft, text: str, place: "_Place", previous: bytes
    ) -> tuple[Record, Fact]:
        position, stream, branch, version, now_us = place
        happened, because = draft.event, draft.because
        salt = self._entropy.draw(SALT_BYTES)
        record = Record(
            position, stream, branch, version, happened.wire, happened.schema, text, work.actor,
            encode_positions(because), work.request_id, now_us, salt, None, GENESIS,
        )  # fmt: skip
        record = sealed(record, link(previous, record, seal_of(salt, text)))
        fact = Fact(
            happened,
            position,
            stream,
            branch,
            version,
            work.actor,
            because,
            work.request_id,
            now_us,
        )
        return record, fact

    def _insert(self, db: apsw.Connection, record: Record, fact: Fact) -> None:
        db.execute(INSERT, msgspec.structs.astuple(record))
        self.head = record.position
        self._last_us = record.recorded_us
        self.file.views.fold(db, fact)
        if isinstance(fact.event, Purged):
            self._erase(db, fact.event.positions)

    def _erase(self, db: apsw.Connection, erased: Sequence[int]) -> None:
        """Take the payloads out of the log, the views, and every folded state."""
        for position in erased:
            row = db.execute(
                "SELECT salt, data, stream FROM log WHERE position = ? AND data IS NOT NULL",
                (position,),
            ).fetchone()
            if row is not None:
                db.execute(
                    "UPDATE log SET data = NULL, salt = NULL, seal = ? WHERE position = ?",
                    (seal_of(row[0], row[1]), position),
                )
                db.execute("DELETE FROM snapshots WHERE stream = ?", (row[2],))
        self.file.views.forget(db, erased)
        self.states.clear()

    def _settle(self, batch: Sequence[Work], problem: EverloopError) -> None:
        """After a failure that may have come too late: look each request up, then answer."""
        self._roll_back()
        self.close()
        if self._sequencer and isinstance(problem, Corrupt):
            self.file.discard()  # a damaged copy is made anew
        try:
            found = self._look_up(batch)
        except (EverloopError, apsw.Error):
            found = {}
        for work in batch:
            if work.request_id in found:
                work.repeat(found[work.request_id])
            elif work.error is None:
                work.receipt, work.error = None, problem

    def _look_up(self, batch: Sequence[Work]) -> dict[str, list[Record]]:
        if self._sequencer:
            self.transaction(lambda _: self._sequencer and self._sequencer.begin(self))
            self._sequencer.abort()
        else:  # what a failed sync left behind is made durable, or we do not vouch for it
            result = one(self._open_reader().db, "PRAGMA wal_checkpoint(FULL)")
            if result and result[0]:
                raise Unavailable("the log could not be brought to the disk")
        reader = self._open_reader()
        found = {work.request_id: reader.requested(work.request_id) for work in batch}
        return {request: records for request, records in found.items() if records}

    def _open_reader(self) -> Reader:
        if self._reader is None:
            self.open()
        assert self._reader is not None, "open() sets it or raises"
        return self._reader

    def _roll_back(self, *, keep_memory: bool = False) -> None:
        if self._sequencer:
            self._sequencer.abort()
        if self._reader is not None and not self._reader.leave():
            self._reader = None
        if not keep_memory:
            self._forget_memory()

    def _forget_memory(self) -> None:
        self.head = -1
        self._tails.clear()
        self.states.clear()
        self.file.forget_memory()


_SOURCE = """
SELECT branch, EXISTS (SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
                       WHERE h.position = log.position)
FROM log WHERE position = ?
"""

_TIP = "SELECT position, digest FROM log ORDER BY position DESC LIMIT 1"
_VIEWS_FAULTS = (apsw.ConstraintError, apsw.MismatchError, apsw.SQLError)  # never a disk's
