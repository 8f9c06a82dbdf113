"""Restore: replace a log by a backup without losing the log that was there.

The backup is verified, digest by digest, before anything is changed. The replaced log is kept: as
one more backup if it is intact, byte for byte if it is damaged, because part of it may still be
recoverable. So restoring the newest backup again undoes a restore.
"""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import apsw
import msgspec

from everloop.errors import Corrupt, Invalid, NotFound
from everloop.log.integrity.verify import verify_log
from everloop.log.maintenance.backup import (
    RESTORING,
    copy_pages,
    list_backups,
    make_backup,
    record_restore_time,
    restore_backup,
)
from everloop.log.opening import BACKUP_FOLDER, open_log
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.ports import Progress, SystemPorts

BESIDE = ("", "-wal", "-shm")  # a log file and SQLite's files next to it


class RestoreResult(msgspec.Struct, frozen=True):
    """The head of the restored log, and where the replaced log is kept."""

    head: int
    kept: Path | None


def restore_log(
    copy: Path, target: Path, ports: SystemPorts, progress: Progress | None = None
) -> RestoreResult:
    """Verify a backup and replace the log at `target` by it.

    Raises:
        NotFound: there is no such backup.
        Invalid: the backup is the log itself.
        Corrupt: the backup is damaged; nothing was changed.
        Unavailable: another process is using the log, or the disk is full.
    """
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="`everloop backup --list` shows them.")
    if target.exists() and copy.samefile(target):
        raise Invalid(
            "a log cannot be restored from itself",
            hint="Choose one of its backups: `everloop backup --list`.",
        )
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=RESTORING, dir=target.parent) as folder:
        scratch = Path(folder) / "copy.db"
        head = _verify_copy(copy, scratch, ports)
        kept = _keep_current(target, ports) if target.exists() else None
        record_restore_time(target.parent / BACKUP_FOLDER, ports.clock.now())
        _replace(scratch, target, progress)
    return RestoreResult(head, kept)


def _verify_copy(copy: Path, scratch: Path, ports: SystemPorts) -> int:
    """Copy the backup to a scratch file, verify it there, and return its head."""
    try:
        source = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            copy_pages(source, scratch)
        finally:
            source.close()
    except apsw.Error as problem:
        raise translate_sqlite_error(problem, copy) from problem
    log = open_log(scratch, ports=ports)
    try:
        found = verify_log(log)
        if not found.ok:
            first = found.damage[0]
            raise Corrupt(
                f"{copy.name} is damaged: position {first.first} {first.problem}",
                hint="Nothing was changed. Try an older backup: `everloop backup --list`.",
            )
        return log.head
    finally:
        log.close()


def _keep_current(target: Path, ports: SystemPorts) -> Path:
    """Keep the current log: as a backup, or byte for byte if it is damaged."""
    folder = target.parent / BACKUP_FOLDER
    now = ports.clock.now()
    while any(copy.made_at == now.replace(microsecond=0) for copy in list_backups(folder)):
        now += timedelta(seconds=1)  # names have seconds; no backup may replace another
    try:
        log = open_log(target, ports=ports)
        try:
            if verify_log(log).ok:
                return make_backup(log.file, folder, now)
        finally:
            log.close()
    except Corrupt:
        pass
    folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    kept = folder / f"damaged-{now:%Y%m%dT%H%M%SZ}.db"
    for suffix in BESIDE:
        beside = Path(f"{target}{suffix}")
        if beside.exists():
            shutil.copyfile(beside, Path(f"{kept}{suffix}"))
    return kept


def _replace(scratch: Path, target: Path, progress: Progress | None) -> None:
    """Overwrite the log with the copy in one transaction, as other processes see it."""
    try:
        restore_backup(scratch, target, progress)
    except Corrupt:
        # The target is not a database. It was kept, and no process can be using it.
        for suffix in BESIDE:
            Path(f"{target}{suffix}").unlink(missing_ok=True)
        restore_backup(scratch, target, progress)
