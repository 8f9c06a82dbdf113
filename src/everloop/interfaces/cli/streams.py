"""The standard streams and environment of one command run."""

from collections.abc import Mapping
from typing import NamedTuple, TextIO


class Streams(NamedTuple):
    """Standard streams, environment (None: that of the process) and name of the program."""

    stdin: TextIO
    stdout: TextIO
    stderr: TextIO
    environment: Mapping[str, str] | None = None
    program: str = "everloop"  # the command as the user started it
