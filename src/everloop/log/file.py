"""The log's SQLite file: its schema, its connections, and reading from it.

One file holds the log and every view. With the SQLite store it is the log; with PostgreSQL it is a
node's own copy of it. Either way all reads come from here. `scribe.py` is the only writer.

Durability: WAL with `synchronous=FULL`, and no checkpoint ever runs inside a commit, because an
error there would not mean that the commit failed.
"""

import threading
from collections.abc import Generator, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import apsw

from everloop.errors import Corrupt, NotFound, Unavailable
from everloop.log.branches import ALL, Branch, Branches, Sight
from everloop.log.lineage import active_retractions, load_branches, visible
from everloop.log.projection import Projection, Views
from everloop.log.record import GENESIS, Fact, Record, fact_of
from everloop.log.sql import Bindings, Row, let_go, number, one, rows
from everloop.ports import World

APPLICATION_ID = 0x45564C50  # "EVLP", so that `file` and we know our own
SAFE_SQLITE = (3, 51, 3)  # older ones can corrupt a WAL file that two processes write

COLUMNS = (
    "position, stream, branch, version, kind, schema, data, actor, because, request_id,"
    " recorded_at, salt, seal, digest"
)

_LOG = """
CREATE TABLE log (
    position    INTEGER PRIMARY KEY,
    stream      TEXT NOT NULL,
    branch      TEXT NOT NULL,
    version     INTEGER NOT NULL,
    kind        TEXT NOT NULL,
    schema      INTEGER NOT NULL,
    data        TEXT,
    actor       TEXT NOT NULL,
    because     TEXT,
    request_id  TEXT NOT NULL,
    recorded_at INTEGER NOT NULL,
    salt        BLOB,
    seal        BLOB,
    digest      BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX log_stream ON log (stream, branch, version);
CREATE INDEX log_request ON log (request_id);
CREATE TRIGGER log_is_append_only BEFORE DELETE ON log
BEGIN SELECT raise(ABORT, 'the log is append-only'); END;
CREATE TRIGGER log_is_immutable BEFORE UPDATE ON log
WHEN new.data IS NOT NULL OR new.seal IS NULL OR new.digest <> old.digest
    OR new.position <> old.position OR new.stream <> old.stream OR new.branch <> old.branch
BEGIN SELECT raise(ABORT, 'a record is never edited; purge erases its payload'); END;
CREATE TABLE snapshots (
    fold     TEXT NOT NULL,
    stream   TEXT NOT NULL,
    branch   TEXT NOT NULL,
    version  INTEGER NOT NULL,
    position INTEGER NOT NULL,
    hidden   TEXT NOT NULL,
    state    BLOB NOT NULL,
    PRIMARY KEY (fold, stream, branch, version)
) STRICT, WITHOUT ROWID;
"""

MIGRATIONS: tuple[str, ...] = (_LOG,)  # the log table's only; views are dropped and folded again

_TEMPORARY = """
CREATE TEMP TABLE sight (branch TEXT PRIMARY KEY, cap INTEGER NOT NULL) STRICT, WITHOUT ROWID;
CREATE TEMP TABLE active (position INTEGER PRIMARY KEY) STRICT;
"""

_AT = f"SELECT {COLUMNS} FROM log WHERE position = ?"  # noqa: S608 - our own column names
_REQUESTED = f"SELECT {COLUMNS} FROM log WHERE request_id = ? ORDER BY position"  # noqa: S608
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
        """The records that a request led to, in order."""
        return [Record(*row) for row in self.rows(_REQUESTED, (request_id,))]

    def stream(
        self, stream: str, branch: Branch, sight: Sight, *, after_version: int = 0
    ) -> Iterator[Fact]:
        """The facts of a stream that count on a branch, in order, one at a time."""
        condition = ""
        if self.has_hidden(stream):
            self.look(sight)
            condition = f"AND {visible('log')}"
        sql = (
            f"SELECT {COLUMNS} FROM log WHERE stream = ? AND branch = ? AND version > ?"  # noqa: S608
            f" AND position <= ? {condition} ORDER BY version"
        )
        for name, cap in reversed(list(branch.lineage())):
            bindings = (stream, name, after_version, min(cap, sight.upto))
            for row in self.db.execute(sql, bindings):
                yield fact_of(Record(*row))

    def tail(self, stream: str, branch: Branch, before: int = ALL) -> Tail:
        """Where a stream ends on a branch."""
        for name, cap in branch.lineage():
            row = one(self.db, _TAIL, (stream, name, min(cap, before - 1)))
            if row is not None:
                return Tail(*row)
        return Tail(0, GENESIS, 0)

    def has_hidden(self, stream: str) -> bool:
        """Whether any fact of a stream is hidden in some sight."""
        return bool(number(self.db, _HAS_HIDDEN, (stream,)))


class LogFile:
    """An open log file: a pool of readers, the branches in memory, and the registered views."""

    def __init__(self, path: Path, projections: Sequence[Projection], world: World) -> None:
        require_safe_sqlite(apsw.sqlite_lib_version())
        self.path = path
        self.views = Views(projections)
        self.branches = Branches()
        self._vfs = world.vfs
        self._patience = world.patience
        self._seen = 0
        self._era = 0
        self._inode = 0
        self._lock = threading.Lock()
        self._idle: list[Reader] = []
        self._closed = False
        self.damaged = False  # whether a read found it so

    def connect(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """A new connection with our settings."""
        try:
            db = apsw.Connection(str(self.path), vfs=self._vfs)
        except apsw.Error as problem:
            raise unavailable(problem, self.path) from problem
        try:
            db.set_busy_handler(self._patience)
            db.execute(
                f"PRAGMA journal_mode = WAL; PRAGMA synchronous = {synchronous};"
                " PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON;"
                " PRAGMA fullfsync = ON; PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384"
            ).fetchall()  # apsw stops at the first row until it is asked for the next
        except apsw.Error as problem:
            let_go(db)
            raise unavailable(problem, self.path) from problem
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
        ours = int(db.pragma("application_id")) == APPLICATION_ID
        if not ours and db.execute("SELECT 1 FROM sqlite_master").fetchone():
            raise Corrupt(
                f"{self.path} is a database, but not an Everloop log",
                hint="Choose another path, or an empty folder.",
            )
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

    def refresh(self, db: apsw.Connection, head: int, era: int | None = None) -> None:
        """Take into memory what the branch facts up to `head` say."""
        with self._lock:
            if head > self._seen and era in (None, self._era):
                load_branches(db, self.branches, self._seen)
                self._seen = head

    def forget_memory(self) -> None:
        """Drop the in-memory fold; it is loaded again. Needed after a rollback."""
        with self._lock:
            self.branches = Branches()
            self._seen = 0

    @contextmanager
    def reading(self) -> Generator[Reader, None, None]:
        """A reader on one consistent state of the file."""
        reader = self._take()
        try:
            reader.db.execute("BEGIN")
            self.refresh(reader.db, reader.head(), reader.era)
            yield reader
            reader.db.execute("COMMIT")  # nothing was written, but the sight is kept
        except apsw.Error as problem:
            self.damaged |= isinstance(problem, apsw.CorruptError | apsw.NotADBError)
            let_go(reader.db)
            raise unavailable(problem, self.path) from problem
        finally:
            if reader.leave():
                self._give_back(reader)

    def lost(self) -> bool:
        """Whether it was found damaged, or its path no longer names the file that was opened."""
        return self.damaged or _inode(self.path) != self._inode

    def discard(self) -> None:
        """Delete the file, a copy that cannot be trusted. The next connection creates it anew."""
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
        with self._lock:
            self._closed = True
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


def require_safe_sqlite(version: str) -> None:
    """Refuse a SQLite library that can corrupt a file shared by two processes.

    Raises:
        Unavailable: the library is older than 3.51.3.
    """
    if tuple(int(part) for part in version.split(".")[:3]) < SAFE_SQLITE:
        raise Unavailable(
            f"SQLite {version} can corrupt a log that two processes write",
            hint="Install a newer one: pip install --upgrade apsw",
        )


def unavailable(problem: apsw.Error, path: Path) -> Unavailable | Corrupt:
    """What a SQLite error means to a person."""
    match problem:
        case apsw.FullError():
            return Unavailable(
                f"no space left for {path.name}; nothing was lost",
                hint="Free some disk space; Everloop goes on by itself.",
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable(
                f"{path.name} cannot be written: its folder is read-only",
                hint="Make the folder writable; Everloop goes on by itself.",
            )
        case apsw.CantOpenError():
            return Unavailable(
                f"{path} cannot be opened", hint="Check that its folder exists and is yours."
            )
        case apsw.BusyError():
            return Unavailable(
                f"{path.name} is locked by another process",
                hint="Try again; if it stays so, look for a stuck `everloop` process.",
            )
        case apsw.CorruptError() | apsw.NotADBError():
            return Corrupt(
                f"{path.name} is damaged: {problem}",
                hint="Run `everloop verify`, then `everloop restore` with a backup.",
            )
        case _:
            return Unavailable(f"{path.name}: {problem}", hint="Try again.")
