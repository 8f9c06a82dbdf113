"""The files of an export: in a zip, in a folder, or one by itself. Nothing is unpacked to the disk.

A zip says how large its files are, and no more than that is ever read of one; so a file that would
fill the disk or the memory is refused before it is opened.
"""

import hashlib
import re
import zipfile
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Final

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.thread.queries.files import FILES
from everloop.thread.settings import Importing

EDGE: Final = 4_096  # bytes at either end of a file by which it is known
SMALL: Final = 10_000_000  # bytes that may be packed as well as they can be
_MARKS: Final = re.compile(r"[-.]")


class Part(msgspec.Struct, frozen=True):
    """One file of an export."""

    name: str
    size: int
    mark: str  # what tells it from others of the same name and size
    open: Callable[[], IO[bytes]]


def parts_of(path: Path, limits: Importing) -> list[Part]:
    """The JSON files of an export, in the order of their names.

    Raises:
        NotFound: there is nothing.
        Invalid: it is no export, or one that would not fit.
    """
    if path.is_dir():
        found = [_file(file, file.relative_to(path).as_posix()) for file in _below(path)]
    elif not path.is_file():
        raise NotFound(f"there is no file {path.name!r}", hint="Name an export, or its folder.")
    elif zipfile.is_zipfile(path):
        found = _packed(path, limits)
    else:
        found = [_file(path, path.name)]
    for part in found:
        if part.size > limits.bytes_max:
            raise Invalid(
                f"{part.name} has {part.size:,} bytes, more than {limits.bytes_max:,}",
                hint="Raise `thread.imports.bytes_max` if you trust it.",
            )
    return found


def others_of(path: Path, limits: Importing) -> dict[str, Callable[[], Part]]:
    """Every other file of an export, by its name and by the ids that its name begins with.

    Those of an export that is one file are in the folder `files` beside it.
    """
    found: dict[str, Callable[[], Part]] = {}
    if path.is_file() and zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        for info in archive.infolist():
            if not info.is_dir():
                name = PurePosixPath(info.filename).name
                _named(found, name, partial(_member, archive, info, limits))
        return found
    for file in sorted((path if path.is_dir() else path.parent / FILES).rglob("*")):
        if file.is_file() and not file.is_symlink():
            _named(found, file.name, partial(_file, file, file.name))
    return found


def _named(found: dict[str, Callable[[], Part]], name: str, part: Callable[[], Part]) -> None:
    """Services put an id before a file's own name, with a hyphen or a dot after it."""
    if name.endswith((".json", ".jsonl")):
        return
    found[name] = part
    for mark in _MARKS.finditer(name):
        found.setdefault(name[: mark.start()], part)


def identity(parts: list[Part]) -> str:
    """The same for the same files, wherever they are."""
    known = "\n".join(f"{Path(part.name).name} {part.size} {part.mark}" for part in parts)
    return hashlib.sha256(known.encode()).hexdigest()


def _below(folder: Path) -> list[Path]:
    """The JSON files in a folder. Links are not followed."""
    found = (*folder.rglob("*.json"), *folder.rglob("*.jsonl"))
    return sorted(file for file in found if file.is_file() and not file.is_symlink())


def _file(path: Path, name: str) -> Part:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        edges = file.read(EDGE)
        file.seek(max(0, size - EDGE))
        edges += file.read(EDGE)
    return Part(name, size, hashlib.sha256(edges).hexdigest(), lambda: path.open("rb"))


def _packed(path: Path, limits: Importing) -> list[Part]:
    try:
        archive = zipfile.ZipFile(path)
    except (zipfile.BadZipFile, OSError, NotImplementedError) as problem:
        raise Invalid(f"{path.name} cannot be unpacked: {problem}") from problem
    inside = sorted(archive.infolist(), key=lambda info: info.filename)
    wanted = [info for info in inside if info.filename.endswith((".json", ".jsonl"))]
    return [_member(archive, info, limits) for info in wanted]


def _member(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: Importing) -> Part:
    packed = max(info.compress_size, 1)
    if info.file_size > SMALL and info.file_size > packed * limits.packed_max:
        raise Invalid(
            f"{info.filename} would unpack to {info.file_size // packed:,} times its size",
            hint="That is no export. `thread.imports.packed_max` is the limit.",
        )

    def opened() -> IO[bytes]:
        try:
            return archive.open(info)
        except (zipfile.BadZipFile, RuntimeError, NotImplementedError) as problem:
            raise Invalid(f"{info.filename} cannot be unpacked: {problem}") from problem

    return Part(info.filename, info.file_size, f"{info.CRC:08x}", opened)
