"""Fault injection for SQLite, as a VFS: I/O errors, torn writes, a full or read-only disk.

It wraps the real files, so WAL, locks and shared memory work as usual. Syncs are skipped;
`power_loss_disk.py` tests what a lost sync costs.
"""

from collections.abc import Generator
from contextlib import contextmanager
from enum import StrEnum
from itertools import count
from typing import Any

import apsw
import msgspec

_names = count(1)
Name = str | apsw.URIFilename | None


class FaultKind(StrEnum):
    """How a call fails."""

    ERROR = "error"  # any call: an I/O error
    FULL = "full"  # a write: no space left
    TORN = "torn"  # a write: half of it is written, then an I/O error


class DiskCall(StrEnum):
    """The file operations of SQLite."""

    OPEN = "open"
    READ = "read"
    WRITE = "write"
    SYNC = "sync"
    TRUNCATE = "truncate"
    DELETE = "delete"


_CODES = {
    DiskCall.OPEN: apsw.SQLITE_CANTOPEN,
    DiskCall.READ: apsw.SQLITE_IOERR_READ,
    DiskCall.WRITE: apsw.SQLITE_IOERR_WRITE,
    DiskCall.SYNC: apsw.SQLITE_IOERR_FSYNC,
    DiskCall.TRUNCATE: apsw.SQLITE_IOERR_TRUNCATE,
    DiskCall.DELETE: apsw.SQLITE_IOERR_DELETE,
}


class DiskFault(msgspec.Struct, frozen=True):
    """The `at`-th call that can fail this way fails; if `lasting`, so do all later ones."""

    kind: FaultKind
    at: int
    lasting: bool = False

    def applies_to(self, call: DiskCall) -> bool:
        """Whether this fault can affect such a call."""
        return self.kind is FaultKind.ERROR or call is DiskCall.WRITE


class FaultyDisk(apsw.VFS):
    """The real disk, with a fault to inject."""

    def __init__(self) -> None:
        self.name = f"faulty-disk-{next(_names)}"
        self.fault: DiskFault | None = None
        self.calls = 0  # calls that the fault can affect
        self.failures = 0
        self.full = False
        self.read_only = False
        super().__init__(self.name, base="")

    def heal(self) -> None:
        """Remove every fault."""
        self.fault = None
        self.full = self.read_only = False

    def check(self, call: DiskCall) -> bool:
        """Let a call pass, or fail it. True: write only half of the data.

        Raises:
            apsw.Error: the injected error.
        """
        if self.full and call is DiskCall.WRITE:
            raise failure(apsw.SQLITE_FULL, "database or disk is full")
        if self.read_only and call in {DiskCall.WRITE, DiskCall.TRUNCATE, DiskCall.DELETE}:
            raise failure(_CODES[call], "disk I/O error")
        if self.fault is None or not self.fault.applies_to(call):
            return False
        self.calls += 1
        if self.calls != self.fault.at and not (self.fault.lasting and self.calls > self.fault.at):
            return False
        self.failures += 1
        if self.fault.kind is FaultKind.FULL:
            raise failure(apsw.SQLITE_FULL, "database or disk is full")
        if self.fault.kind is FaultKind.ERROR:
            raise failure(_CODES[call], "disk I/O error")
        return True

    def xOpen(self, name: Name, flags: list[int]) -> apsw.VFSFile:  # noqa: N802 - SQLite's name
        """Open a file; read-only, if the disk is."""
        self.check(DiskCall.OPEN)
        if self.read_only and flags[0] & apsw.SQLITE_OPEN_READWRITE:
            writing = apsw.SQLITE_OPEN_READWRITE | apsw.SQLITE_OPEN_CREATE
            flags[0] = flags[0] & ~writing | apsw.SQLITE_OPEN_READONLY
        return _File(self, name, flags)

    def xDelete(self, filename: str, syncdir: bool) -> None:  # noqa: N802 - SQLite's name
        """Delete a file."""
        self.check(DiskCall.DELETE)
        super().xDelete(filename, syncdir)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        """Do not report injected errors that SQLite ignored."""
        del etype, evalue, etraceback
        return True


class _File(apsw.VFSFile):
    def __init__(self, disk: FaultyDisk, name: Name, flags: list[int]) -> None:
        self._disk = disk
        super().__init__("", name, flags)

    def xRead(self, amount: int, offset: int) -> bytes:  # noqa: N802
        self._disk.check(DiskCall.READ)
        return super().xRead(amount, offset)

    def xWrite(self, data: Any, offset: int) -> None:  # noqa: N802
        torn = self._disk.check(DiskCall.WRITE)
        if torn:
            super().xWrite(data[: len(data) // 2], offset)
            raise failure(apsw.SQLITE_IOERR_WRITE, "disk I/O error")
        super().xWrite(data, offset)

    def xSync(self, flags: int) -> None:  # noqa: N802, ARG002
        self._disk.check(DiskCall.SYNC)

    def xTruncate(self, newsize: int) -> None:  # noqa: N802
        self._disk.check(DiskCall.TRUNCATE)
        super().xTruncate(newsize)

    def excepthook(self, etype: Any, evalue: Any, etraceback: Any) -> bool:
        del etype, evalue, etraceback
        return True


@contextmanager
def faulty_disk() -> Generator[FaultyDisk]:
    """A faulty disk for one test; pass its `name` as `vfs`."""
    disk = FaultyDisk()
    try:
        yield disk
    finally:
        disk.unregister()


def failure(code: int, text: str) -> Exception:
    """The exception that a VFS raises to report an error code to SQLite."""
    problem = apsw.exception_for(code)
    problem.args = (text,)
    return problem
