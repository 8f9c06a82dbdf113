"""The table from error class to exit code. Scripts rely on it; `docs/cli.md` prints it."""

from everloop.errors import (
    Conflict,
    Corrupt,
    EverloopError,
    Forbidden,
    NotFound,
    Rejected,
    Unavailable,
)

DONE = 0
DECLINED = 1  # the user declined the confirmation; nothing was changed
INTERRUPTED = 130

EXIT_CODES: dict[type[EverloopError], int] = {
    Rejected: 2,
    NotFound: 3,
    Conflict: 4,
    Forbidden: 5,
    Unavailable: 69,
    Corrupt: 70,
}

MEANINGS: dict[int, str] = {
    DONE: "success",
    DECLINED: "you declined the confirmation; nothing was changed",
    2: "invalid request: change it and try again",
    3: "not found",
    4: "conflict: the data changed in the meantime; read it again and retry",
    5: "permission denied",
    69: "a disk, database or program is not available: try again later",
    70: "the log is damaged, or an internal error: run `everloop verify`",
    INTERRUPTED: "interrupted with Ctrl-C",
}


def exit_code(problem: EverloopError) -> int:
    """The exit code of an error: that of its class, or of the nearest base class."""
    for ancestor in type(problem).__mro__:
        if ancestor in EXIT_CODES:
            return EXIT_CODES[ancestor]
    return EXIT_CODES[Corrupt]
