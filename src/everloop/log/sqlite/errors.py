"""Translates SQLite errors into errors with a message and a hint for people."""

import os
from pathlib import Path

import apsw

from everloop.errors import REBUILD_HINT, RESTORE_HINT, Corrupt, Unavailable

SAFE_SQLITE = (3, 51, 3)  # older versions can corrupt a WAL that two processes write


def require_safe_sqlite(version: str) -> None:
    """Refuse a SQLite version that can corrupt a file shared by two processes.

    Raises:
        Unavailable: the library is older than 3.51.3.
    """
    if tuple(int(part) for part in version.split(".")[:3]) < SAFE_SQLITE:
        raise Unavailable(
            f"SQLite {version} can corrupt a log that two processes write",
            hint="Install a newer version: pip install --upgrade apsw",
        )


def is_read_only(path: Path) -> bool:
    """Whether a file is there, but it or its folder cannot be written."""
    return path.exists() and not (os.access(path, os.W_OK) and os.access(path.parent, os.W_OK))


def translate_sqlite_error(
    problem: apsw.Error | UnicodeDecodeError, path: Path
) -> Unavailable | Corrupt:
    """Translate a SQLite error into ours, with a hint."""
    if isinstance(problem, apsw.CantOpenError) and is_read_only(path):
        problem = apsw.ReadOnlyError()  # the files beside it cannot be made
    match problem:
        case apsw.FullError():
            return Unavailable(
                f"no space left for {path.name}; nothing was lost",
                hint="Free some disk space; Everloop then continues by itself.",
            )
        case apsw.ReadOnlyError() | apsw.PermissionsError():
            return Unavailable(
                f"{path.name} cannot be written: its folder is read-only",
                hint="Make the folder writable; Everloop then continues by itself.",
            )
        case apsw.CantOpenError():
            return Unavailable(
                f"{path} cannot be opened",
                hint="Check that its folder exists and that you may access it.",
            )
        case apsw.BusyError():
            return Unavailable(
                f"{path.name} is locked by another process",
                hint="Try again; if that does not help, look for a stuck `everloop` process.",
            )
        case apsw.CorruptError() | apsw.NotADBError() | UnicodeDecodeError():
            index = getattr(problem, "extendedresult", 0) == apsw.SQLITE_CORRUPT_VTAB
            what = f"an index in {path.name}" if index else path.name
            return Corrupt(
                f"{what} is damaged: {problem}", hint=REBUILD_HINT if index else RESTORE_HINT
            )
        case _:
            return Unavailable(f"{path.name}: {problem}", hint="Try again.")
