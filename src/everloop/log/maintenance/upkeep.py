"""Upkeep of the file, beside the commits: checkpoints, backups, and scrubbing after a purge.

Checkpoints run on a connection and a thread of their own, so that an error in one is never
mistaken for a failed append. Appends go on meanwhile; they wait only for its last pages.
"""

import threading
import time
from collections.abc import Callable
from pathlib import Path

import apsw

from everloop.errors import EverloopError, Unavailable
from everloop.log.maintenance.backup import Backups
from everloop.log.sql_rows import let_go
from everloop.log.sqlite.errors import unavailable
from everloop.log.sqlite.file import LogFile
from everloop.log.write.transaction import Scribe

SCRUB_TRIES = 50
SCRUB_WAIT_MS = 10_000
# A full-text index keeps the words of deleted rows until its segments are merged.
_FULL_TEXT = "SELECT name FROM sqlite_schema WHERE sql LIKE 'CREATE VIRTUAL TABLE%USING fts5 (%'"
PAGE_BYTES = 4_096
LOOK_EVERY = 8  # commits between two looks whether something is due


class Upkeep:
    """A thread that keeps the write-ahead file small and the backups fresh."""

    def __init__(
        self,
        file: LogFile,
        scribe: Scribe,
        pen: threading.Lock,
        *,
        wal_bytes_max: int,
        backups: Backups | None,
    ) -> None:
        self._file = file
        self._scribe = scribe
        self._pen = pen
        self._backups = backups
        self._wal = Path(f"{file.path}-wal")
        self._wal_bytes_max = wal_bytes_max
        self._wanted = threading.Event()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._writes = 0
        self._pages = 0  # written by the scribe when we last looked
        self._moved = 0  # of these, before the last checkpoint
        self._head = 0
        self._problems: dict[str, EverloopError] = {}  # by what failed last time
        self._cleaners: list[Callable[[], None]] = []  # what is done when another node has purged
        self._purged_elsewhere = False

    @property
    def problem(self) -> EverloopError | None:
        """What failed and has not succeeded since."""
        return next(iter(self._problems.values()), None)

    def when_purged_elsewhere(self, clean: Callable[[], None]) -> None:
        """Do something each time another node has purged; now too, if one has."""
        self._cleaners.append(clean)
        if self._purged_elsewhere:
            self.purged_elsewhere()

    def purged_elsewhere(self) -> None:
        """Clean up here after a purge of another node. What hinders that is a problem."""
        self._purged_elsewhere = True
        self._problems.pop("clean", None)
        for clean in self._cleaners:
            try:
                clean()
            except EverloopError as problem:
                self._problems["clean"] = problem

    def written(self, head: int) -> None:
        """Note a commit, and look now and then whether something is due; with the pen in hand."""
        self._writes += 1
        self._head = head
        if self._writes % LOOK_EVERY == 0:
            self._pages = self._scribe.pages_written()
            if self._large() or self._backup_due():
                self._start()
                self._wanted.set()

    def checkpoint(self) -> None:
        """Move what was written into the main file, as far as readers allow.

        Once nothing is left to move, SQLite begins the write-ahead file anew, and overwriting it is
        far cheaper for the disk than making it longer. While appends go on that moment never comes,
        so the last pages are moved with the pen in hand.
        """
        try:
            db = self._file.connect()
            try:
                db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                with self._pen:
                    db.execute("PRAGMA wal_checkpoint(PASSIVE)")
                    self._pages = self._moved = self._scribe.pages_written()
                    if self._size() > 4 * self._wal_bytes_max:
                        db.set_busy_timeout(0)  # nobody should wait for those who read for long
                        db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            finally:
                let_go(db)
            self._problems.pop("checkpoint", None)
        except apsw.Error as problem:
            self._problems["checkpoint"] = unavailable(problem, self._file.path)
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
        """Rewrite the file, so that no freed page or old frame keeps erased text.

        Raises:
            Unavailable: someone kept reading the old state for too long.
        """
        db = self._file.connect()
        try:
            for (index,) in db.execute(_FULL_TEXT).fetchall():
                db.execute(f"INSERT INTO {index} ({index}) VALUES ('optimize')")  # noqa: S608 - ours
            db.execute("VACUUM")
            db.set_busy_timeout(0)  # we wait for readers here, and not each time as for a lock
            for _ in range(SCRUB_TRIES):
                row = db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
                if row and not row[0]:
                    # One more commit syncs the emptied file: else a power cut could bring it back.
                    db.set_busy_timeout(SCRUB_WAIT_MS)
                    db.execute(f"PRAGMA user_version = {int(db.pragma('user_version'))}")
                    return
                time.sleep(0.1)
        except apsw.Error as problem:
            raise unavailable(problem, self._file.path) from problem
        finally:
            let_go(db)
        raise Unavailable(
            "the text is erased from the log, but a reader still holds the old file state",
            hint="Close other Everloop processes and run `everloop log scrub`.",
        )

    def close(self) -> None:
        """Stop the thread; make the backup that is due, if any."""
        self._closed = True
        self._wanted.set()
        if self._thread is not None:
            self._thread.join()
        self.back_up()

    def _large(self) -> bool:
        """Whether so much was written since the last checkpoint that another is due."""
        pages = self._pages
        if pages < self._moved:  # the file was opened anew, and the count with it
            self._moved = 0
        return (pages - self._moved) * PAGE_BYTES > self._wal_bytes_max

    def _backup_due(self) -> bool:
        return self._backups is not None and self._backups.due(self._head)

    def _size(self) -> int:
        try:
            return self._wal.stat().st_size
        except OSError:
            return 0

    def _start(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._serve, name="everloop-upkeep", daemon=True)
            self._thread.start()

    def _serve(self) -> None:
        while True:
            self._wanted.wait()
            self._wanted.clear()
            if self._closed:
                return
            if self._large():
                self.checkpoint()
            self.back_up()
