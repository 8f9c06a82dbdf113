"""Search query and search result of memory. Apart from the search itself, which loads numpy."""

from typing import Literal

import msgspec

from everloop.memory.projections.queries import Filter, Item

SearchMode = Literal["text", "semantic", "hybrid"]
NO_MATCH = "No good match: nothing in memory fits the question well enough."


class SearchQuery(msgspec.Struct, frozen=True):
    """A search query to memory: question, limit, mode and filter."""

    text: str
    limit: int = 5
    mode: SearchMode = "hybrid"
    only: Filter = Filter()
    min_similarity: float = 0.0
    weak: bool = False  # hits may fit as badly as they like


# Nothing below can be part of a reference cycle, so the garbage collector skips it (`gc=False`).


class RetrieverScore(msgspec.Struct, frozen=True, gc=False):
    """What one retriever ("leg") gave a hit: its rank there, similarity 0 to 1, and points."""

    leg: str
    rank: int
    similarity: float
    points: float


class RankExplanation(msgspec.Struct, frozen=True, gc=False):
    """Why an item ranks where it does."""

    rank: int
    points: float
    legs: tuple[RetrieverScore, ...]
    boosts: tuple[tuple[str, float], ...]


class SearchHit(msgspec.Struct, frozen=True, gc=False):
    """A search hit: an item, how similar it is, which retriever found it, and why."""

    item: Item
    similarity: float
    source: str
    why: RankExplanation


class SearchResult(msgspec.Struct, frozen=True, gc=False):
    """A search result: the hits, best first, and notes about what could not be searched.

    If nothing fits the query well enough, there are no hits, and `closest` has what comes nearest.
    """

    hits: tuple[SearchHit, ...]
    notes: tuple[str, ...]
    closest: tuple[SearchHit, ...] = ()
