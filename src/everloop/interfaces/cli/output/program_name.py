"""The command as the user started it, so that every hint can be copied and run.

Texts say `everloop …`. A user who runs `.venv/bin/everloop` or `python -m everloop` has no such
command, so hints are printed with the words that work for them.
"""

import re
import shlex
import shutil
import sys
from pathlib import Path

DEFAULT_PROGRAM = "everloop"
_COMMAND = re.compile(r"(?<![\w./'\"-])everloop(?= (?:--)?[a-z])")


def started_program(started: str = "") -> str:
    """The words that start this program: its name if it is on the path, else where it is.

    `started` is the first word of the process: a script, or a module run by `python -m`.
    """
    path = Path(started or sys.argv[0])
    if path.name == "__main__.py":
        return f"{_shortest(Path(sys.executable))} -m everloop"
    return _shortest(path) if path.stem == DEFAULT_PROGRAM else DEFAULT_PROGRAM


def name_commands(text: str, program: str) -> str:
    """The text with every command of ours written as the user would type it."""
    if program == DEFAULT_PROGRAM:
        return text
    return _COMMAND.sub(lambda _: program, text)


def _shortest(path: Path) -> str:
    """A program as one types it: its name, its path from here, or its full path."""
    known = shutil.which(path.name)
    if known is not None and Path(known).absolute() == path.absolute():
        return path.name
    whole, here = path.absolute(), Path.cwd()
    return shlex.quote(str(whole.relative_to(here) if whole.is_relative_to(here) else whole))
