"""Error classes, sorted by who can fix the problem.

EverloopError(message, hint)
├── Rejected        the caller can: change the request
│   ├── Invalid  ├── NotFound  ├── Conflict (read again, decide again)  └── Forbidden
├── Unavailable     time can: a disk, a database, a model or a runner failed
│   ├── ModelFailed  └── RunnerFailed
└── Corrupt         only we can: the log contradicts itself; stop writing
"""

import re

_LISTING = re.compile(r"`everloop [^`]*` (?:lists|shows) .*")  # a hint that refers to a CLI command

RESTORE_HINT = "Run `everloop verify`, then `everloop restore` with a backup."  # hint for Corrupt
REBUILD_HINT = "Run `everloop rebuild`: it is made again from the log, and nothing is lost."


class EverloopError(Exception):
    """Base class of all errors that Everloop raises. `hint` says what a person can do."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def hint_without_cli(self) -> str:
        """The hint without CLI commands, for users who have no terminal."""
        return "Look up which there are." if _LISTING.fullmatch(self.hint) else self.hint


class Rejected(EverloopError):
    """The request cannot be carried out as asked."""


class Invalid(Rejected):
    """The request is malformed, or breaks a limit."""


class NotFound(Rejected):
    """Something that the request refers to does not exist."""


class Conflict(Rejected):
    """Something changed since the caller read it: read again and decide again."""


class Forbidden(Rejected):
    """The caller has no permission for this."""


class Unavailable(EverloopError):
    """Something outside of Everloop failed; the same request may succeed later."""


class ModelFailed(Unavailable):
    """A model gave no usable answer."""


class RunnerFailed(Unavailable):
    """A worker's process could not be started or was lost."""


class Corrupt(EverloopError):
    """The log is inconsistent. Nothing more is written until a person has checked it."""
