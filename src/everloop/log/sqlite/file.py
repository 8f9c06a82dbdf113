"""The log's SQLite file: its schema, a pool of read connections, and the branches in memory.

One file has the log and every view. With the SQLite store it is the log; with PostgreSQL it is a
node's copy of it. All reads come from this file; `write/transaction.py` is its only writer.

Durability: WAL with `synchronous=FULL`. No checkpoint runs inside a commit, because an error in a
checkpoint would not mean that the commit failed.
"""

import os
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
from everloop.log.read.projection import Projection, ProjectionSet
from everloop.log.read.reader import Reader
from everloop.log.schema import APPLICATION_ID, MIGRATIONS
from everloop.log.sql_rows import close_quietly, query_one, query_rows
from everloop.log.sqlite.errors import require_safe_sqlite, translate_sqlite_error
from everloop.ports import SystemPorts

PRIVATE = 0o600
_SETTINGS = """
PRAGMA wal_autocheckpoint = 0; PRAGMA foreign_keys = ON; PRAGMA fullfsync = ON;
PRAGMA temp_store = MEMORY; PRAGMA cache_size = -16384
"""


class _BranchDraft(NamedTuple):
    """The branches as an uncommitted transaction sees them."""

    thread: int
    branches: Branches
    seen: int


class LogFile:
    """An open log file: a pool of readers, the branches in memory, and the projections."""

    def __init__(self, path: Path, projections: Sequence[Projection], ports: SystemPorts) -> None:
        require_safe_sqlite(apsw.sqlite_lib_version())
        self.path = path
        self.views = ProjectionSet(projections)
        self._branches = Branches()  # as of `_branches_head`; committed only
        self.branch_draft: _BranchDraft | None = None
        self._vfs = ports.vfs
        self._patience = ports.patience
        self._branches_head = -1
        self._era = 0
        self._inode = 0
        self._lock = threading.Lock()
        # Held while a connection opens the file, and while the file is deleted: otherwise a new
        # connection could read the deleted file for ever, with a write-ahead file of its own.
        self._open_lock = threading.Lock()
        self._idle: list[Reader] = []
        self._closed = False
        self.damaged = False  # whether a read found damage

    def connect(self, *, synchronous: str = "FULL") -> apsw.Connection:
        """A new connection with our settings."""
        with self._open_lock:
            return self._connect(synchronous)

    def _connect(self, synchronous: str) -> apsw.Connection:
        try:
            if not self.path.exists():  # SQLite gives its other files the mode of this one
                os.close(os.open(self.path, os.O_RDWR | os.O_CREAT, PRIVATE))
        except OSError as problem:
            raise Unavailable(
                f"{self.path} cannot be created: {problem.strerror}", hint="Check the folder."
            ) from problem
        try:
            db = apsw.Connection(str(self.path), vfs=self._vfs)
            # Without it, SQLite with STAT4 prepares every cached statement again for each binding.
            db.config(apsw.SQLITE_DBCONFIG_ENABLE_QPSG, 1)
        except apsw.Error as problem:
            raise translate_sqlite_error(problem, self.path) from problem
        try:
            self._apply_settings(db, synchronous)
            db.set_busy_handler(self._patience)
        except apsw.Error as problem:
            close_quietly(db)
            raise translate_sqlite_error(problem, self.path) from problem
        except Corrupt:
            close_quietly(db)
            raise
        self._inode = self._inode or inode(self.path)
        return db

    def is_prepared(self, db: apsw.Connection) -> bool:
        """Whether the file has the schema and the views of this build."""
        return (
            int(db.pragma("application_id")) == APPLICATION_ID
            and int(db.pragma("user_version")) == len(MIGRATIONS)
            and not self.views.needs_install(db)
        )

    def prepare(self, db: apsw.Connection) -> None:
        """Migrate schema and views to this build, in the caller's transaction.

        Raises:
            Corrupt: the file is not an Everloop log, or was written by a newer build.
        """
        version = int(db.pragma("user_version"))
        self._refuse_other_databases(db)
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

    def _refuse_other_databases(self, db: apsw.Connection) -> None:
        """Refuse a database that is not an Everloop log, before anything is changed."""
        # In this order, because another process may be creating the log right now.
        used = query_one(db, "SELECT 1 FROM sqlite_schema")
        if used and int(db.pragma("application_id")) != APPLICATION_ID:
            raise Corrupt(
                f"{self.path} is a database, but not an Everloop log",
                hint="Choose another path or an empty folder.",
            )

    def _apply_settings(self, db: apsw.Connection, synchronous: str) -> None:
        """Apply our settings, with retries: SQLite does not wait when two processes set WAL."""
        for tries in count():
            try:
                self._refuse_other_databases(db)
                query_rows(
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
        """The branches; for the writing thread, including those it has not committed yet."""
        draft = self.branch_draft
        return draft.branches if draft and draft.thread == get_ident() else self._branches

    def refresh(self, db: apsw.Connection, head: int, era: int | None = None) -> None:
        """Load the committed branch facts up to `head` into memory."""
        with self._lock:
            if head > self._branches_head and era in (None, self._era):
                known = self._branches if self._branches_head >= 0 else Branches()
                load_branches(db, known, self._branches_head)
                self._branches, self._branches_head = known, head

    def draft_branches(self, db: apsw.Connection, head: int) -> None:
        """Load uncommitted branch facts. Only this thread sees them."""
        known, seen = (
            self.branches,
            self.branch_draft.seen if self.branch_draft else self._branches_head,
        )
        branches = Branches(dict(known.by_name), dict(known.current))
        load_branches(db, branches, seen)
        self.branch_draft = _BranchDraft(get_ident(), branches, head)

    def finish_branch_draft(self, *, committed: bool) -> None:
        """Publish the drafted branches after a commit, or discard them."""
        draft = self.branch_draft
        if draft is None:
            return
        with self._lock:
            self.branch_draft = None
            if committed and draft.seen > self._branches_head:
                self._branches, self._branches_head = draft.branches, draft.seen

    def reset_branches(self) -> None:
        """Discard the branches in memory; the next refresh loads them from the beginning."""
        with self._lock:
            self.branch_draft, self._branches_head = None, -1

    def reading(self, prepare: Callable[[Reader], None] | None = None) -> "ReadTransaction":
        """A reader on one consistent state of the file, after `prepare` ran on it."""
        return ReadTransaction(self, prepare)

    def begin(self, reader: Reader) -> None:
        """Begin a read, with branches in memory at least as new as the state that is read."""
        state = reader.begin()
        if state.head > self._branches_head:
            self.refresh(reader.db, state.head, reader.file_generation)

    def translate_error(
        self, problem: apsw.Error | UnicodeDecodeError, reader: Reader
    ) -> EverloopError:
        """Translate a SQLite error, note damage, and close the reader."""
        error = translate_sqlite_error(problem, self.path)
        self.damaged |= isinstance(error, Corrupt)
        close_quietly(reader.db)
        return error

    def views_are_current(self, reader: Reader) -> bool:
        """Whether the views are folded up to the state that a reader sees."""
        state = reader.state
        assert state is not None, "reading has begun"
        if state.whole is None:
            state.whole = self.views.position(reader.db) >= state.head
        return state.whole

    def is_lost(self) -> bool:
        """Whether the file was found damaged, or was deleted or replaced since it was opened."""
        return self.damaged or inode(self.path) != self._inode

    def discard(self) -> None:
        """Delete a copy that cannot be trusted. The next connection creates a new file."""
        with self._open_lock:
            with self._lock:
                self._era += 1
                idle, self._idle = self._idle, []
                opened, self._inode, self.damaged = self._inode, 0, False
            for reader in idle:
                close_quietly(reader.db)
            if opened in (0, inode(self.path)):  # another process has not replaced it
                delete_log_file(self.path)
        self.reset_branches()

    def close(self) -> None:
        """Close idle readers; those in use are closed when they are returned."""
        self._closed = True
        self.close_idle_readers()

    def close_idle_readers(self) -> None:
        """Close the idle readers; new ones are opened on demand."""
        with self._lock:
            idle, self._idle = self._idle, []
        for reader in idle:
            close_quietly(reader.db)

    def take_reader(self) -> Reader:
        """Take a reader from the pool, for exclusive use until `give_back`."""
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
            close_quietly(db)
            raise translate_sqlite_error(problem, self.path) from problem

    def return_reader(self, reader: Reader) -> None:
        """Return a reader to the pool."""
        with self._lock:
            if not self._closed and reader.file_generation == self._era:
                self._idle.append(reader)
                return
        close_quietly(reader.db)


class ReadTransaction:
    """Context manager for a read. A class, because it is faster and every read passes here."""

    def __init__(self, file: LogFile, prepare: Callable[[Reader], None] | None) -> None:
        self._file, self._prepare = file, prepare

    def __enter__(self) -> Reader:
        """Take a reader and begin a read transaction."""
        reader = self._reader = self._file.take_reader()
        try:
            self._file.begin(reader)
            if self._prepare is not None:
                self._prepare(reader)
        except BaseException as problem:
            self._end(problem)
            raise
        return reader

    def __exit__(self, kind: object, problem: BaseException | None, trace: object) -> None:
        """End the read transaction and return the reader."""
        self._end(problem)

    def _end(self, problem: BaseException | None) -> None:
        reader = self._reader
        try:
            if problem is None:
                with suppress(apsw.Error):
                    reader.cursor.execute("COMMIT")  # nothing was written, but this keeps the sight
            elif isinstance(problem, (apsw.Error, UnicodeDecodeError)):
                raise self._file.translate_error(problem, reader) from problem
        finally:
            if reader.roll_back():
                self._file.return_reader(reader)


def delete_log_file(path: Path) -> None:
    """Delete a log file with SQLite's -wal and -shm files."""
    # In this order: SQLite discards a write-ahead file without a database.
    for suffix in ("", "-wal", "-shm"):
        Path(f"{path}{suffix}").unlink(missing_ok=True)


def inode(path: Path) -> int:
    """The inode of the file at a path; 0 if there is none."""
    try:
        return path.stat().st_ino
    except OSError:
        return 0
