"""What we need from the world: the nondeterministic things, as protocols of one or two methods.

Adapters implement them; tests pass fakes. Nothing below `adapters/` reads the time, makes an id
or draws a random number on its own.
"""

from datetime import datetime
from typing import NamedTuple, Protocol


class Clock(Protocol):
    """The time of day."""

    def now(self) -> datetime:
        """This moment, aware, in UTC."""
        ...


class Ids(Protocol):
    """Fresh names."""

    def new(self, prefix: str) -> str:
        """An id that was never given out before, `prefix-…`, ordered by time of making."""
        ...


class Entropy(Protocol):
    """Unpredictable bytes."""

    def draw(self, count: int) -> bytes:
        """`count` random bytes, fit for secrets."""
        ...


class Patience(Protocol):
    """How long to wait for another process that is writing: SQLite's busy handler."""

    def __call__(self, tries: int) -> bool:
        """Wait a little and say whether to try again."""
        ...


class World(NamedTuple):
    """All of it, as an open log needs it. `vfs` names a disk for SQLite; None: the real one."""

    clock: Clock
    ids: Ids
    entropy: Entropy
    patience: Patience
    vfs: str | None = None


class Progress(Protocol):
    """Where long work stands; the doors draw it as a bar."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""
        ...
