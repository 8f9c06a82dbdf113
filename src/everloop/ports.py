"""What we need from the world: the nondeterministic things, as protocols of one or two methods.

Adapters implement them; tests pass fakes. Nothing below `adapters/` reads the time, makes an id
or draws a random number on its own.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import TYPE_CHECKING, NamedTuple, Protocol

if TYPE_CHECKING:
    from numpy import float32
    from numpy.typing import NDArray


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


class Embedder(Protocol):
    """Texts as vectors. Equal texts give equal vectors, so they are kept by (name, text)."""

    @property
    def name(self) -> str:
        """The model's name; vectors of different names are never compared."""
        ...

    @property
    def dimensions(self) -> int:
        """How long a vector is."""
        ...

    def embed(self, texts: Sequence[str]) -> "NDArray[float32]":
        """One unit vector per text, in order.

        Raises:
            ModelFailed: the model is missing, or failed.
        """
        ...


class Progress(Protocol):
    """Where long work stands; the doors draw it as a bar."""

    def __call__(self, done: int, total: int) -> None:
        """`done` of `total` units are finished."""
        ...
