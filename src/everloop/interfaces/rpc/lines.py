"""Lines of a bounded length from a stream of bytes."""

from collections.abc import Iterator
from typing import Protocol

CHUNK = 65_536
BLANK = b" \t\r\n"


class Readable(Protocol):
    """Where lines come from: a pipe, a file or a socket."""

    def readline(self, size: int = -1, /) -> bytes:
        """Up to the next line break, at most so many bytes; empty at the end."""
        ...


class TooLong:
    """Stands for a line that was longer than allowed. It has been read away."""


TOO_LONG = TooLong()


def lines(stream: Readable, bytes_max: int) -> Iterator[bytes | TooLong]:
    """Every line that is not blank, without its line break."""
    while line := stream.readline(bytes_max + 1):
        if len(line) > bytes_max and not line.endswith(b"\n"):
            _skip(stream)
            yield TOO_LONG
        elif line.strip(BLANK):
            yield line


def _skip(stream: Readable) -> None:
    """Read the rest of a line away, a little at a time."""
    while (rest := stream.readline(CHUNK)) and not rest.endswith(b"\n"):
        pass
