"""Snapshot of the search index: arrays in a file, so that a new process starts warm.

A cache: the file names the log, the position and the projection versions it was made from, has a
checksum for each array, and is deleted if anything does not match. It is written to a temporary
file and renamed, so a reader finds the old one or the new one, never half of one.
"""

import os
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from tokenize import TokenError
from typing import Any, BinaryIO
from zlib import crc32

import msgspec
import numpy as np
from numpy.typing import NDArray

FORMAT = 4
DAMAGED = (
    OSError,
    ValueError,
    EOFError,
    TokenError,
    MemoryError,
)  # what numpy raises on damaged headers

Arrays = dict[str, NDArray[Any]]

_WRITING = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


class SnapshotHeader(msgspec.Struct, frozen=True):
    """Identity of a snapshot: two with equal headers have the same contents."""

    head: int
    digest: str  # of the record at `head`
    purged: int | None
    model: str
    views: tuple[int, ...]
    format: int = FORMAT


class _Contents(msgspec.Struct, frozen=True):
    header: SnapshotHeader
    checksums: dict[str, int]  # by name, in the order of the arrays


class IndexSnapshot:
    """One snapshot file."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._new = path.with_name(f"{path.name}.new")

    def header(self) -> SnapshotHeader | None:
        """The header of the stored snapshot, if there is one."""
        try:
            with self._path.open("rb") as file:
                return _contents(file).header
        except FileNotFoundError:
            return None
        except DAMAGED:
            self.discard()
            return None

    def load(self, header: SnapshotHeader) -> Arrays | None:
        """The arrays, if the header matches and no checksum fails."""
        try:
            with self._path.open("rb") as file:
                contents = _contents(file)
                return _arrays(file, contents.checksums) if contents.header == header else None
        except DAMAGED:
            self.discard()
            return None

    def save(self, header: SnapshotHeader, arrays: Mapping[str, NDArray[Any]]) -> None:
        """Write these arrays, in place of the old snapshot."""
        whole = {name: np.ascontiguousarray(array) for name, array in arrays.items()}
        sums = {name: _checksum(name, array) for name, array in whole.items()}
        contents = np.frombuffer(msgspec.json.encode(_Contents(header, sums)), np.uint8)
        with suppress(OSError):  # e.g. a full disk: then the next process reads the log instead
            with os.fdopen(os.open(self._new, _WRITING, 0o600), "wb") as file:
                for array in (contents, *whole.values()):
                    np.save(file, array, allow_pickle=False)
            self._new.replace(self._path)
        with suppress(OSError):
            self._new.unlink(missing_ok=True)

    def delete(self) -> None:
        """Delete the file, and a temporary file that an interrupted write left."""
        self._new.unlink(missing_ok=True)
        self._path.unlink(missing_ok=True)

    def discard(self) -> None:
        """Delete a useless file; where nothing can be written, leave it."""
        with suppress(OSError):
            self.delete()


def _contents(file: BinaryIO) -> _Contents:
    encoded: NDArray[np.uint8] = np.load(file, allow_pickle=False)
    return msgspec.json.decode(encoded.tobytes(), type=_Contents)


def _arrays(file: BinaryIO, checksums: Mapping[str, int]) -> Arrays:
    found: Arrays = {}
    for name, checksum in checksums.items():
        found[name] = np.load(file, allow_pickle=False)
        if _checksum(name, found[name]) != checksum:
            raise ValueError(f"the checksum of {name} does not match")
    return found


def _checksum(name: str, array: NDArray[Any]) -> int:
    return crc32(array.ravel().view(np.uint8).data, crc32(name.encode()))
