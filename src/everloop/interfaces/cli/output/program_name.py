"""The command as the user started it, so that every hint can be copied and run.

Texts say `everloop …`. A user who runs `.venv/bin/everloop` or `python -m everloop` has no such
command, so hints are printed with the words that work for them.

Every command loads this module, and `pathlib` would cost more than all the rest of it.
"""

import os
import re
import shlex
import shutil
import sys

DEFAULT_PROGRAM = "everloop"
_COMMAND = re.compile(r"(?<![\w./'\"-])everloop(?= (?:--)?[a-z])")


def started_program(started: str = "") -> str:
    """The words that start this program: its name if it is on the path, else where it is.

    `started` is the first word of the process: a script, or a module run by `python -m`.
    """
    path = started or sys.argv[0]
    name = os.path.basename(path)
    if name == "__main__.py":
        return f"{_shortest(sys.executable)} -m everloop"
    return _shortest(path) if os.path.splitext(name)[0] == DEFAULT_PROGRAM else DEFAULT_PROGRAM


def name_commands(text: str, program: str) -> str:
    """The text with every command of ours written as the user would type it."""
    if program == DEFAULT_PROGRAM:
        return text
    return _COMMAND.sub(lambda _: program, text)


def _shortest(path: str) -> str:
    """A program as one types it: its name, its path from here, or its full path."""
    name, whole = os.path.basename(path), os.path.abspath(path)
    known = shutil.which(name)
    if known is not None and os.path.abspath(known) == whole:
        return name
    here = os.path.join(os.getcwd(), "")
    return shlex.quote(whole.removeprefix(here))
