"""Streaming split of a JSON list into its elements: only one element is in memory at a time.

Finds where an element begins and ends. Whether an element is valid JSON is checked by its reader.
"""

import re
from collections.abc import Iterator
from typing import BinaryIO, Final

from everloop.errors import Invalid

CHUNK: Final = 1 << 20
# Skips to the next bracket outside of strings; possessive, so no byte is scanned twice.
_SKIP: Final = re.compile(rb'(?:[^"\[\]{}]++|"[^"\\]*+(?:\\.[^"\\]*+)*+")*+', re.DOTALL)


def list_elements(
    file: BinaryIO, name: str, *, bytes_max: int, depth_max: int
) -> Iterator[tuple[int, bytes]]:
    """The objects and lists in a JSON list, each with its end offset.

    Raises:
        Invalid: it is not a list, is truncated, or an element is too long or nested too deep.
    """
    buffer, base, at, start, depth = b"", 0, 0, -1, 0
    while True:
        at = _skip_to_bracket(buffer, at)
        if at == len(buffer) or buffer[at : at + 1] == b'"':
            keep = start if start >= 0 else at
            if len(buffer) - keep > bytes_max:
                raise _error_at(name, base + keep, f"an element has more than {bytes_max:,} bytes")
            more = file.read(max(CHUNK, len(buffer) - keep))
            if not more:
                raise _error_at(name, base + len(buffer), "the file is incomplete")
            buffer, base, at = buffer[keep:] + more, base + keep, at - keep
            start = 0 if start >= 0 else -1
            continue
        mark, at = buffer[at : at + 1], at + 1
        if depth == 0 and mark != b"[":
            raise _error_at(name, base + at - 1, "not a JSON list")
        if mark in (b"[", b"{"):
            start, depth = (at - 1 if depth == 1 else start), depth + 1
            if depth > depth_max:
                raise _error_at(name, base + at - 1, f"it is nested more than {depth_max} deep")
            continue
        depth -= 1
        if depth == 0:
            return
        if depth == 1:
            yield base + at, buffer[start:at]
            start = -1


def _skip_to_bracket(buffer: bytes, at: int) -> int:
    found = _SKIP.match(buffer, at)
    assert found is not None, "the pattern matches the empty string"
    return found.end()


def _error_at(name: str, at: int, problem: str) -> Invalid:
    return Invalid(
        f"{name}, byte {at:,}: {problem}",
        hint="Download the export again, and use the file unchanged.",
    )
