"""Write transaction: appends a batch of events and folds all views, durable when it commits.

Decisions run inside the transaction, on state that nobody else can change meanwhile, so they never
race. Positions, versions, times and digests are assigned only here.

An error from COMMIT does not mean that nothing was written. After one, the file is opened again and
every request id is looked up before any caller gets an answer.
"""

from collections.abc import Callable, Sequence
from typing import TypeVar

import apsw
import msgspec
from msgspec.structs import astuple

from everloop.errors import RESTORE_HINT, Conflict, Corrupt, EverloopError, Rejected, Unavailable
from everloop.log.model.branches import Branch
from everloop.log.model.facts import STREAM, Purged
from everloop.log.model.limits import Limits
from everloop.log.model.record import (
    GENESIS,
    Fact,
    Record,
    expected_digest,
    fact_of,
)
from everloop.log.read.folded_state import StateCache
from everloop.log.read.reader import Reader
from everloop.log.sql_rows import Row, close_quietly, query_int, query_one
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.log.sqlite.file import LogFile
from everloop.log.write.append import (
    AppendRequest,
    Receipt,
    Sequencer,
    TransactionContext,
    WriteBuffer,
)
from everloop.log.write.erase import erase
from everloop.log.write.record_encoder import RecordEncoder
from everloop.ports import SystemPorts

S = TypeVar("S")
Head = tuple[int, bytes]  # the newest version of a stream and its digest

_encode = msgspec.json.Encoder().encode


class StreamHeads(dict[tuple[str, str], Head]):
    """Stream heads: the version and digest that the next record of each stream continues.

    Cached by stream and branch until another process writes. The streams of appends that share a
    transaction are looked up with one query, as soon as one of them is not cached.
    """

    def __init__(self) -> None:
        super().__init__()
        self.upcoming: Sequence[AppendRequest] = ()  # appends whose streams were not looked up yet

    def find(self, reader: Reader, stream: str, branch: Branch) -> Head:
        """The version and digest of a stream's newest record; 0 and the genesis digest if new."""
        key = (stream, branch.name)
        if self.upcoming and key not in self and branch.parent is None:
            self._prefetch(reader, branch.name)
        known = self.get(key)
        if known is None:
            tail = reader.stream_head(stream, branch)
            known = tail.version, tail.digest
        return known

    def _prefetch(self, reader: Reader, root: str) -> None:
        """Look up the streams of all coming appends at once; a root branch has no ancestors."""
        coming, self.upcoming = self.upcoming, ()
        streams = {work.stream for work in coming if (work.stream, root) not in self}
        rows = reader.cursor.execute(_HEADS, (_encode(list(streams)).decode(), root))
        heads = {name: (version, digest) for name, version, digest in rows}
        for name in streams:
            version, digest = heads.get(name, (0, GENESIS))
            if isinstance(version, int) and isinstance(digest, bytes):  # else the file is damaged
                self[name, root] = version, digest


class TransactionWriter:
    """The only writer of a file. Callers hold the write lock around every method."""

    def __init__(
        self,
        file: LogFile,
        states: StateCache,
        ports: SystemPorts,
        *,
        limits: Limits,
        sequencer: Sequencer | None = None,
    ) -> None:
        self.file = file
        self.states = states
        self.head = 0
        self._clock = ports.clock
        self._sequencer = sequencer
        self._encoder = RecordEncoder(ports.entropy, event_bytes_max=limits.event_bytes_max)
        self._last_us = 0
        self._clock_us = 0  # what the clock said for the current batch
        self._batch_start = 0  # the newest position before the current batch
        self._data_version = -1  # SQLite's data_version after our last write
        self._tails = StreamHeads()
        self._pending = WriteBuffer(file.views)
        self._write_rows = (
            self._pending.write
        )  # or `keep`, while several appends share a transaction
        self._current_branches: dict[str, Branch] = {}  # current branch of each stream, cached
        self._written: list[Row] = []  # rows for the sequencer to publish
        self._published = False  # whether they are durable at the server
        self._reader: Reader | None = None
        self.add_late_arrivals: Callable[[], None] | None = (
            None  # adds late arrivals to a batch as it begins
        )

    def open(self) -> None:
        """Open the file for writing, and create or migrate its schema."""
        db = self.file.connect(synchronous="NORMAL" if self._sequencer else "FULL")
        try:
            if not self.file.is_prepared(db):
                db.execute("BEGIN IMMEDIATE")
                self.file.prepare(db)
                db.execute("COMMIT")
            self._reader = Reader(db)
        except (apsw.Error, UnicodeDecodeError) as problem:
            close_quietly(db)
            raise translate_sqlite_error(problem, self.file.path) from problem
        except EverloopError:
            close_quietly(db)
            raise
        self._reset_caches()

    def pages_written(self) -> int:
        """How many pages of the file were written since it was opened."""
        reader = self._reader
        return reader.db.status(apsw.SQLITE_DBSTATUS_CACHE_WRITE)[0] if reader else 0

    def close(self) -> None:
        """Close the file for writing."""
        if self._reader is not None:
            close_quietly(self._reader.db)
            self._reader = None

    def commit(self, batch: Sequence[AppendRequest]) -> None:
        """Write a batch; every append gets its own receipt or error."""
        try:
            self._write_batch(batch)
        except Unavailable as problem:
            self._resolve_after_failure(batch, problem)
        except Exception as problem:  # noqa: BLE001 - a disk error, or an error in a view
            if self._published:  # it is part of the log, even if the copy failed
                self._resolve_after_failure(batch, Unavailable(str(problem)))
                return
            if isinstance(problem, apsw.Error) and not isinstance(problem, _VIEW_ERRORS):
                self._resolve_after_failure(batch, translate_sqlite_error(problem, self.file.path))
                return
            self._roll_back()
            if len(batch) == 1:
                if isinstance(problem, UnicodeDecodeError):  # a flipped byte in a stored text
                    problem = translate_sqlite_error(problem, self.file.path)
                batch[0].error = problem
                return
            for work in batch:  # find out which append caused it
                self.commit([work])
        except BaseException:
            self._roll_back()
            for work in batch:
                work.set_interrupted()
            raise

    def apply_records(self, records: Sequence[Record]) -> None:
        """Append records that another store ordered, in the caller's transaction.

        Raises:
            Corrupt: a record does not continue this log.
        """
        reader = self._open_reader()
        for record in records:
            digest, facts = self._check_next(reader, record), [fact_of(record)]
            self.head, self._last_us = record.position, record.recorded_us
            self._pending.add(reader, [astuple(record)], facts)
            self._tails[record.stream, record.branch] = (record.version, digest)
            if record.stream == STREAM:
                self._apply_log_facts(reader, facts)
        self._pending.flush()

    def head_and_digest(self) -> tuple[int, bytes] | None:
        """The newest position and its digest; None if the file is missing or damaged."""
        if self.file.is_lost():
            return None
        row = query_one(self._open_reader().db, _TIP)
        return (row[0], row[1]) if row else (0, GENESIS)

    def recreate(self) -> None:
        """Replace an untrusted file by an empty one, in a new transaction."""
        self.close()
        self.file.discard()
        reader = self._open_reader()
        reader.db.execute("BEGIN IMMEDIATE")
        self._catch_up(reader)

    def append_records(self, records: Sequence[Record]) -> None:
        """Append records of another log unchanged, all or nothing, durably."""

        def act(_: Reader) -> None:
            if self._sequencer:
                self._sequencer.begin(self)
            self.apply_records(records)
            if self._sequencer:
                self._sequencer.publish(records)

        self.transaction(act)

    def transaction(self, act: Callable[[Reader], S]) -> S:
        """Run a function in a write transaction, all or nothing."""
        try:
            result = act(self._begin())
            self._commit(self._open_reader())  # `act` may have replaced the file
        except (apsw.Error, UnicodeDecodeError) as problem:
            self._roll_back()
            raise translate_sqlite_error(problem, self.file.path) from problem
        except BaseException:
            self._roll_back()
            raise
        return result

    def _begin(self) -> Reader:
        """Begin an exclusive write transaction that includes all earlier writes."""
        reader = self._reader or self._open_reader()
        try:
            reader.cursor.execute("BEGIN IMMEDIATE")
        except apsw.ReadOnlyError:  # it was read-only when opened; it may not be any more
            self.close()
            self.file.close_idle_readers()
            reader = self._open_reader()
            reader.db.execute("BEGIN IMMEDIATE")
        if reader.db.data_version() != self._data_version:  # another process wrote since we did
            self._catch_up(reader)
        return reader

    def _write_batch(self, batch: Sequence[AppendRequest]) -> None:
        self._written, self._published = [], False
        reader = self._begin()
        if self._sequencer:
            now_us = self._sequencer.begin(self)
            reader = self._open_reader()  # the file may have been replaced
            if self.add_late_arrivals:
                self.add_late_arrivals()
        else:
            now_us = self._clock.now_us()
        self._clock_us = now_us
        if now_us < self._last_us:
            now_us = self._last_us
        self._batch_start, shared = self.head, len(batch) > 1
        if shared:
            self._write_rows, self._tails.upcoming = self._pending.add, batch
        for work in batch:
            before = self.head
            work.receipt = work.error = None
            try:
                self._write_one(reader, work, now_us)
            except Rejected as refusal:
                if self.head != before:
                    raise  # too late: part of it is already in the transaction
                work.error = refusal
        if shared:
            self._pending.flush()
            self._write_rows, self._tails.upcoming = self._pending.write, ()
        if self._sequencer:
            self._sequencer.publish([Record(*row) for row in self._written])
            self._published = True
        self._commit(reader)

    def _commit(self, reader: Reader) -> None:
        reader.cursor.execute("COMMIT")
        if self.file.branch_draft:
            self.file.finish_branch_draft(committed=True)
        self._data_version = reader.db.data_version()

    def _catch_up(self, reader: Reader) -> None:
        """Read what other processes wrote, and fold the views up to it."""
        head = reader.head()
        if head < self.head:
            self._reset_caches()  # a backup was restored meanwhile
        if head != self.head:
            self._tails.clear()
            self.head = head
            self._last_us = query_int(reader.db, _RECORDED_AT, (head,))
            self.file.refresh(reader.db, head)
        if self.file.views.position(reader.db) < head:
            self._fold_lagging_views(reader, head)
            self.file.reset_branches()  # a rebuilt view had no branches until now
            self.file.refresh(reader.db, head)
        self.file.views.mark_current(reader.db, head)
        self._current_branches.clear()

    def _fold_lagging_views(self, reader: Reader, head: int) -> None:
        behind = self.file.views.lagging(reader.db, head)
        for record in reader.records(min(position for _, position in behind), head):
            fact = fact_of(record)
            for view, position in behind:
                if record.position > position:
                    view.fold(reader.db, fact)

    def _write_one(self, reader: Reader, work: AppendRequest, now_us: int) -> None:
        if not work.fresh:
            self._pending.flush()
            if done := reader.records_of_request(work.request_id):
                work.set_repeated(done)
                return
        stream = work.stream
        if work.branch:
            branch = self.file.branches[work.branch]
        else:
            branch = self._current_branches.get(stream) or self._find_current_branch(stream)
        place = (stream, branch.name)
        tail = self._tails.get(place) or self._tails.find(reader, stream, branch)
        version, expected = tail[0], work.expected
        if expected is not None and expected != version:
            raise Conflict(
                f"stream {stream!r} is at version {version}, not {expected}",
                hint="Read the stream again and decide again.",
            )
        desk = TransactionContext(
            reader,
            self._pending,
            self.states,
            self.file,
            branch,
            now_us,
            stream,
            version,
            self._clock_us,
        )
        asked = work.asked
        drafts = asked(desk) if callable(asked) else asked
        rows, facts, digest = self._encoder.encode(work, desk, drafts, self.head, tail)
        if rows:
            version += len(rows)
            self.head, self._last_us = facts[-1].position, now_us
            self._write_rows(reader, rows, facts)
            if self._sequencer:
                self._written += rows
            self._tails[place] = (version, digest)
            if place in self.states.cached:
                self.states.advance(place, facts)
            if stream == STREAM:
                self._apply_log_facts(reader, facts)
        work.receipt = Receipt(work.request_id, stream, branch.name, version, facts)

    def _find_current_branch(self, stream: str) -> Branch:
        """The current branch of a stream's tree."""
        home = self._current_branches[stream] = self.file.branches.current_branch_of(stream)
        return home

    def _check_next(self, reader: Reader, record: Record) -> bytes:
        """Check that a record continues the log and its stream; returns its digest."""
        branch = self.file.branches[record.branch]
        version, previous = self._tails.find(reader, record.stream, branch)
        if record.position != self.head + 1 or record.version != version + 1:
            raise Corrupt(
                f"record {record.position} does not follow position {self.head}"
                f" and version {version} of stream {record.stream!r}",
                hint=RESTORE_HINT,
            )
        if expected_digest(previous, record) != record.digest:
            raise Corrupt(f"record {record.position} does not match its digest", hint=RESTORE_HINT)
        return record.digest

    def _apply_log_facts(self, reader: Reader, facts: Sequence[Fact]) -> None:
        """Apply facts about the log itself: update branches, erase purged payloads."""
        self._pending.flush()
        for fact in facts:
            if type(fact.event) is Purged:
                erase(reader.db, fact.event.positions)
                self.file.views.forget(reader.db, fact.event.positions)
                self.states.clear()
        self.file.draft_branches(reader.db, self.head)
        self._current_branches.clear()

    def _resolve_after_failure(
        self, batch: Sequence[AppendRequest], problem: EverloopError
    ) -> None:
        """Answer each append after a failure that may have come after the commit: look it up."""
        self._roll_back()
        self.close()
        if self._sequencer and isinstance(problem, Corrupt):
            self.file.discard()  # a damaged copy is filled again
        try:
            found = self._look_up(batch)
        except apsw.Error as reason:
            found, problem = {}, translate_sqlite_error(reason, self.file.path)
        except EverloopError:
            found = {}
        self.close()  # the file and its shared memory may have been opened read-only;
        self.file.close_idle_readers()  # the next append opens them again
        for work in batch:
            if work.request_id in found:
                work.set_repeated(found[work.request_id])
            elif work.error is None and not self._published:
                work.receipt, work.error = None, problem

    def _look_up(self, batch: Sequence[AppendRequest]) -> dict[str, list[Record]]:
        if self._sequencer:
            self.transaction(lambda _: self._sequencer and self._sequencer.begin(self))
            self._sequencer.abort()
        else:  # make durable what a failed sync left behind, or fail
            result = query_one(self._open_reader().db, "PRAGMA wal_checkpoint(FULL)")
            if result and result[0]:
                raise Unavailable(
                    "the log could not be written to the disk",
                    hint="Check the disk, then repeat the request with the same request id.",
                )
        reader = self._open_reader()
        found = {
            work.request_id: reader.records_of_any_request(work.request_id, self._batch_start)
            if work.fresh
            else reader.records_of_request(work.request_id)
            for work in batch
        }
        return {request: records for request, records in found.items() if records}

    def _open_reader(self) -> Reader:
        if self._reader is None:
            self.open()
        assert self._reader is not None, "open() sets it or raises"
        return self._reader

    def _roll_back(self) -> None:
        if self._sequencer:
            self._sequencer.abort()
        if self._reader is not None and not self._reader.roll_back():
            self._reader = None
        self.file.finish_branch_draft(committed=False)
        self._reset_written()

    def _reset_caches(self) -> None:
        self._reset_written()
        self.file.reset_branches()

    def _reset_written(self) -> None:
        self._pending.clear()
        self._write_rows, self._tails.upcoming = self._pending.write, ()
        self.head = self._data_version = -1
        self._tails.clear()
        self._current_branches.clear()
        self.states.clear()


_RECORDED_AT = "SELECT recorded_at FROM log WHERE position = ?"
_TIP = "SELECT position, digest FROM log ORDER BY position DESC LIMIT 1"
_VIEW_ERRORS = (apsw.ConstraintError, apsw.MismatchError, apsw.SQLError)  # never from a disk
_HEADS = """
SELECT log.stream, log.version, log.digest FROM json_each(?1) j CROSS JOIN log ON log.position = (
    SELECT position FROM log WHERE stream = j.value AND branch = ?2 ORDER BY version DESC LIMIT 1)
"""
