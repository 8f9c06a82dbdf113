"""A reader of the log file: one connection, one consistent state of the file, one sight.

What every read needs (newest position, newest retraction, whether the views are up to date) is
queried once and reused until somebody writes, which SQLite reports without a query.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import apsw

from everloop.errors import NotFound
from everloop.log.model.branches import POSITION_MAX, Branch, Sight
from everloop.log.model.record import FACT_COLUMNS, GENESIS, Fact, Record, decode_facts
from everloop.log.read.lineage import active_retractions, visible
from everloop.log.schema import CALLER_REQUESTS, COLUMNS
from everloop.log.sql_rows import (
    Bindings,
    Row,
    close_quietly,
    query_int,
    query_one,
    query_rows,
    require_int,
)

_TEMP_TABLES = """
CREATE TEMP TABLE sight (branch TEXT PRIMARY KEY, cap INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE active (position INTEGER PRIMARY KEY) STRICT;
"""

_HEAD = "SELECT max(position) FROM log"
_RETRACTED = "SELECT max(position) FROM log_retractions"
_BY_POSITION = f"SELECT {COLUMNS} FROM log WHERE position = ?"  # noqa: S608 - our own column names
_REQUESTED = (
    f"SELECT {COLUMNS} FROM log WHERE request_id = ? AND {CALLER_REQUESTS} ORDER BY position"  # noqa: S608
)
_REQUEST_IDS = f"""
SELECT DISTINCT request_id FROM log WHERE request_id >= ? AND request_id < ? AND {CALLER_REQUESTS}
"""  # noqa: S608 - our own condition
_REQUESTED_AFTER = (
    f"SELECT {COLUMNS} FROM log WHERE position > ? AND request_id = ? ORDER BY position"  # noqa: S608
)
_RANGE = f"SELECT {COLUMNS} FROM log WHERE position > ? AND position <= ? ORDER BY position"  # noqa: S608
_TAIL = (
    "SELECT version, digest, position FROM log WHERE stream = ? AND branch = ? AND position <= ?"
    " ORDER BY version DESC LIMIT 1"
)
_HAS_HIDDEN = (
    "SELECT EXISTS (SELECT 1 FROM log_hidden WHERE stream = ?1)"
    " OR EXISTS (SELECT 1 FROM log_needs WHERE stream = ?1)"
)


class StreamHead(NamedTuple):
    """The newest version of a stream, with its digest and position."""

    version: int
    digest: bytes
    position: int


@dataclass(slots=True, eq=False)
class FileState:
    """Cached properties of one state of the file, valid until somebody writes."""

    head: int
    version: int  # SQLite's data_version, which is per connection
    retracted: int | None = None  # the newest retraction
    whole: bool | None = None  # whether the views are folded up to `head`


class Reader:
    """One connection and its sight, which decides which facts its queries see."""

    def __init__(self, db: apsw.Connection, era: int = 0) -> None:
        self.db = db
        self.cursor = db.cursor()  # reused for frequent statements: a new one costs more
        self.file_generation = era  # which file at that path this connection has opened
        db.execute(_TEMP_TABLES)
        self.state: FileState | None = None  # None on the writing connection
        self._current_sight: tuple[object, int] | None = None

    def begin(self) -> FileState:
        """Begin a read transaction on one state of the file."""
        self.cursor.execute("BEGIN")
        head = require_int(self.cursor.execute(_HEAD).get)  # this starts the snapshot, not BEGIN
        version = self.db.data_version()
        if self.state is None or self.state.version != version:
            self.state = FileState(head, version)
        return self.state

    def use_sight(self, sight: Sight) -> None:
        """Set the sight that `visible(...)` conditions use from now on."""
        key = (sight.key, self._newest_retraction())
        if key == self._current_sight:
            return
        self._current_sight = None
        self.db.execute("DELETE FROM temp.sight; DELETE FROM temp.active")
        self.db.executemany("INSERT INTO temp.sight VALUES (?, ?)", sight.caps.items())
        active = active_retractions(self.db, sight)
        self.db.executemany("INSERT INTO temp.active VALUES (?)", [(p,) for p in active])
        self._current_sight = key

    def _newest_retraction(self) -> int:
        """The position of the newest retraction."""
        state = self.state
        if state is None:
            return query_int(self.db, _RETRACTED)
        if state.retracted is None:
            state.retracted = query_int(self.db, _RETRACTED)
        return state.retracted

    def roll_back(self) -> bool:
        """Roll back the transaction, if any; False if the connection is unusable."""
        try:
            if self.db.in_transaction:
                self._current_sight = None  # the sight is in temporary tables, which roll back too
                self.db.execute("ROLLBACK")
        except apsw.Error:
            close_quietly(self.db)
            return False
        return True

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a query."""
        return query_rows(self.db, sql, bindings)

    def head(self) -> int:
        """The newest position."""
        return query_int(self.db, _HEAD) if self.state is None else self.state.head

    def record(self, position: int) -> Record:
        """The record at a position.

        Raises:
            NotFound: there is no such record.
        """
        row = query_one(self.db, _BY_POSITION, (position,))
        if row is None:
            raise NotFound(
                f"no record at position {position}",
                hint="`everloop log tail` shows the newest positions.",
            )
        return Record(*row)

    def records(self, after: int = 0, upto: int = POSITION_MAX) -> Iterator[Record]:
        """The records in (after, upto], in order, as an iterator."""
        for row in self.db.execute(_RANGE, (after, upto)):
            yield Record(*row)

    def records_of_request(self, request_id: str) -> list[Record]:
        """The records of a caller's request id, in order."""
        return [Record(*row) for row in self.rows(_REQUESTED, (request_id,))]

    def request_ids(self, prefix: str) -> list[str]:
        """The callers' request ids that begin with a prefix."""
        return [row[0] for row in self.rows(_REQUEST_IDS, (prefix, f"{prefix}\U0010ffff"))]

    def records_of_any_request(self, request_id: str, after: int) -> list[Record]:
        """The records after a position of any request id, also one that the log generated."""
        return [Record(*row) for row in self.rows(_REQUESTED_AFTER, (after, request_id))]

    def stream(
        self, stream: str, branch: Branch, sight: Sight, *, after_version: int = 0
    ) -> Iterator[Fact]:
        """The facts of a stream that count on a branch, in order, as an iterator."""
        condition = ""
        if self.has_hidden(stream):
            self.use_sight(sight)
            condition = f"AND {visible('log')}"
        sql = (
            f"SELECT {FACT_COLUMNS} FROM log WHERE stream = ? AND branch = ? AND version > ?"  # noqa: S608
            f" AND position <= ? {condition} ORDER BY version"
        )
        for name, cap in reversed(list(branch.lineage())):
            bindings = (stream, name, after_version, min(cap, sight.upto))
            yield from decode_facts(self.db.execute(sql, bindings), stream, name)

    def stream_head(self, stream: str, branch: Branch, before: int = POSITION_MAX) -> StreamHead:
        """The newest version of a stream on a branch, before a position."""
        for name, cap in branch.lineage():
            row = query_one(self.db, _TAIL, (stream, name, min(cap, before - 1)))
            if row is not None:
                version, digest, position = row
                if not (isinstance(version, int) and isinstance(digest, bytes)):
                    raise apsw.CorruptError(f"record {position} has a value of the wrong type")
                return StreamHead(version, digest, position)
        return StreamHead(0, GENESIS, 0)

    def has_hidden(self, stream: str) -> bool:
        """Whether a fact of a stream may be hidden, in any sight."""
        return bool(query_int(self.db, _HAS_HIDDEN, (stream,)))
