"""Reads lines of bounded length from a byte stream."""

from collections.abc import Iterator
from typing import Protocol

CHUNK = 65_536
BLANK = b" \t\r\n"


class LineSource(Protocol):
    """A source of lines: a pipe, a file or a socket."""

    def readline(self, size: int = -1, /) -> bytes:
        """Read up to the next line break, at most `size` bytes; empty at the end."""
        ...


class LineTooLong:
    """Marks a line over the length limit, which was skipped."""


LINE_TOO_LONG = LineTooLong()


def read_lines(stream: LineSource, bytes_max: int) -> Iterator[bytes | LineTooLong]:
    """Yield each non-blank line, or `TOO_LONG` in place of one over the limit."""
    while line := stream.readline(bytes_max + 1):
        if len(line) > bytes_max and not line.endswith(b"\n"):
            _skip(stream)
            yield LINE_TOO_LONG
        elif line.strip(BLANK):
            yield line


def _skip(stream: LineSource) -> None:
    """Skip the rest of a line, in chunks."""
    while (rest := stream.readline(CHUNK)) and not rest.endswith(b"\n"):
        pass
