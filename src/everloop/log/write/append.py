"""One append on its way to the log: the request, its transaction context, its receipt or error.

While several appends share a transaction, their rows wait in a write buffer and go into the log and
the views with one statement per table. A read flushes the buffer first, so a decision sees no
difference.

Also the protocols of a store whose log is ordered elsewhere: a PostgreSQL server and a local copy.
"""

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol, TypeVar, final

import msgspec

from everloop.errors import Conflict, Invalid, Unavailable
from everloop.log.model.branches import Branch, Sight
from everloop.log.model.event import Event
from everloop.log.model.record import Fact, Record, fact_of
from everloop.log.read.folded_state import Fold, StateCache
from everloop.log.read.projection import ProjectionSet
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS
from everloop.log.sql_rows import Row, query_one
from everloop.log.sqlite.file import LogFile

S = TypeVar("S")

WAITING_MAX = 2_000  # rows; more would cost memory and save no time

# Short, because SQLite's statement cache looks it up by its text, once for every row.
INSERT = f"INSERT INTO log VALUES({','.join('?' * len(COLUMNS.split(',')))})"

_SOURCE = """
SELECT branch, EXISTS (SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
                       WHERE h.position = log.position)
FROM log WHERE position = ?
"""


@final
class Draft(msgspec.Struct, frozen=True, gc=False):
    """An event about to be recorded, and the positions it was derived from.

    `beside` lists drafts of the same append that it was derived from, by their index: those have
    no position yet.
    """

    event: Event
    because: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()


class Receipt(msgspec.Struct, frozen=True, gc=False):
    """The result of an append. A repeated request gets the same receipt, marked as repeated."""

    request_id: str
    stream: str
    branch: str
    version: int
    facts: tuple[Fact, ...]
    repeated: bool = False

    @property
    def position(self) -> int:
        """The last position of the append; 0 if nothing was recorded."""
        return self.facts[-1].position if self.facts else 0


class WriteBuffer:
    """Rows and facts of the current transaction that are not in the file yet."""

    def __init__(self, views: ProjectionSet) -> None:
        self._views = views
        self._reader: Reader | None = None
        self._rows: list[Row] = []
        self.facts: list[Fact] = []

    def write(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """Insert rows into the log and fold their facts into every view."""
        if len(rows) == 1:
            reader.cursor.execute(INSERT, rows[0])
        else:
            reader.cursor.executemany(INSERT, rows)
        self._views.fold(reader.db, facts)

    def add(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """Buffer rows and facts until the next read or the end of the transaction."""
        self._reader = reader
        self._rows += rows
        self.facts += facts
        if len(self.facts) >= WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the buffer. If that fails, it stays buffered, and the final flush fails again."""
        if self.facts and self._reader is not None:
            self.write(self._reader, self._rows, self.facts)
            self.clear()

    def clear(self) -> None:
        """Discard the buffer."""
        self._reader, self._rows, self.facts = None, [], []


class TransactionContext(msgspec.Struct, eq=False, dict=True):
    """What a decision can read inside the write transaction: state, views and time."""

    source: Reader
    pending: WriteBuffer
    states: StateCache
    file: LogFile
    branch: Branch
    now_us: int
    stream: str
    version: int  # the stream's newest version
    clock_us: int  # what the clock says; `now_us` is later where the clock went back

    @property
    def reader(self) -> Reader:
        """The reader of the file, after writing what the transaction has buffered."""
        if self.pending.facts:
            self.pending.flush()
        return self.source

    @cached_property
    def sight(self) -> Sight:
        """What is visible on the branch of the decision."""
        return self.file.branches.sight_from(self.branch.name)

    @cached_property
    def _checked_sources(self) -> set[int]:
        """Source positions that were checked and count on this branch."""
        return set()

    def state(self, fold: Fold[S], stream: str) -> S | None:
        """The state of a stream on the branch of the decision."""
        if not self.version and stream == self.stream:
            return None  # a new stream: there is nothing to read
        return self.states.load_and_save(self.reader, fold, stream, self.branch, self.sight)

    def check_sources(self, draft: Draft) -> None:
        """Check that the sources of a draft exist and count on the branch of the decision.

        Raises:
            Invalid: a source position does not exist.
            Conflict: a source was retracted or is on another branch.
        """
        sources = [source for source in draft.because if source not in self._checked_sources]
        if not sources:  # many drafts of one decision have the same source
            return
        self.reader.use_sight(self.sight)
        own_tree = {name for name, _ in self.branch.lineage()}
        for source in sources:
            row = query_one(self.reader.db, _SOURCE, (source,))
            if row is None:
                raise Invalid(
                    f"{draft.event.wire} is derived from position {source}, which does not exist",
                    hint="Use positions from receipts or from facts that were read.",
                )
            where, hidden = row
            foreign = self.file.branches[where].root != self.branch.root
            if hidden or not (foreign or (where in own_tree and self.sight.sees(where, source))):
                raise Conflict(
                    f"{draft.event.wire} is derived from position {source},"
                    " which does not count here",
                    hint="Read again: that fact was retracted or is on another branch.",
                )
        self._checked_sources.update(sources)


Decide = Callable[[TransactionContext], Sequence[Draft]]


class AppendRequest(msgspec.Struct, eq=False):
    """One append in the commit queue: the request and, once written, its receipt or error."""

    stream: str
    asked: Decide | list[Event | Draft]  # the events, or the decision that returns them
    actor: str
    request_id: str
    fresh: bool = False  # the log generated the id, so it is unused
    branch: str | None = None
    expected: int | None = None
    receipt: Receipt | None = None
    error: BaseException | None = None
    done: Callable[[], None] | None = (
        None  # called once it was written or failed, by the writing thread
    )

    def set_repeated(self, done: Sequence[Record]) -> None:
        """Set the receipt of the earlier append with the same request id."""
        last = done[-1]
        facts = tuple(fact_of(record) for record in done)
        if last.stream == self.stream:
            self.error, self.receipt = (
                None,
                Receipt(
                    self.request_id, last.stream, last.branch, last.version, facts, repeated=True
                ),
            )
        else:
            self.receipt, self.error = (
                None,
                Conflict(
                    f"request id {self.request_id!r} was used before, for stream {last.stream!r}",
                    hint="Use a new request id for a new request.",
                ),
            )

    def set_interrupted(self) -> None:
        """Fail with an unknown outcome: a receipt set so far may not be durable."""
        self.receipt, self.error = (
            None,
            Unavailable("the append was interrupted", hint="Repeat it with the same request id."),
        )

    def outcome(self) -> Receipt:
        """Return the receipt, or raise the error."""
        if self.error is not None:
            raise self.error
        assert self.receipt is not None, (
            "outcome() is called after the append was written or failed"
        )
        return self.receipt


class PrimaryLog(Protocol):
    """Reads the server's log, of which a node's file is a copy."""

    def __call__(self, after: int, upto: int) -> Sequence[Record]:
        """The server's records in (after, upto], in order.

        Raises:
            Unavailable: the server cannot be reached.
        """
        ...


class Replica(Protocol):
    """A node's local copy of the log, which a sequencer brings up to date."""

    head: int

    def head_and_digest(self) -> tuple[int, bytes] | None:
        """The newest position and its digest; None if the file is missing or damaged."""
        ...

    def apply_records(self, records: Sequence[Record]) -> None:
        """Append records that the server ordered, in the open transaction."""
        ...

    def recreate(self) -> None:
        """Replace the copy by an empty one, in a new transaction."""
        ...


class Sequencer(Protocol):
    """Orders the log when this file is only a copy: a PostgreSQL server."""

    def begin(self, copy: Replica) -> int:
        """Become the only writer, bring the copy up to date, and return the time in µs."""
        ...

    def publish(self, records: Sequence[Record]) -> None:
        """Make records durable. When it returns, they are part of the log."""
        ...

    def abort(self) -> None:
        """Release the write lock without writing."""
        ...
