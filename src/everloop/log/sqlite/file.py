"""The log's SQLite file: its schema, its connections, and reading from it.

One file holds the log and every view. With the SQLite store it is the log; with PostgreSQL it is a
node's own copy of it. Either way all reads come from here. `scribe.py` is the only writer.

Durability: WAL with `synchronous=FULL`, and no checkpoint ever runs inside a commit, because an
error there would not mean that the commit failed.
"""

import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from itertools import count
from pathlib import Path
from threading import get_ident
from typing import NamedTuple

import apsw

from everloop.errors import Corrupt, EverloopError, Unavailable
from everloop.log.model.branches import Branches
from everloop.log.read.lineage import load_branches
from everloop.log.read.projection import Projection, Views
from everloop.log.read.reader import Reader
from everloop.log.schema import APPLICATION_ID, MIGRATIONS
from everloop.log.sql_rows import let_go, one, rows
from everloop.log.sqlite.errors import require_safe_sqlite, unavailable
from everloop.ports import World

_SETTINGS = """
PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA fullfsync = ON;
PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384
"""


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
        self._inode = self._inode or inode(self.path)
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

    def reading(self, prepare: Callable[[Reader], None] | None = None) -> "Reading":
        """A reader on one consistent state of the file, prepared before it is handed out."""
        return Reading(self, prepare)

    def begin(self, reader: Reader) -> None:
        """Begin to read, with the branches in memory at least as new as what is read."""
        state = reader.begin()
        if state.head > self._seen:
            self.refresh(reader.db, state.head, reader.era)

    def failed(self, problem: apsw.Error | UnicodeDecodeError, reader: Reader) -> EverloopError:
        """What a failure of SQLite means to callers. Its reader is of no more use."""
        told = unavailable(problem, self.path)
        self.damaged |= isinstance(told, Corrupt)
        let_go(reader.db)
        return told

    def whole(self, reader: Reader) -> bool:
        """Whether the views show all that a reader sees."""
        state = reader.state
        assert state is not None, "reading has begun"
        if state.whole is None:
            state.whole = self.views.position(reader.db) >= state.head
        return state.whole

    def lost(self) -> bool:
        """Whether it was found damaged, or its path no longer names the file that was opened."""
        return self.damaged or inode(self.path) != self._inode

    def discard(self) -> None:
        """Delete the file, a copy that cannot be trusted. The next connection creates it anew."""
        with self._opening:
            with self._lock:
                self._era += 1
                idle, self._idle = self._idle, []
                opened, self._inode, self.damaged = self._inode, 0, False
            for reader in idle:
                let_go(reader.db)
            if opened in (0, inode(self.path)):  # else another process has replaced it already
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

    def take(self) -> Reader:
        """A reader that nobody else uses, until it is given back."""
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

    def give_back(self, reader: Reader) -> None:
        """Let others use it."""
        with self._lock:
            if not self._closed and reader.era == self._era:
                self._idle.append(reader)
                return
        let_go(reader.db)


class Reading:
    """A reader for as long as this is entered. A class, for every read passes here."""

    def __init__(self, file: LogFile, prepare: Callable[[Reader], None] | None) -> None:
        self._file, self._prepare = file, prepare

    def __enter__(self) -> Reader:
        """Take a reader, and begin."""
        reader = self._reader = self._file.take()
        try:
            self._file.begin(reader)
            if self._prepare is not None:
                self._prepare(reader)
        except BaseException as problem:
            self._end(problem)
            raise
        return reader

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        """End, and give the reader back."""
        self._end(problem)

    def _end(self, problem: BaseException | None) -> None:
        reader = self._reader
        try:
            if problem is None:
                with suppress(apsw.Error):
                    reader.cursor.execute("COMMIT")  # nothing was written, but the sight is kept
            elif isinstance(problem, (apsw.Error, UnicodeDecodeError)):
                raise self._file.failed(problem, reader) from problem
        finally:
            if reader.leave():
                self._file.give_back(reader)


def delete(path: Path) -> None:
    """Delete a log file with what SQLite keeps beside it."""
    # In this order: SQLite drops a write-ahead file that has no database beside it.
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def inode(path: Path) -> int:
    """Which file the path names; 0 if none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
