"""The one table from error class to exit code. Scripts rely on it; `docs/cli.md` prints it."""

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
DECLINED = 1  # a person was asked and said no; nothing was changed
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
    DONE: "done",
    DECLINED: "you were asked and said no; nothing was changed",
    2: "the request cannot be carried out as asked: change it",
    3: "something the request names does not exist",
    4: "something changed meanwhile: look again, then decide again",
    5: "you may not do this",
    69: "a disk, a database or a program is not available now: try again later",
    70: "the log contradicts itself: see `everloop verify`",
    INTERRUPTED: "interrupted from the keyboard",
}


def exit_code(problem: EverloopError) -> int:
    """The exit code for an error: its own row, or that of its nearest ancestor."""
    for ancestor in type(problem).__mro__:
        if ancestor in EXIT_CODES:
            return EXIT_CODES[ancestor]
    return EXIT_CODES[Corrupt]
