"""Simulates power loss for SQLite, as a VFS: writes that were not synced may be lost.

The program under test sees the real files. The disk also records, for every sector of 512 bytes,
what a sync made durable and each version written since. A power cut picks one of these for every
sector, as a real disk might: in any order, some and not others, with or without a file truncated.

A power cut is one moment for all files, even if other threads are writing.
"""

import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from itertools import count
from pathlib import Path
from typing import Any

import apsw

from everloop.testing.seeded_random import SeededRandom

SECTOR = 512
_JOURNALS = apsw.SQLITE_OPEN_MAIN_JOURNAL | apsw.SQLITE_OPEN_WAL
_names = count(1)
Name = str | apsw.URIFilename | None
DiskImage = dict[str, bytes]  # the content of each file after a power cut, by name


class TrackedFile:
    """One file: its durable content, and what was written since the last sync."""

    def __init__(self, content: bytes = b"", *, named: bool = False) -> None:
        self.named = named  # whether its directory entry is durable
        self._durable = content
        self._newest = bytearray(content)
        self._sizes = [len(content)]
        self._versions: dict[int, list[bytes]] = {}

    def write(self, data: bytes, offset: int) -> None:
        """Record a write, which is not durable yet."""
        end = offset + len(data)
        if end > len(self._newest):
            self._newest.extend(bytes(end - len(self._newest)))
            self._sizes.append(end)
        self._newest[offset:end] = data
        for sector in range(offset // SECTOR, (end - 1) // SECTOR + 1):
            self._versions.setdefault(sector, []).append(self._sector(sector))

    def truncate(self, size: int) -> None:
        """Record a truncation, which is not durable yet."""
        del self._newest[size:]
        self._sizes.append(size)

    def sync(self) -> None:
        """Make the content durable."""
        self._durable = bytes(self._newest)
        self._sizes = [len(self._durable)]
        self._versions.clear()

    def after_cut(self, chance: SeededRandom, newest: float) -> bytes:
        """The content after a power cut. `newest`: how likely a sector keeps its newest write."""
        size = self._sizes[-1] if chance.happens(newest) else chance.choice(self._sizes)
        left = bytearray(self._durable[:size].ljust(size, b"\0"))
        for sector, versions in list(self._versions.items()):
            start = sector * SECTOR
            if start >= size:
                continue
            old = self._durable[start : start + SECTOR].ljust(SECTOR, b"\0")
            chosen = versions[-1] if chance.happens(newest) else chance.choice([old, *versions])
            left[start : start + SECTOR] = chosen.ljust(SECTOR, b"\0")
        return bytes(left[:size])

    def _sector(self, number: int) -> bytes:
        return bytes(self._newest[number * SECTOR : (number + 1) * SECTOR])


class PowerLossDisk(apsw.VFS):
    """The real disk, and what would remain on it after a power cut now."""

    def __init__(self) -> None:
        self.name = f"power-disk-{next(_names)}"
        self.before_call: Callable[[], None] = lambda: None
        self._files: dict[str, TrackedFile] = {}
        self._deleted: dict[str, TrackedFile] = {}
        self.lock = threading.RLock()  # the disk does not change while this lock is held
        super().__init__(self.name, base="")

    def cut(self, chance: SeededRandom) -> DiskImage:
        """The files as they would be after a power cut now. The program does not notice."""
        newest = chance.choice([0.0, 0.5, 0.9, 1.0, chance.random()])
        with self.lock:
            image = {
                name: platter.after_cut(chance, newest)
                for name, platter in self._files.items()
                if platter.named or chance.happens(0.5)
            }
            for name, platter in self._deleted.items():
                if name not in image and chance.happens(0.5):
                    image[name] = platter.after_cut(chance, newest)
        return image

    def platter(self, path: str) -> TrackedFile:
        """The tracked state of a file; content from before is durable."""
        name = Path(path).name
        with self.lock:
            if name not in self._files:
                before = Path(path)
                content = before.read_bytes() if before.exists() else b""
                self._files[name] = TrackedFile(content, named=before.exists())
            return self._files[name]

    def sync_folder(self) -> None:
        """Make all directory entries and deletions durable."""
        self._deleted.clear()
        for platter in self._files.values():
            platter.named = True

    def xOpen(self, name: Name, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        """Open a file; temporary ones without a name are not tracked."""
        if name is None:
            return super().xOpen(name, flags)
        path = name.filename() if isinstance(name, apsw.URIFilename) else name
        return _File(self, self.platter(path), name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        """Delete a file. Unless its folder is synced, it may reappear."""
        self.before_call()
        with self.lock:
            super().xDelete(filename, syncdir)
            name = Path(filename).name
            platter = self._files.pop(name, None)
            self._deleted.pop(name, None)
            if platter is not None and not syncdir:
                self._deleted[name] = platter


class _File(apsw.VFSFile):
    def __init__(
        self, disk: PowerLossDisk, platter: TrackedFile, name: Name, flags: list[int]
    ) -> None:
        self._disk = disk
        self._platter = platter
        self._is_journal = bool(flags[0] & _JOURNALS)
        super().__init__("", name, flags)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        self._disk.before_call()
        with self._disk.lock:
            super().xWrite(data, offset)
            self._platter.write(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        self._disk.before_call()
        with self._disk.lock:
            self._platter.sync()
            if self._is_journal and not self._platter.named:
                self._disk.sync_folder()  # as SQLite does for a new journal

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.before_call()
        with self._disk.lock:
            super().xTruncate(newsize)
            self._platter.truncate(newsize)


@contextmanager
def power_loss_disk() -> Generator[PowerLossDisk]:
    """A disk for one test; pass its `name` as `vfs`."""
    disk = PowerLossDisk()
    try:
        yield disk
    finally:
        disk.unregister()


def write_image(image: DiskImage, folder: Path) -> None:
    """Write the files that remain after a power cut into a folder."""
    for name, content in image.items():
        (folder / name).write_bytes(content)
