"""What is asked of a memory, and what it answers. Apart from recall itself, which loads numpy."""

from typing import Literal

import msgspec

from everloop.memory.projections.queries import Filter, Item

Mode = Literal["text", "semantic", "hybrid"]


class Asked(msgspec.Struct, frozen=True):
    """A question to memory."""

    text: str
    limit: int = 5
    mode: Mode = "hybrid"
    only: Filter = Filter()
    min_similarity: float = 0.0


# Nothing below can be part of a circle, so the garbage collector need not look (`gc=False`).


class LegWhy(msgspec.Struct, frozen=True, gc=False):
    """What one leg found: its rank there, the raw similarity 0 to 1, and the points it brought."""

    leg: str
    rank: int
    similarity: float
    points: float


class Why(msgspec.Struct, frozen=True, gc=False):
    """Why an item ranks where it does."""

    rank: int
    points: float
    legs: tuple[LegWhy, ...]
    boosts: tuple[tuple[str, float], ...]


class Recalled(msgspec.Struct, frozen=True, gc=False):
    """An item that was found."""

    item: Item
    similarity: float
    source: str
    why: Why


class Answer(msgspec.Struct, frozen=True, gc=False):
    """What memory has to say, and what it could not do."""

    hits: tuple[Recalled, ...]
    notes: tuple[str, ...]
