"""Backups: whole copies of the log file, made while it is in use, with rotation.

A copy is made with SQLite's backup interface, never by copying the file, and is checked before it
gets its final name. The name has the time and the head of the log.
"""

import os
import shutil
import threading
from collections.abc import Generator
from contextlib import contextmanager, suppress
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Annotated

import apsw
import msgspec
from msgspec import Meta

from everloop.errors import RESTORE_HINT, Corrupt, Invalid, NotFound, Unavailable
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.log.sqlite.file import LogFile
from everloop.ports import Clock, Progress

PAGES_AT_ONCE = 1_024
PARTIAL = ".partial-"  # copies that are being made; the name ends with the process
RESTORING = ".restoring-"  # folders next to a log, in which a restore verifies its copy
ABANDONED_S = 3_600
RESTORED = (
    ".restored"  # file with the time of the last restore; older backups are of the replaced log
)
_STAMP = "%Y%m%dT%H%M%SZ"


class BackupPlan(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When copies are made and how many are kept; section `[backups]` of the settings file."""

    every_events: Annotated[
        int, Meta(ge=0, description="Make a copy after so many events. 0: never by count.")
    ] = 10_000
    every_minutes: Annotated[
        float, Meta(ge=0, description="Make a copy after so many minutes with changes. 0: never.")
    ] = 1_440.0
    kept: Annotated[int, Meta(ge=1, description="Copies kept; the oldest goes first.")] = 7


class BackupFile(msgspec.Struct, frozen=True):
    """A backup file, with time and head from its name."""

    path: Path
    made_at: datetime
    head: int


class BackupRotation:
    """The rotating backups of one log file."""

    def __init__(self, file: LogFile, folder: Path, plan: BackupPlan, clock: Clock) -> None:
        self.folder = folder
        self._file = file
        self._plan = plan
        self._clock = clock
        self._newest: BackupFile | None = None
        self._listed = False
        self._lock = threading.Lock()

    def due(self, head: int) -> bool:
        """Whether the plan requires a backup of a log with this head."""
        newest = self._last()
        since = head - (newest.head if newest else 0)
        if since <= 0:
            return False
        if self._plan.every_events and since >= self._plan.every_events:
            return True
        minutes = self._plan.every_minutes
        if not minutes:
            return False
        return newest is None or self._clock.now() - newest.made_at >= timedelta(minutes=minutes)

    def make(self, progress: Progress | None = None) -> Path:
        """Make a backup now, and delete the oldest ones beyond the number to keep."""
        with self._lock:
            path = make_backup(self._file, self.folder, self._clock.now(), progress)
            delete_old_backups(self.folder, self._plan.kept)
            self._newest = _parse_name(path)
            return path

    def erase_partial_copies(self) -> None:
        """Erase what killed processes left of backups and restores."""
        erase_partial_copies(self.folder, self._clock.now())

    def make_and_get_head(self) -> int:
        """Make a backup now and return its newest position."""
        copy = _parse_name(self.make())
        assert copy is not None, "make() names it so that it parses"
        return copy.head

    def _last(self) -> BackupFile | None:
        if not self._listed:
            found = backups_since_restore(self.folder)
            self._newest, self._listed = (found[0] if found else None), True
        return self._newest


def make_backup(
    file: LogFile, folder: Path, now: datetime, progress: Progress | None = None
) -> Path:
    """Copy the log into a folder and check the copy.

    Raises:
        Unavailable: the folder cannot be written.
        Corrupt: the copy is damaged.
    """
    with file.reading() as reader:
        return back_up_database(reader.db, reader.head(), folder, now, progress)


def back_up_database(
    db: apsw.Connection, head: int, folder: Path, now: datetime, progress: Progress | None = None
) -> Path:
    """Copy an open database, whose newest position is `head`, into a folder; check the copy.

    Raises:
        Unavailable: the folder cannot be written.
        Corrupt: the copy is damaged.
    """
    _make_folder(folder)
    erase_partial_copies(folder, now)
    partial = folder / f"{PARTIAL}{now.strftime(_STAMP)}-{os.getpid()}.db"
    try:
        with _report_folder_errors(folder):
            copy_pages(db, partial, progress)
        target = folder / f"everloop-{now.strftime(_STAMP)}-{head}.db"
        partial.replace(target)
    except apsw.Error as problem:
        raise translate_sqlite_error(problem, partial) from problem
    except OSError as problem:
        raise _write_error(folder, problem) from problem
    finally:
        with suppress(OSError):
            partial.unlink(missing_ok=True)
    return target


def copy_pages(source: apsw.Connection, target: Path, progress: Progress | None = None) -> None:
    """Copy a database page by page into a file, and check the result."""
    db = apsw.Connection(str(target))
    try:
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_AT_ONCE)
                if progress:
                    progress(copying.page_count - copying.remaining, copying.page_count)
        db.execute("PRAGMA journal_mode = DELETE")
        found = db.execute("PRAGMA quick_check(1)").fetchone()
        if not found or found[0] != "ok":
            raise Corrupt(
                f"the copy is damaged: {found[0] if found else 'unreadable'}", hint=RESTORE_HINT
            )
    finally:
        db.close()


def erase_partial_copies(folder: Path, now: datetime) -> None:
    """Erase what killed processes left of backups and restores: it may hold purged text."""
    for path in folder.glob(f"{PARTIAL}*"):
        pid = path.name.removesuffix("-journal").removesuffix(".db").rpartition("-")[2]
        if not (pid.isdigit() and _is_running(int(pid))):
            with suppress(OSError):
                path.unlink()
    for path in folder.parent.glob(f"{RESTORING}*"):
        with suppress(OSError):
            if path.stat().st_mtime < now.timestamp() - ABANDONED_S:
                shutil.rmtree(path)


def _is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except OSError:  # it is somebody else's
        return True
    return True


def list_backups(folder: Path) -> list[BackupFile]:
    """The backups in a folder, newest first."""
    copies = [_parse_name(path) for path in folder.glob("everloop-*-*.db")]
    return sorted((c for c in copies if c), key=lambda c: (c.made_at, c.head), reverse=True)


def backups_since_restore(folder: Path) -> list[BackupFile]:
    """The backups made since the last restore, newest first."""
    note = folder / RESTORED
    until = note.read_text().strip() if note.exists() else ""
    return [copy for copy in list_backups(folder) if copy.made_at.strftime(_STAMP) > until]


def record_restore_time(folder: Path, now: datetime) -> None:
    """Record the time of a restore: earlier backups are of the replaced log."""
    _make_folder(folder)
    newest = max([now, *(copy.made_at for copy in list_backups(folder))])
    (folder / RESTORED).write_text(newest.strftime(_STAMP))


def delete_old_backups(folder: Path, kept: int) -> list[Path]:
    """Delete all but the newest backups; returns the deleted paths."""
    dropped = [copy.path for copy in list_backups(folder)[kept:]]
    try:
        for path in dropped:
            path.unlink(missing_ok=True)
    except OSError as problem:
        raise _write_error(folder, problem) from problem
    return dropped


def restore_backup(copy: Path, target: Path, progress: Progress | None = None) -> None:
    """Replace a log by a backup. The caller verified the backup and closed the log.

    Raises:
        NotFound: there is no such backup.
        Invalid: the backup is the log itself.
        Unavailable: another process is using the log.
    """
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="`everloop backup --list` shows them.")
    if target.exists() and copy.samefile(target):
        raise Invalid(
            "a log cannot be restored from itself",
            hint="Choose one of its backups: `everloop backup --list`.",
        )
    _make_folder(target.parent)
    source = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
    db = apsw.Connection(str(target))
    try:
        with db.backup("main", source, "main") as copying:
            while not copying.done:
                copying.step(PAGES_AT_ONCE)
                if progress:
                    progress(copying.page_count - copying.remaining, copying.page_count)
        db.execute("PRAGMA journal_mode = WAL")
    except apsw.BusyError as problem:
        raise Unavailable(
            "another process is using the log", hint="Stop that process, then restore again."
        ) from problem
    except apsw.Error as problem:
        raise translate_sqlite_error(problem, target) from problem
    finally:
        db.close()
        source.close()


def _parse_name(path: Path) -> BackupFile | None:
    try:
        _, stamp, head = path.stem.split("-")
        return BackupFile(path, datetime.strptime(stamp, _STAMP).replace(tzinfo=UTC), int(head))
    except ValueError:
        return None


def _make_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise _write_error(folder, problem) from problem


@contextmanager
def _report_folder_errors(folder: Path) -> Generator[None]:
    """Report a full or read-only backup folder as such, not as an error of the log."""
    try:
        yield
    except (apsw.FullError, apsw.CantOpenError, apsw.ReadOnlyError) as problem:
        raise _write_error(folder, problem) from problem


def _write_error(folder: Path, problem: OSError | apsw.Error) -> Unavailable:
    words = getattr(problem, "strerror", None) or problem
    return Unavailable(
        f"no backup can be written to {folder}: {words}",
        hint="Choose another folder, or free some space.",
    )


__all__ = [
    "BackupFile",
    "BackupPlan",
    "BackupRotation",
    "backups_since_restore",
    "copy_pages",
    "delete_old_backups",
    "list_backups",
    "make_backup",
    "record_restore_time",
    "restore_backup",
]
