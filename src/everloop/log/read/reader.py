"""A reader of the log's file: one connection, one state of the file, one sight.

What is asked of every state (how far it reaches, what was retracted last, whether the views show
all of it) is asked once for as long as nobody writes: SQLite says so without a query.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from everloop.errors import NotFound
from everloop.log.model.branches import ALL, Branch, Sight
from everloop.log.model.record import FACT_COLUMNS, GENESIS, Fact, Record, facts
from everloop.log.read.lineage import active_retractions, visible
from everloop.log.schema import ASKED, COLUMNS
from everloop.log.sql_rows import Bindings, Row, let_go, number, one, rows, whole_number

_TEMPORARY = """
CREATE TEMP TABLE sight (branch TEXT PRIMARY KEY, cap INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE active (position INTEGER PRIMARY KEY) STRICT;
"""

_HEAD = "SELECT max(position) FROM log"
_RETRACTED = "SELECT max(position) FROM log_retractions"
_AT = f"SELECT {COLUMNS} FROM log WHERE position = ?"  # noqa: S608 - our own column names
_REQUESTED = f"SELECT {COLUMNS} FROM log WHERE request_id = ? AND {ASKED} ORDER BY position"  # noqa: S608
_WRITTEN = f"SELECT {COLUMNS} FROM log WHERE position > ? AND request_id = ? ORDER BY position"  # noqa: S608
_RANGE = f"SELECT {COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position"  # noqa: S608
_TAIL = (
    "SELECT version, digest, position FROM log WHERE stream = ? AND branch = ? AND position <= ?"
    " ORDER BY version DESC LIMIT 1"
)
_HAS_HIDDEN = (
    "SELECT EXISTS (SELECT 1 FROM log_hidden WHERE stream = ?1)"
    " OR EXISTS (SELECT 1 FROM log_needs WHERE stream = ?1)"
)


class Tail(NamedTuple):
    """Where a stream ends: its newest version, with digest and position."""

    version: int
    digest: bytes
    position: int


@dataclass(slots=True, eq=False)
class State:
    """One state of the file, and what is known of it. As long as nobody writes, it is the same."""

    head: int
    version: int  # SQLite's number for it, which only this connection knows
    retracted: int | None = None  # the newest retraction
    whole: bool | None = None  # whether the views show all of it


class Reader:
    """One connection with a sight: what it lets through is what counts there."""

    def __init__(self, db: apsw.Connection, era: int = 0) -> None:
        self.db = db
        self.cursor = db.cursor()  # for what is asked again and again: a new one costs more
        self.era = era  # which file of that name this connection has opened
        db.execute(_TEMPORARY)
        self.state: State | None = None  # none is noted where the file is written
        self._looking: tuple[object, int] | None = None

    def begin(self) -> State:
        """Begin to read one state of the file."""
        self.cursor.execute("BEGIN")
        head = whole_number(self.cursor.execute(_HEAD).get)  # with this it begins, not with BEGIN
        version = self.db.data_version()
        if self.state is None or self.state.version != version:
            self.state = State(head, version)
        return self.state

    def look(self, sight: Sight) -> None:
        """Make `sight` the one that `visible(...)` conditions use from here on."""
        looking = (sight.key, self._retracted())
        if looking == self._looking:
            return
        self._looking = None
        self.db.execute("DELETE FROM temp.sight; DELETE FROM temp.active")
        self.db.executemany("INSERT INTO temp.sight VALUES (?, ?)", sight.caps.items())
        active = active_retractions(self.db, sight)
        self.db.executemany("INSERT INTO temp.active VALUES (?)", [(p,) for p in active])
        self._looking = looking

    def _retracted(self) -> int:
        """The newest retraction."""
        state = self.state
        if state is None:
            return number(self.db, _RETRACTED)
        if state.retracted is None:
            state.retracted = number(self.db, _RETRACTED)
        return state.retracted

    def leave(self) -> bool:
        """Undo the transaction, if there is one; False if the connection is of no more use."""
        try:
            if self.db.in_transaction:
                self._looking = None  # the sight lives in temporary tables, and goes with it
                self.db.execute("ROLLBACK")
        except apsw.Error:
            let_go(self.db)
            return False
        return True

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a query."""
        return rows(self.db, sql, bindings)

    def head(self) -> int:
        """The newest position."""
        return number(self.db, _HEAD) if self.state is None else self.state.head

    def record(self, position: int) -> Record:
        """The record at a position.

        Raises:
            NotFound: there is none.
        """
        row = one(self.db, _AT, (position,))
        if row is None:
            raise NotFound(
                f"no record at position {position}", hint="`everloop log tail` shows the newest."
            )
        return Record(*row)

    def records(self, after: int = 0, upto: int = ALL) -> Iterator[Record]:
        """The records in (after, upto], in order, one at a time."""
        for row in self.db.execute(_RANGE, (after, upto)):
            yield Record(*row)

    def requested(self, request_id: str) -> list[Record]:
        """The records that a caller's request led to, in order."""
        return [Record(*row) for row in self.rows(_REQUESTED, (request_id,))]

    def written(self, request_id: str, after: int) -> list[Record]:
        """The records of any request, be its id the caller's or ours, after a position."""
        return [Record(*row) for row in self.rows(_WRITTEN, (after, request_id))]

    def stream(
        self, stream: str, branch: Branch, sight: Sight, *, after_version: int = 0
    ) -> Iterator[Fact]:
        """The facts of a stream that count on a branch, in order, one at a time."""
        condition = ""
        if self.has_hidden(stream):
            self.look(sight)
            condition = f"AND {visible('log')}"
        sql = (
            f"SELECT {FACT_COLUMNS} FROM log WHERE stream = ? AND branch = ? AND version > ?"  # noqa: S608
            f" AND position <= ? {condition} ORDER BY version"
        )
        for name, cap in reversed(list(branch.lineage())):
            bindings = (stream, name, after_version, min(cap, sight.upto))
            yield from facts(self.db.execute(sql, bindings), stream, name)

    def tail(self, stream: str, branch: Branch, before: int = ALL) -> Tail:
        """Where a stream ends on a branch."""
        for name, cap in branch.lineage():
            row = one(self.db, _TAIL, (stream, name, min(cap, before - 1)))
            if row is not None:
                version, digest, position = row
                if not (isinstance(version, int) and isinstance(digest, bytes)):
                    raise apsw.CorruptError(f"record {position} holds what it cannot hold")
                return Tail(version, digest, position)
        return Tail(0, GENESIS, 0)

    def has_hidden(self, stream: str) -> bool:
        """Whether any fact of a stream is hidden in some sight."""
        return bool(number(self.db, _HAS_HIDDEN, (stream,)))
