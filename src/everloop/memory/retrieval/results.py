"""Search query and search result of memory. Apart from the search itself, which loads numpy."""

from typing import Literal

import msgspec

from everloop.memory.projections.queries import Filter, Item

Mode = Literal["text", "semantic", "hybrid"]


class Asked(msgspec.Struct, frozen=True):
    """A search query to memory: question, limit, mode and filter."""

    text: str
    limit: int = 5
    mode: Mode = "hybrid"
    only: Filter = Filter()
    min_similarity: float = 0.0


# Nothing below can be part of a reference cycle, so the garbage collector skips it (`gc=False`).


class LegWhy(msgspec.Struct, frozen=True, gc=False):
    """What one retriever ("leg") gave a hit: its rank there, similarity 0 to 1, and points."""

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
    """A search hit: an item, how similar it is, which retriever found it, and why."""

    item: Item
    similarity: float
    source: str
    why: Why


class Answer(msgspec.Struct, frozen=True, gc=False):
    """A search result: the hits, best first, and notes about what could not be searched."""

    hits: tuple[Recalled, ...]
    notes: tuple[str, ...]
