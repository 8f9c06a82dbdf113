"""What a run is connected to."""

from collections.abc import Mapping
from typing import NamedTuple, TextIO


class Streams(NamedTuple):
    """Where a command reads and writes, and the environment it is run in (None: the real one)."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environment: Mapping[str, str] | None = None
