"""A zip file or a folder as one set of named files, read within limits and never unpacked to disk.

A path that leaves the folder, an encrypted file, or a zip that unpacks to far more than it is, is
refused before anything of it is read.
"""

import io
import zipfile
import zlib
from collections.abc import Mapping
from pathlib import Path, PurePosixPath
from typing import Final, Protocol

from everloop.errors import Invalid
from everloop.worlds.exchange.settings import ExchangeLimits

ZIP: Final = b"PK\x03\x04"
RATIO_FROM: Final = 1_000_000  # smaller files are not judged by their ratio
_UNPACKING: Final = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    OSError,
    NotImplementedError,
    ValueError,
    RuntimeError,
)


class FileSet(Protocol):
    """Named files. Names are relative, with slashes."""

    @property
    def sizes(self) -> Mapping[str, int]:
        """The size of each file in bytes, by name."""
        ...

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            Invalid: it is too large or cannot be read.
        """
        ...


class ZipFiles:
    """The files in a zip file. One that follows a picture is found, too."""

    def __init__(self, source: Path | bytes, name: str, limits: ExchangeLimits) -> None:
        self._name, self._limits = name, limits
        try:
            opened = io.BytesIO(source) if isinstance(source, bytes) else source
            self._zip = zipfile.ZipFile(opened)
            # `is_dir` of some versions of Python fails on an empty name.
            entries = [one for one in self._zip.infolist() if not one.filename.endswith("/")]
        except _UNPACKING as problem:
            raise Invalid(f"{name!r} is not a zip file: {problem}", hint="Pack it again.") from None
        _check_entries(entries, name, limits)
        self._entries = {one.filename: one for one in entries}
        self.sizes: Mapping[str, int] = {one.filename: one.file_size for one in entries}

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            Invalid: it is too large, damaged or missing.
        """
        entry = self._entries.get(name)
        if entry is None:
            raise Invalid(f"{self._name!r} has no {name!r}", hint="Pack it again.")
        _check_size(name, entry.file_size, self._limits)
        try:
            with self._zip.open(entry) as file:
                return file.read(self._limits.file_bytes_max)
        except _UNPACKING as problem:
            raise Invalid(
                f"{name!r} cannot be unpacked: {problem}", hint="Pack it again."
            ) from None


class FolderFiles:
    """The files of a folder. Links that lead out of it are left out."""

    def __init__(self, folder: Path, limits: ExchangeLimits) -> None:
        self._folder, self._limits = folder, limits
        root = folder.resolve()
        found: dict[str, int] = {}
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.resolve().is_relative_to(root):
                found[path.relative_to(folder).as_posix()] = path.stat().st_size
            if len(found) > limits.files_max:
                raise _too_many(folder.name, limits)
        self.sizes: Mapping[str, int] = found

    def read(self, name: str) -> bytes:
        """The content of a file.

        Raises:
            Invalid: it is too large or cannot be read.
        """
        if name not in self.sizes:
            raise Invalid(f"there is no {name!r}", hint="It may have been removed meanwhile.")
        _check_size(name, self.sizes[name], self._limits)
        try:
            return (self._folder / name).read_bytes()
        except OSError as problem:
            raise Invalid(f"{name!r} cannot be read: {problem}", hint="Check its rights.") from None


def write_zip(files: Mapping[str, bytes]) -> bytes:
    """A zip file of these files; the same files give the same bytes."""
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in files.items():
            archive.writestr(zipfile.ZipInfo(name), content, zipfile.ZIP_DEFLATED)
    return packed.getvalue()


def _check_entries(entries: list[zipfile.ZipInfo], name: str, limits: ExchangeLimits) -> None:
    if len(entries) > limits.files_max:
        raise _too_many(name, limits)
    for entry in entries:
        parts = PurePosixPath(entry.filename.replace("\\", "/"))
        if parts.is_absolute() or ".." in parts.parts or ":" in entry.filename[:2]:
            raise Invalid(
                f"{name!r} has a file that leads out of it: {entry.filename!r}",
                hint="It is hostile; do not unpack it.",
            )
        if entry.flag_bits & 1:
            raise Invalid(f"{name!r} is encrypted", hint="Unpack it, and import the folder.")
    size = sum(entry.file_size for entry in entries)
    packed = sum(entry.compress_size for entry in entries)
    if size > limits.total_bytes_max:
        raise Invalid(
            f"{name!r} unpacks to {size:,} bytes, more than {limits.total_bytes_max:,}",
            hint="The setting exchange.total_bytes_max allows more.",
        )
    if any(_is_bomb(entry.file_size, entry.compress_size, limits) for entry in entries) or _is_bomb(
        size, packed, limits
    ):
        raise Invalid(
            f"{name!r} unpacks to more than {limits.packed_max} times its size",
            hint="It is broken or hostile; the setting exchange.packed_max allows more.",
        )


def _is_bomb(size: int, packed: int, limits: ExchangeLimits) -> bool:
    return size > RATIO_FROM and size > packed * limits.packed_max


def _check_size(name: str, size: int, limits: ExchangeLimits) -> None:
    if size > limits.file_bytes_max:
        raise Invalid(
            f"{name!r} has {size:,} bytes, more than {limits.file_bytes_max:,}",
            hint="The setting exchange.file_bytes_max allows larger files.",
        )


def _too_many(name: str, limits: ExchangeLimits) -> Invalid:
    return Invalid(
        f"{name!r} has more than {limits.files_max:,} files",
        hint="The setting exchange.files_max allows more.",
    )
