"""The standard streams and environment of one command run."""

from collections.abc import Mapping
from typing import NamedTuple, TextIO


class Streams(NamedTuple):
    """Standard streams and environment variables (None: those of the process)."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environment: Mapping[str, str] | None = None
