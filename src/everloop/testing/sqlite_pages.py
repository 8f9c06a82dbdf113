"""Locates the bytes of each row in a SQLite file, for tests that damage a row.

Supports just enough of the file format: leaf pages of a rowid table and their overflow pages.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

import apsw

from everloop.log.sql_rows import query_rows

_LEAF = 0x0D
_HEADER = 8  # of a leaf page
_POINTER = 4  # to an overflow page


class ByteRange(NamedTuple):
    """A range of bytes in the file that belongs to a row."""

    rowid: int
    start: int
    length: int


def row_byte_ranges(path: Path, table: str) -> list[ByteRange]:
    """The byte ranges of all rows of a table. The file must be closed."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        size = int(db.pragma("page_size"))
        pages = query_rows(
            db, "SELECT pageno FROM dbstat WHERE name = ? AND pagetype = 'leaf'", (table,)
        )
    finally:
        db.close()
    content = path.read_bytes()
    return [extent for (page,) in pages for extent in _rows(content, page, size)]


def _rows(content: bytes, page: int, size: int) -> Iterator[ByteRange]:
    base = (page - 1) * size
    header = base + (100 if page == 1 else 0)
    assert content[header] == _LEAF, "a leaf page of a table"
    for cell in range(int.from_bytes(content[header + 3 : header + 5])):
        pointer = header + _HEADER + 2 * cell
        yield from _row(content, base + int.from_bytes(content[pointer : pointer + 2]), size)


def _row(content: bytes, start: int, size: int) -> Iterator[ByteRange]:
    payload, at = _varint(content, start)
    rowid, at = _varint(content, at)
    local = _local(payload, size)
    spilled = payload - local
    yield ByteRange(rowid, start, at + local - start + (_POINTER if spilled else 0))
    at += local
    while spilled:
        page = (int.from_bytes(content[at : at + _POINTER]) - 1) * size
        here = min(spilled, size - _POINTER)
        yield ByteRange(rowid, page + _POINTER, here)
        spilled -= here
        at = page


def _local(payload: int, usable: int) -> int:
    """How many bytes of a payload are on its leaf page."""
    most = usable - 35
    if payload <= most:
        return payload
    least = (usable - 12) * 32 // 255 - 23
    rest = least + (payload - least) % (usable - 4)
    return rest if rest <= most else least


def _varint(content: bytes, at: int) -> tuple[int, int]:
    value = 0
    for _ in range(8):
        byte = content[at]
        at += 1
        value = value << 7 | byte & 0x7F
        if byte < 0x80:
            return value, at
    return value << 8 | content[at], at + 1
