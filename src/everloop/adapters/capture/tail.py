"""Tails growing files: reads complete lines from the last offset on.

A file that got shorter, or begins differently, was replaced: it is read from its start. A last line
without a line break is left for the next time, unless it is a complete JSON value.
"""

import os
from collections.abc import Iterator
from hashlib import sha256
from pathlib import Path
from typing import BinaryIO, Final

import msgspec

from everloop.adapters.files.markdown_folder import open_no_follow
from everloop.lessons.capture.entries import CaptureProblem, ReadOffset
from everloop.lessons.capture.settings import CaptureSettings

HEAD_BYTES: Final = 1_024


class TailLine(msgspec.Struct, frozen=True):
    """A line with its byte offset."""

    offset: int
    content: bytes


class TailChunk(msgspec.Struct, frozen=True):
    """The next lines of a file. `more`: there is another chunk."""

    lines: tuple[TailLine, ...]
    mark: ReadOffset
    troubles: tuple[CaptureProblem, ...] = ()
    more: bool = False


def read_next_chunk(path: Path, mark: ReadOffset, limits: CaptureSettings) -> TailChunk:
    """The complete lines after a mark, at most about `piece_bytes` of them.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", opener=open_no_follow) as file:
        start = mark.offset if _is_same_file(file, mark) else 0
        file.seek(start)
        content = file.read(limits.piece_bytes)
        more = len(content) == limits.piece_bytes
        end = content.rfind(b"\n") + 1
        if more and not end:
            return _read_long_line(file, start, path.name, limits)
        if not more and _is_json(content[end:]):
            end = len(content)
        lines = tuple(_lines(content[:end], start))
        return TailChunk(lines, ReadOffset(start + end, _head(file, start + end)), more=more)


def last_lines(path: Path, bytes_max: int) -> tuple[TailLine, ...]:
    """The complete lines at the end of a file, in at most `bytes_max` bytes.

    Raises:
        OSError: the file cannot be read.
    """
    with open(path, "rb", opener=open_no_follow) as file:
        start = max(0, os.fstat(file.fileno()).st_size - bytes_max)
        file.seek(start)
        content = file.read(bytes_max)
    begin = content.find(b"\n") + 1 if start else 0
    return tuple(_lines(content[begin : content.rfind(b"\n") + 1], start + begin))


def _read_long_line(file: BinaryIO, start: int, name: str, limits: CaptureSettings) -> TailChunk:
    """A line longer than a chunk: read in full up to `line_bytes_max`, else skipped."""
    file.seek(start)
    line = file.readline(limits.line_bytes_max)
    if line.endswith(b"\n"):
        mark = ReadOffset(file.tell(), _head(file, file.tell()))
        return TailChunk((TailLine(start, line),), mark, more=True)
    if len(line) < limits.line_bytes_max:
        return TailChunk((), ReadOffset(start, _head(file, start)))
    while (rest := file.readline(limits.piece_bytes)) and not rest.endswith(b"\n"):
        pass
    if not rest:
        return TailChunk((), ReadOffset(start, _head(file, start)))  # the line is not complete yet
    problem = f"at byte {start:,}: a line has more than {limits.line_bytes_max:,} bytes"
    trouble = CaptureProblem(name, problem, "Raise `capture.line_bytes_max` to read it.")
    return TailChunk((), ReadOffset(file.tell(), _head(file, file.tell())), (trouble,), more=True)


def _lines(content: bytes, start: int) -> Iterator[TailLine]:
    at = start
    for line in content.split(b"\n"):
        if line.strip():
            yield TailLine(at, line)
        at += len(line) + 1


def _is_same_file(file: BinaryIO, mark: ReadOffset) -> bool:
    size = os.fstat(file.fileno()).st_size
    return size >= mark.offset and _head(file, mark.offset) == mark.head


def _head(file: BinaryIO, offset: int) -> str:
    """A digest of the beginning of a file, up to an offset."""
    file.seek(0)
    return sha256(file.read(min(offset, HEAD_BYTES))).hexdigest()[:32] if offset else ""


def _is_json(line: bytes) -> bool:
    try:
        msgspec.json.decode(line)
    except (msgspec.DecodeError, ValueError, RecursionError):
        return False
    return True
