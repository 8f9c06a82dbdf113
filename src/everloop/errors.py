"""What can go wrong, sorted by who can fix it.

EverloopError(message, hint)
├── Rejected        the caller can: change the request
│   ├── Invalid  ├── NotFound  ├── Conflict (read again, decide again)  └── Forbidden
├── Unavailable     time can: a disk, a database, a model or a runner failed
│   ├── ModelFailed  └── RunnerFailed
└── Corrupt         only we can: the log contradicts itself; stop writing
"""

import re

_LISTING = re.compile(r"`everloop [^`]*` (?:lists|shows) .*")  # a hint that names a command for it

RESTORE = "Run `everloop verify`, then `everloop restore` with a backup."  # what helps if Corrupt
REBUILD = "Run `everloop rebuild`: it is made again from the log, and nothing is lost."


class EverloopError(Exception):
    """Anything Everloop raises on purpose. `hint` is a sentence a person can act on."""

    def __init__(self, message: str, *, hint: str = "") -> None:
        super().__init__(message)
        self.hint = hint

    @property
    def hint_anywhere(self) -> str:
        """The hint for who has no terminal at hand."""
        return "Look up which there are." if _LISTING.fullmatch(self.hint) else self.hint


class Rejected(EverloopError):
    """The request cannot be carried out as asked."""


class Invalid(Rejected):
    """The request is malformed, or breaks a limit."""


class NotFound(Rejected):
    """Something the request names does not exist."""


class Conflict(Rejected):
    """Something changed since the caller looked: read again and decide again."""


class Forbidden(Rejected):
    """The one who asks may not do this."""


class Unavailable(EverloopError):
    """Something outside of us failed; the same request may succeed later."""


class ModelFailed(Unavailable):
    """A model gave no usable answer."""


class RunnerFailed(Unavailable):
    """A worker's process could not be started or was lost."""


class Corrupt(EverloopError):
    """The log contradicts itself. Nothing more is written until a person has looked."""
