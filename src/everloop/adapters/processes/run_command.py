"""Runs a command that a person gave, as it stands: no shell, nothing to type into it."""

import hashlib
import shlex
import subprocess
from collections.abc import Callable, Sequence
from typing import NamedTuple

from everloop.errors import Invalid

LINE_BYTES_MAX = 65_536
KILLED = 128  # shells add the signal's number to it


class CommandResult(NamedTuple):
    """How a command ended, and the digest of all that it printed."""

    command: str
    exit_code: int
    output_digest: str


def run_command(command: Sequence[str], show: Callable[[str], None]) -> CommandResult:
    """Run a command to its end; what it prints is shown line by line.

    Raises:
        Invalid: there is no such program, or it may not be run.
    """
    digest = hashlib.sha256()
    try:
        with subprocess.Popen(  # noqa: S603 - the user's own words, and no shell reads them
            list(command),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
        ) as process:
            assert process.stdout, "it was asked for"
            while line := process.stdout.readline(LINE_BYTES_MAX):
                digest.update(line)
                show(line.decode(errors="replace").rstrip("\r\n"))
    except OSError as problem:
        raise Invalid(
            f"{command[0]!r} cannot be run: {problem.strerror}",
            hint="Name a program and its arguments after `--`.",
        ) from problem
    code = process.returncode
    return CommandResult(
        shlex.join(command), code if code >= 0 else KILLED - code, digest.hexdigest()
    )
