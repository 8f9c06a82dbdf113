"""The log's SQLite file: its schema, its connections, and reading from it.

One file holds the log and every view. With the SQLite store it is the log; with PostgreSQL it is a
node's own copy of it. Either way all reads come from here. `scribe.py` is the only writer.

Durability: WAL with `synchronous=FULL`, and no checkpoint ever runs inside a commit, because an
error there would not mean that the commit failed.
"""

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager, suppress
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import NamedTuple

import apsw

from everloop.errors import Corrupt, NotFound, Unavailable
from everloop.log.branches import ALL, Branch, Branches, Sight
from everloop.log.lineage import active_retractions, load_branches, visible
from everloop.log.projection import Projection, Views
from everloop.log.record import FACT_COLUMNS, GENESIS, Fact, Record, facts
from everloop.log.schema import APPLICATION_ID, ASKED, COLUMNS, MIGRATIONS
from everloop.log.sql import Bindings, Row, let_go, number, one, rows
from everloop.log.trouble import require_safe_sqlite, unavailable
from everloop.ports import World

_SETTINGS = """
PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA fullfsync = ON;
PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384
"""

_TEMPORARY = """
CREATE TEMP TABLE sight (branch TEXT PRIMARY KEY, cap INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE active (position INTEGER PRIMARY KEY) STRICT;
"""

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


class Reader:
    """One connection with a sight: what it lets through is what counts there."""

    def __init__(self, db: apsw.Connection, era: int = 0) -> None:
        self.db = db
        self.cursor = db.cursor()  # for what is asked again and again: a new one costs more
        self.era = era  # which file of that name this connection has opened
        db.execute(_TEMPORARY)
        self._looking: tuple[object, int] | None = None

    def look(self, sight: Sight) -> None:
        """Make `sight` the one that `visible(...)` conditions use from here on."""
        looking = (sight.key, number(self.db, "SELECT max(position) FROM log_retractions"))
        if looking == self._looking:
            return
        self._looking = None
        self.db.execute("DELETE FROM temp.sight; DELETE FROM temp.active")
        self.db.executemany("INSERT INTO temp.sight VALUES (?, ?)", sight.caps.items())
        active = active_retractions(self.db, sight)
        self.db.executemany("INSERT INTO temp.active VALUES (?)", [(p,) for p in active])
        self._looking = looking

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
        return number(self.db, "SELECT max(position) FROM log")

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


class _BranchDraft(NamedTuple):
    """The branches as a transaction sees them that is not committed yet."""

    thread: int
    branches: Branches
    seen: int


class LogFile:
    """An open log file: a pool of readers, the branches in memory, and the registered views."""

    def __init__(self, path: Path, projections: Sequence[Projection], world: World) -> None:
        require_safe_sqlite(apsw.sqlite_lib_version())
        self.path = path
        self.views = Views(projections)
        self._branches = Branches()  # as of position `_seen`; never with what is not committed
        self.drafted: _BranchDraft | None = None
        self._vfs = world.vfs
        self._patience = world.patience
        self._seen = -1
        self._era = 0
        self._inode = 0
        self._lock = threading.Lock()
        # Held while a connection opens the file, and while the file is deleted: who opened it then
        # would read the old one for ever, or share a write-ahead file with nobody.
        self._opening = threading.Lock()
        self._idle: list[Reader] = []
        self._closed = False
        self.damaged = False  # whether a read found it so

    def connect(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """A new connection with our settings."""
        with self._opening:
            return self._connect(synchronous)

    def _connect(self, synchronous: str) -> apsw.Connection:
        try:
            db = apsw.Connection(str(self.path), vfs=self._vfs)
        except apsw.Error as problem:
            raise unavailable(problem, self.path) from problem
        try:
            self._set_up(db, synchronous)
            db.set_busy_handler(self._patience)
        except apsw.Error as problem:
            let_go(db)
            raise unavailable(problem, self.path) from problem
        except Corrupt:
            let_go(db)
            raise
        self._inode = self._inode or _inode(self.path)
        return db

    def prepared(self, db: apsw.Connection) -> bool:
        """Whether the file has the schema and the views of this build."""
        return (
            int(db.pragma("application_id")) == APPLICATION_ID
            and int(db.pragma("user_version")) == len(MIGRATIONS)
            and not self.views.stale(db)
        )

    def prepare(self, db: apsw.Connection) -> None:
        """Bring schema and views up to this build's, in the caller's transaction.

        Raises:
            Corrupt: the file is not ours, or was written by a newer build.
        """
        version = int(db.pragma("user_version"))
        self._refuse_strangers(db)
        if version > len(MIGRATIONS):
            raise Corrupt(
                f"{self.path} was written by a newer Everloop (log format {version})",
                hint="Upgrade Everloop on this machine.",
            )
        for migration in MIGRATIONS[version:]:
            db.execute(migration)
        db.execute(f"PRAGMA application_id = {APPLICATION_ID}")
        db.execute(f"PRAGMA user_version = {len(MIGRATIONS)}")
        self.views.install(db)

    def _refuse_strangers(self, db: apsw.Connection) -> None:
        """Leave a database that is not ours as it is."""
        # Asked in this order, because another process may be making the log just now.
        used = one(db, "SELECT 1 FROM sqlite_schema")
        if used and int(db.pragma("application_id")) != APPLICATION_ID:
            raise Corrupt(
                f"{self.path} is a database, but not an Everloop log",
                hint="Choose another path, or an empty folder.",
            )

    def _set_up(self, db: apsw.Connection, synchronous: str) -> None:
        """Change to our settings. We wait by ourselves: SQLite does not when two change to WAL."""
        for tries in count():
            try:
                self._refuse_strangers(db)
                rows(
                    db,
                    f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous}; {_SETTINGS}",
                )
            except apsw.BusyError:
                if not self._patience(tries):
                    raise
            else:
                return

    @property
    def branches(self) -> Branches:
        """The branches; for the thread that is writing, with those it is about to commit."""
        draft = self.drafted
        return draft.branches if draft and draft.thread == get_ident() else self._branches

    def refresh(self, db: apsw.Connection, head: int, era: int | None = None) -> None:
        """Take into memory what the branch facts up to `head`, all committed, say."""
        with self._lock:
            if head > self._seen and era in (None, self._era):
                known = self._branches if self._seen >= 0 else Branches()
                load_branches(db, known, self._seen)
                self._branches, self._seen = known, head

    def draft(self, db: apsw.Connection, head: int) -> None:
        """Take in branch facts that are not committed yet. Only this thread sees them."""
        known, seen = self.branches, self.drafted.seen if self.drafted else self._seen
        branches = Branches(dict(known.by_name), dict(known.standing))
        load_branches(db, branches, seen)
        self.drafted = _BranchDraft(get_ident(), branches, head)

    def settle(self, *, committed: bool) -> None:
        """Make what was drafted everyone's, or drop it."""
        draft = self.drafted
        if draft is None:
            return
        with self._lock:
            self.drafted = None
            if committed and draft.seen > self._seen:
                self._branches, self._seen = draft.branches, draft.seen

    def forget_memory(self) -> None:
        """Load the in-memory fold from the beginning when it is next refreshed."""
        with self._lock:
            self.drafted, self._seen = None, -1

    @contextmanager
    def reading(self) -> Generator[Reader, None, None]:
        """A reader on one consistent state of the file."""
        reader = self._take()
        try:
            reader.db.execute("BEGIN")
            self.refresh(reader.db, reader.head(), reader.era)
            yield reader
            with suppress(apsw.Error):
                reader.db.execute("COMMIT")  # nothing was written, but the sight is kept
        except (apsw.Error, UnicodeDecodeError) as problem:
            told = unavailable(problem, self.path)
            self.damaged |= isinstance(told, Corrupt)
            let_go(reader.db)
            raise told from problem
        finally:
            if reader.leave():
                self._give_back(reader)

    def lost(self) -> bool:
        """Whether it was found damaged, or its path no longer names the file that was opened."""
        return self.damaged or _inode(self.path) != self._inode

    def discard(self) -> None:
        """Delete the file, a copy that cannot be trusted. The next connection creates it anew."""
        with self._opening:
            with self._lock:
                self._era += 1
                idle, self._idle = self._idle, []
                opened, self._inode, self.damaged = self._inode, 0, False
            for reader in idle:
                let_go(reader.db)
            if opened in (0, _inode(self.path)):  # else another process has replaced it already
                delete(self.path)
        self.forget_memory()

    def close(self) -> None:
        """Close every idle reader; the ones in use close when they are given back."""
        self._closed = True
        self.release()

    def release(self) -> None:
        """Close the idle readers; others are opened when they are needed."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            let_go(reader.db)

    def _take(self) -> Reader:
        with self._lock:
            if self._closed:
                raise Unavailable("this log is closed", hint="Open it again.")
            if self._idle:
                return self._idle.pop()
            era = self._era
        db = self.connect()
        try:
            return Reader(db, era)
        except apsw.Error as problem:
            let_go(db)
            raise unavailable(problem, self.path) from problem

    def _give_back(self, reader: Reader) -> None:
        with self._lock:
            if not self._closed and reader.era == self._era:
                self._idle.append(reader)
                return
        let_go(reader.db)


def delete(path: Path) -> None:
    """Delete a log file with what SQLite keeps beside it."""
    # In this order: SQLite drops a write-ahead file that has no database beside it.
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def _inode(path: Path) -> int:
    """Which file the path names; 0 if none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
