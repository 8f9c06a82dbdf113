"""Putting a backup in the place of a log, without losing the log that was there.

The copy is verified, digest by digest, before anything is touched. What was there is kept: as one
more backup if it is whole, byte for byte if it is damaged, because a person may still save some of
it. So restoring the newest backup once more undoes it.
"""

import shutil
import tempfile
from datetime import timedelta
from pathlib import Path

import apsw
import msgspec

from everloop.errors import Corrupt, Invalid, NotFound
from everloop.log.integrity.verify import verify
from everloop.log.maintenance.backup import (
    backups,
    copy_pages,
    make_backup,
    note_restored,
    restore_backup,
)
from everloop.log.opening import BACKUPS, open_log
from everloop.log.sqlite.errors import unavailable
from everloop.ports import Progress, World

BESIDE = ("", "-wal", "-shm")  # a log and what SQLite keeps next to it


class Restored(msgspec.Struct, frozen=True):
    """How far the restored log goes, and where the one that was there is kept."""

    head: int
    kept: Path | None


def restore_log(
    copy: Path, target: Path, world: World, progress: Progress | None = None
) -> Restored:
    """Verify a copy and put it in the place of the log at `target`.

    Raises:
        NotFound: there is no such copy.
        Invalid: the copy is the log itself.
        Corrupt: the copy is damaged; nothing was touched.
        Unavailable: another process is using the log, or the disk is full.
    """
    if not copy.is_file():
        raise NotFound(f"no backup {copy}", hint="`everloop backup --list` shows them.")
    if target.exists() and copy.samefile(target):
        raise Invalid("a log cannot be restored from itself", hint="Name one of its backups.")
    target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    with tempfile.TemporaryDirectory(prefix=".restoring-", dir=target.parent) as folder:
        scratch = Path(folder) / "copy.db"
        head = _checked(copy, scratch, world)
        kept = _keep(target, world) if target.exists() else None
        note_restored(target.parent / BACKUPS, world.clock.now())
        _replace(scratch, target, progress)
    return Restored(head, kept)


def _checked(copy: Path, scratch: Path, world: World) -> int:
    """Copy the backup to where it can be opened, verify it there, and say how far it goes."""
    try:
        source = apsw.Connection(str(copy), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            copy_pages(source, scratch)
        finally:
            source.close()
    except apsw.Error as problem:
        raise unavailable(problem, copy) from problem
    log = open_log(scratch, world=world)
    try:
        found = verify(log)
        if not found.ok:
            first = found.damage[0]
            raise Corrupt(
                f"{copy.name} is damaged: position {first.first} {first.problem}",
                hint="Nothing was touched. Try an older backup: `everloop backup --list`.",
            )
        return log.head
    finally:
        log.close()


def _keep(target: Path, world: World) -> Path:
    """Keep the log that is there now: as a backup, or as it is if it is damaged."""
    folder = target.parent / BACKUPS
    now = world.clock.now()
    while any(copy.made_at == now.replace(microsecond=0) for copy in backups(folder)):
        now += timedelta(seconds=1)  # a name says the second; no copy may take another's place
    try:
        log = open_log(target, world=world)
        try:
            if verify(log).ok:
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
    """Write the copy over the log, page by page, so that other processes see it as one change."""
    try:
        restore_backup(scratch, target, progress)
    except Corrupt:
        # What is there is no database at all. It was kept; nobody can be using it.
        for suffix in BESIDE:
            Path(f"{target}{suffix}").unlink(missing_ok=True)
        restore_backup(scratch, target, progress)
