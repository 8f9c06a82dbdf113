"""Growing files, read line by line from where one stopped.

A file that is shorter than it was, or begins differently, was replaced: it is read from its start.
A last line without an end is left for the next time, unless it is a whole JSON value already.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from everloop.adapters.files.markdown_folder import not_following
from everloop.lessons.capture.entries import Mark, Trouble
from everloop.lessons.capture.settings import CaptureSettings

HEAD_BYTES: Final = 1_024


class Line(msgspec.Struct, frozen=True):
    """A line, and at which byte it begins."""

    offset: int
    content: bytes


class Piece(msgspec.Struct, frozen=True):
    """The next lines of a file. `more`: there is another piece."""

    lines: tuple[Line, ...]
    mark: Mark
    troubles: tuple[Trouble, ...] = ()
    more: bool = False


def next_piece(path: Path, mark: Mark, limits: CaptureSettings) -> Piece:
    """The complete lines after a mark, at most about `piece_bytes` of them.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", opener=not_following) as file:
        start = mark.offset if _is_same(file, mark) else 0
        file.seek(start)
        content = file.read(limits.piece_bytes)
        more = len(content) == limits.piece_bytes
        end = content.rfind(b"\n") + 1
        if more and not end:
            return _past_long_line(file, start, path.name, limits)
        if not more and _is_json(content[end:]):
            end = len(content)
        lines = tuple(_lines(content[:end], start))
        return Piece(lines, Mark(start + end, _head(file, start + end)), more=more)


def last_lines(path: Path, bytes_max: int) -> tuple[Line, ...]:
    """The complete lines at the end of a file, of about so many bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", opener=not_following) as file:
        start = max(0, os.fstat(file.fileno()).st_size - bytes_max)
        file.seek(start)
        content = file.read(bytes_max)
    begin = content.find(b"\n") + 1 if start else 0
    return tuple(_lines(content[begin : content.rfind(b"\n") + 1], start + begin))


def _past_long_line(file: BinaryIO, start: int, name: str, limits: CaptureSettings) -> Piece:
    """The line that does not fit into a piece: read whole if it may be, else passed over."""
    file.seek(start)
    line = file.readline(limits.line_bytes_max)
    if line.endswith(b"\n"):
        mark = Mark(file.tell(), _head(file, file.tell()))
        return Piece((Line(start, line),), mark, more=True)
    if len(line) < limits.line_bytes_max:
        return Piece((), Mark(start, _head(file, start)))
    while (rest := file.readline(limits.piece_bytes)) and not rest.endswith(b"\n"):
        pass
    if not rest:
        return Piece((), Mark(start, _head(file, start)))  # it has no end yet
    problem = f"at byte {start:,}: a line has more than {limits.line_bytes_max:,} bytes"
    trouble = Trouble(name, problem, "Raise `capture.line_bytes_max` if it matters.")
    return Piece((), Mark(file.tell(), _head(file, file.tell())), (trouble,), more=True)


def _lines(content: bytes, start: int) -> Iterator[Line]:
    at = start
    for line in content.split(b"\n"):
        if line.strip():
            yield Line(at, line)
        at += len(line) + 1


def _is_same(file: BinaryIO, mark: Mark) -> bool:
    size = os.fstat(file.fileno()).st_size
    return size >= mark.offset and _head(file, mark.offset) == mark.head


def _head(file: BinaryIO, offset: int) -> str:
    """A digest of how a file begins, of no more than what lies before an offset."""
    file.seek(0)
    return sha256(file.read(min(offset, HEAD_BYTES))).hexdigest()[:32] if offset else ""


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True
