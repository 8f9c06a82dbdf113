"""A JSON list of any length, one element at a time: only the element at hand is in memory.

What is found here is where an element begins and ends. Whether it is JSON is for its reader.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from everloop.errors import Invalid

CHUNK: Final = 1 << 20
# All up to the next bracket: no string that is whole counts, and nothing is looked at twice.
_SKIP: Final = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)


def elements(
    file: BinaryIO, name: str, *, bytes_max: int, depth_max: int
) -> Iterator[tuple[int, bytes]]:
    """The objects and lists in a JSON list, each with the byte after which it ends.

    Raises:
        Invalid: it is no list, ends too early, or an element is too long or too deep.
    """
    buffer, base, at, start, depth = b"", 0, 0, -1, 0
    while True:
        at = _skipped(buffer, at)
        if at == len(buffer) or buffer[at : at + 1] == b'"':
            keep = start if start >= 0 else at
            if len(buffer) - keep > bytes_max:
                raise _trouble(name, base + keep, f"an element has more than {bytes_max:,} bytes")
            more = file.read(max(CHUNK, len(buffer) - keep))
            if not more:
                raise _trouble(name, base + len(buffer), "it ends in the middle")
            buffer, base, at = buffer[keep:] + more, base + keep, at - keep
            start = 0 if start >= 0 else -1
            continue
        mark, at = buffer[at : at + 1], at + 1
        if depth == 0 and mark != b"[":
            raise _trouble(name, base + at - 1, "it is no JSON list")
        if mark in (b"[", b"{"):
            start, depth = (at - 1 if depth == 1 else start), depth + 1
            if depth > depth_max:
                raise _trouble(name, base + at - 1, f"it is nested more than {depth_max} deep")
            continue
        depth -= 1
        if depth == 0:
            return
        if depth == 1:
            yield base + at, buffer[start:at]
            start = -1


def _skipped(buffer: bytes, at: int) -> int:
    found = _SKIP.match(buffer, at)
    assert found is not None, "it matches the empty text"
    return found.end()


def _trouble(name: str, at: int, problem: str) -> Invalid:
    return Invalid(f"{name}, byte {at:,}: {problem}", hint="Is it the file as it was exported?")
