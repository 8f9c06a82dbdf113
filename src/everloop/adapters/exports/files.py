"""The files of an export: a zip, a folder, or a single file. Nothing is unpacked to disk.

Sizes and compression ratios in a zip's directory are checked before a file is opened, and no more
is read than the directory states; so zip bombs are rejected.
"""

import hashlib
import lzma
import re
import zipfile
import zlib
from collections.abc import Callable
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO, Final

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.thread.queries.files import FILES_FOLDER
from everloop.thread.settings import ImportLimits

# What the standard library raises for damaged, encrypted or unknown archives.
UNPACKING_ERRORS = (
    zipfile.BadZipFile,
    zlib.error,
    lzma.LZMAError,
    EOFError,
    OSError,
    RuntimeError,  # encrypted, or a generator that ended too early
    NotImplementedError,
    UnicodeDecodeError,
    StopIteration,
)
EDGE: Final = 4_096  # bytes at both ends of a file that go into its fingerprint
SMALL: Final = 10_000_000  # bytes up to which any compression ratio is accepted
_SEPARATORS: Final = re.compile(r"[-.]")


class ExportPart(msgspec.Struct, frozen=True):
    """One file of an export."""

    name: str
    size: int
    mark: str  # fingerprint that tells it from others of the same name and size
    open: Callable[[], IO[bytes]]


def json_parts(path: Path, limits: ImportLimits) -> list[ExportPart]:
    """The JSON files of an export, sorted by name.

    Raises:
        NotFound: the path does not exist.
        Invalid: it cannot be unpacked, or exceeds a limit.
    """
    if path.is_dir():
        found = [_file_part(file, file.relative_to(path).as_posix()) for file in _json_files(path)]
    elif not path.is_file():
        raise NotFound(
            f"no file {path.name!r}", hint="Give the path of an export file or its folder."
        )
    elif zipfile.is_zipfile(path):
        found = _zip_parts(path, limits)
    else:
        found = [_file_part(path, path.name)]
    for part in found:
        if part.size > limits.bytes_max:
            raise Invalid(
                f"{part.name} has {part.size:,} bytes, more than {limits.bytes_max:,}",
                hint="Raise `thread.imports.bytes_max` if you trust it.",
            )
    return found


def attachment_parts(path: Path, limits: ImportLimits) -> dict[str, Callable[[], ExportPart]]:
    """Every other file of an export, by its name and by the id prefixes of its name.

    For a single-file export, they are in the folder `files` next to it.
    """
    found: dict[str, Callable[[], ExportPart]] = {}
    if path.is_file() and zipfile.is_zipfile(path):
        archive = zipfile.ZipFile(path)
        for info in archive.infolist():
            if not info.is_dir():
                name = PurePosixPath(info.filename).name
                _index_file(found, name, partial(_zip_part, archive, info, limits))
        return found
    for file in sorted((path if path.is_dir() else path.parent / FILES_FOLDER).rglob("*")):
        if file.is_file() and not file.is_symlink():
            _index_file(found, file.name, partial(_file_part, file, file.name))
    return found


def _index_file(
    found: dict[str, Callable[[], ExportPart]], name: str, part: Callable[[], ExportPart]
) -> None:
    """Index a file by name and id prefix: services put an id and `-` or `.` before the name."""
    if name.endswith((".json", ".jsonl")):
        return
    found[name] = part
    for mark in _SEPARATORS.finditer(name):
        found.setdefault(name[: mark.start()], part)


def export_fingerprint(parts: list[ExportPart]) -> str:
    """A fingerprint of the files: the same wherever they are."""
    known = "\n".join(f"{Path(part.name).name} {part.size} {part.mark}" for part in parts)
    return hashlib.sha256(known.encode()).hexdigest()


def _json_files(folder: Path) -> list[Path]:
    """The JSON files in a folder. Symbolic links are not followed."""
    found = (*folder.rglob("*.json"), *folder.rglob("*.jsonl"))
    return sorted(file for file in found if file.is_file() and not file.is_symlink())


def _file_part(path: Path, name: str) -> ExportPart:
    with path.open("rb") as file:
        size = file.seek(0, 2)
        file.seek(0)
        edges = file.read(EDGE)
        file.seek(max(0, size - EDGE))
        edges += file.read(EDGE)
    return ExportPart(name, size, hashlib.sha256(edges).hexdigest(), lambda: path.open("rb"))


def _zip_parts(path: Path, limits: ImportLimits) -> list[ExportPart]:
    try:
        archive = zipfile.ZipFile(path)
    except UNPACKING_ERRORS as problem:
        raise Invalid(f"{path.name} cannot be unpacked: {problem}") from problem
    inside = sorted(archive.infolist(), key=lambda info: info.filename)
    wanted = [info for info in inside if info.filename.endswith((".json", ".jsonl"))]
    return [_zip_part(archive, info, limits) for info in wanted]


def _zip_part(archive: zipfile.ZipFile, info: zipfile.ZipInfo, limits: ImportLimits) -> ExportPart:
    packed = max(info.compress_size, 1)
    if info.file_size > SMALL and info.file_size > packed * limits.packed_max:
        raise Invalid(
            f"{info.filename} would unpack to {info.file_size // packed:,} times its size",
            hint="It does not look like an export. The limit is `thread.imports.packed_max`.",
        )

    def opened() -> IO[bytes]:
        try:
            return archive.open(info)
        except UNPACKING_ERRORS as problem:
            raise Invalid(f"{info.filename} cannot be unpacked: {problem}") from problem

    return ExportPart(info.filename, info.file_size, f"{info.CRC:08x}", opened)
