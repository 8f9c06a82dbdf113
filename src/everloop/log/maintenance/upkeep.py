"""Background maintenance of the file: checkpoints, backups, and scrubbing after a purge.

Checkpoints run on their own thread and connection, so that an error in one is never mistaken for a
failed append. Appends continue meanwhile and wait only for the last pages.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from everloop.errors import EverloopError, Unavailable
from everloop.log.maintenance.backup import BackupRotation
from everloop.log.sql_rows import close_quietly
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.log.sqlite.file import LogFile
from everloop.log.write.transaction import TransactionWriter

SCRUB_TRIES = 50
SCRUB_WAIT_MS = 10_000
# A full-text index keeps the words of deleted rows until its segments are merged.
_FULL_TEXT = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5 (%'"
PAGE_BYTES = 4_096
LOOK_EVERY = 8  # commits between two checks whether something is due


class MaintenanceThread:
    """A thread that keeps the write-ahead file small and backups recent."""

    def __init__(
        self,
        file: LogFile,
        scribe: TransactionWriter,
        pen: threading.Lock,
        *,
        wal_bytes_max: int,
        backups: BackupRotation | None,
    ) -> None:
        self._file = file
        self._scribe = scribe
        self._pen = pen
        self._backups = backups
        self._wal = Path(f"{file.path}-wal")
        self._wal_bytes_max = wal_bytes_max
        self._task_due = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._writes = 0
        self._pages = 0  # pages written at the last check
        self._checkpointed = 0  # pages written at the last checkpoint
        self._head = 0
        self._problems: dict[str, EverloopError] = {}  # by task
        self._cleaners: list[Callable[[], None]] = []  # called after another node has purged
        self._purged_elsewhere = False

    @property
    def problem(self) -> EverloopError | None:
        """A task that failed and has not succeeded since; None if there is none."""
        return next(iter(self._problems.values()), None)

    def on_remote_purge(self, clean: Callable[[], None]) -> None:
        """Call `clean` each time another node has purged; at once, if one already has."""
        self._cleaners.append(clean)
        if self._purged_elsewhere:
            self.clean_after_remote_purge()

    def clean_after_remote_purge(self) -> None:
        """Run the cleaners after a purge by another node. Their errors show up in `problem`."""
        self._purged_elsewhere = True
        self._problems.pop("clean", None)
        for clean in self._cleaners:
            try:
                clean()
            except EverloopError as problem:
                self._problems["clean"] = problem

    def note_commit(self, head: int) -> None:
        """Count a commit and check sometimes what is due; the caller holds the write lock."""
        self._writes += 1
        self._head = head
        if self._writes % LOOK_EVERY == 0:
            self._pages = self._scribe.pages_written()
            if self._checkpoint_due() or self._backup_due():
                self._start()
                self._task_due.set()

    def checkpoint(self) -> None:
        """Checkpoint: move pages from the write-ahead file to the main file, as readers allow.

        Once all pages are moved, SQLite overwrites the write-ahead file from its start, which is
        far cheaper than growing it. During appends that never happens, so the last pages are
        moved while holding the write lock.
        """
        try:
            db = self._file.connect()
            try:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                with self._pen:
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    self._pages = self._checkpointed = self._scribe.pages_written()
                    if self._wal_bytes() > 4 * self._wal_bytes_max:
                        db.set_busy_timeout(0)  # do not wait for long reads
                        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                close_quietly(db)
            self._problems.pop("checkpoint", None)
        except apsw.Error as problem:
            self._problems["checkpoint"] = translate_sqlite_error(problem, self._file.path)
        except EverloopError as problem:
            self._problems["checkpoint"] = problem

    def back_up(self) -> None:
        """Make a backup, if one is due."""
        try:
            if self._backups is not None and self._backups.due(self._head):
                self._backups.make()
                self._problems.pop("backup", None)
        except EverloopError as problem:
            self._problems["backup"] = problem

    def scrub(self) -> None:
        """Rewrite the file so that no freed page or old WAL frame keeps erased text.

        Raises:
            Unavailable: a reader used the old state for too long.
        """
        db = self._file.connect()
        try:
            for (index,) in db.execute(_FULL_TEXT).fetchall():
                db.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608 - ours
            db.execute("VACUUM")
            db.set_busy_timeout(0)  # the loop below waits for readers
            for _ in range(SCRUB_TRIES):
                row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if row and not row[0]:
                    # One more commit syncs the truncated file: else a power cut could restore it.
                    db.set_busy_timeout(SCRUB_WAIT_MS)
                    db.execute(f"PRAGMA user_version = {int(db.pragma('user_version'))}")
                    return
                time.sleep(0.1)
        except apsw.Error as problem:
            raise translate_sqlite_error(problem, self._file.path) from problem
        finally:
            close_quietly(db)
        raise Unavailable(
            "the text is erased from the log, but a reader still uses the old state of the file",
            hint="Close other Everloop processes and run `everloop log scrub`.",
        )

    def close(self) -> None:
        """Stop the thread, and make a backup if one is due."""
        self._closed = True
        self._task_due.set()
        if self._thread is not None:
            self._thread.join()
        self.back_up()

    def _checkpoint_due(self) -> bool:
        """Whether a checkpoint is due, by the pages written since the last one."""
        pages = self._pages
        if pages < self._checkpointed:  # the file was reopened, which resets the counter
            self._checkpointed = 0
        return (pages - self._checkpointed) * PAGE_BYTES > self._wal_bytes_max

    def _backup_due(self) -> bool:
        return self._backups is not None and self._backups.due(self._head)

    def _wal_bytes(self) -> int:
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="everloop-upkeep", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._task_due.wait()
            self._task_due.clear()
            if self._closed:
                return
            if self._checkpoint_due():
                self.checkpoint()
            self.back_up()
