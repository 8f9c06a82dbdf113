"""Reciprocal rank fusion, weighted by evidence: merges the retrievers' hits into one ranking.

A retriever ("leg") gives a hit `weight * evidence * (k + 1) / (k + rank)` points; evidence, 0 to 1,
is how far its score is above the retriever's floor, relative to its best hit. Plain reciprocal rank
fusion gives a weak retriever's guesses as much weight as a strong one's hits, and ranks worse. A
hit then gains a share of its neighbours' points (the turns around it), and its boosts. Points are
comparable within one question only: 1.0 is what the best keyword hit brings by itself.

Pure and deterministic, ties broken by key; an explanation accounts for every point of a hit. Knows
nothing about items, audiences or time: keys are numbers, and callers pass in visible ones only.
Points are computed for all keys at once, explanations only for the hits that are shown.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count, repeat
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import SPARSE_FROM, descending_order
from everloop.memory.retrieval.results import RankExplanation, RetrieverScore

S = TypeVar("S")
Keys = NDArray[np.int64]
Points = NDArray[np.float64]
Find = Callable[[Keys], Keys]

DIGITS: Final = 3  # of numbers in an explanation
RANK_CONSTANT: Final = 60
NEIGHBOUR_SHARE: Final = 0.2
KEYWORD_WEIGHT: Final = 1.0
SEMANTIC_WEIGHT: Final = 0.5
SPEAKER_BOOST: Final = 0.2  # the question names the speaker
TIME_BOOST: Final = 1.0  # the question names the time it was said
LAST: Final = -1.9  # fewer points than any hit can have
NOBODY: Final[Points] = np.empty(0)
NO_WEIGHTS: Final[Mapping[str, Points]] = {}


class RankedList(NamedTuple):
    """The ranked list of one retriever, best first.

    `floor` is the score of a hit without evidence: 0 for words; None for cosines, which are never
    0: then it is the score of the last candidate.
    """

    name: str
    weight: float
    keys: Keys
    scores: Points
    similarity: Points  # 0 to 1
    floor: float | None = None


class _ScoredHits(NamedTuple):
    """The hits of a retriever by rank, with their points: none at or below the floor."""

    name: str
    at: Keys  # the array index of each, best first
    similarity: Points
    points: Points


class _KeyIndex(NamedTuple):
    """The array index of each key: the key itself, or its position among keys if keys are large."""

    size: int
    find: Find
    dense: bool  # whether a key is its own index


class FusedRanking:
    """A fused ranking, best first: keys, points and explanations, by place."""

    def __init__(
        self,
        keys: Keys,
        own: Points,
        counted: Sequence[_ScoredHits],
        boosts: Mapping[str, Points],
        spots: _KeyIndex,
    ) -> None:
        for points in boosts.values():
            own += points
        own[0] = LAST  # key 0 means none
        self._order = descending_order(own)[:-1]  # among equals, the lower key is first
        self._keys, self._points = keys, own
        self._lists, self._boosts, self._key_index = counted, boosts, spots

    def __len__(self) -> int:
        """How many keys are ranked, including those with hardly any points."""
        return len(self._order)

    def indices(self, places: Keys) -> Keys:
        """The indices, among all keys in order, of those at some places of the ranking."""
        return self._order.take(places)

    def keys(self, places: Keys) -> Keys:
        """The keys at some places of the ranking."""
        return self._keys.take(self._order.take(places))

    def points(self, places: Keys) -> Points:
        """The points of the keys at some places of the ranking."""
        return self._points.take(self._order.take(places))

    def explain(self, places: Keys, rank: int = 1) -> list[RankExplanation]:
        """Explanations of the hits at some places, rounded; `rank` is that of the first."""
        at = self._order.take(places)
        spots = self._keys.take(at) if self._key_index.dense else at
        legs = [leg for leg in self._lists if len(leg.at)]
        columns = [self._points.take(at), *(points.take(at) for points in self._boosts.values())]
        ranks: list[list[int]] = []
        for leg in legs:
            by_spot = np.zeros(self._key_index.size, np.int64)
            by_spot[leg.at] = _rank_numbers(len(leg.at))
            nth = by_spot.take(spots)
            ranks.append(nth.tolist())
            nth -= 1  # where there is no rank, any value will do
            columns += (leg.similarity.take(nth), leg.points.take(nth))
        whole = np.concatenate(columns).reshape(len(columns), len(at))
        total, *numbers = whole.round(DIGITS).tolist()
        given = [
            _or_none(zip(repeat(reason), points), points)
            for reason, points in zip(self._boosts, numbers, strict=False)
        ]
        said = iter(numbers[len(given) :])
        found = [
            _or_none(map(RetrieverScore, repeat(leg.name), nth, next(said), next(said)), nth)
            for leg, nth in zip(legs, ranks, strict=True)
        ]
        return list(map(RankExplanation, count(rank), total, _rows_of(found), _rows_of(given)))


def _or_none(values: Iterable[S], worth: Sequence[float]) -> Sequence[S | None]:
    """The values, with None in place of those that brought no points."""
    if all(worth):
        return list(values)
    return [value if good else None for value, good in zip(values, worth, strict=False)]


def _rows_of(columns: Sequence[Sequence[S | None]]) -> Iterable[tuple[S, ...]]:
    """The columns row by row, without None; endless empty rows if there are no columns."""
    if not columns:
        return repeat(())
    return [tuple(filter(None, row)) for row in zip(*columns, strict=True)]


def fuse(
    keys: Keys,
    legs: Sequence[RankedList],
    *,
    neighbours: tuple[Keys, Keys],
    boosts: Mapping[str, NDArray[Any]],
    weights: Mapping[str, Points] = NO_WEIGHTS,
) -> FusedRanking:
    """Fuse ranked lists: all keys that a retriever, a neighbour or a boost gives points to.

    `keys` are all of these in order, after 0, which means none. `neighbours` are keys that a
    retriever found and the turns near them in their conversation, because an answer often lacks the
    words of the question it follows: the first turn near each of them, then the second one, and so
    on; 0 where there is none. `boosts` gives extra points to each key, also to those that no
    retriever found ("what happened on 8 May" has no other words). `weights` multiply what
    retrievers and neighbours gave each key; what that takes away is explained like a boost.
    """
    spots = _key_index(keys)
    counted = [_score_hits(leg, spots.find) for leg in legs]
    own = np.zeros(spots.size)
    own[counted[0].at] = counted[0].points
    for leg in counted[1:]:
        own[leg.at] += leg.points
    givers, takers = neighbours
    shares = own.take(spots.find(givers))
    shares *= NEIGHBOUR_SHARE
    each = np.concatenate((NOBODY, *(len(takers) // max(1, len(givers))) * (shares,)))
    near: Any = np.bincount(spots.find(takers), each, minlength=spots.size)
    near[0] = 0.0
    if spots.dense:
        own, near = own.take(keys), near.take(keys)
    found = own + near
    weighed = {reason: (weight - 1.0) * found for reason, weight in weights.items()}
    return FusedRanking(keys, own, counted, {"neighbours": near, **weighed, **boosts}, spots)


def best_per_group(groups: Keys) -> Keys:
    """The places at which each group (the passages of an item) comes first in a ranking."""
    return np.sort(np.unique(groups, return_index=True)[1])


def _key_index(keys: Keys) -> _KeyIndex:
    size: int = keys.item(-1) + 1
    if size <= SPARSE_FROM:
        return _KeyIndex(size, _identity, dense=True)
    places = np.empty(size, np.int64)  # only entries at keys are ever read
    places[keys] = np.arange(len(keys))
    return _KeyIndex(len(keys), places.take, dense=False)


def _identity(keys: Keys) -> Keys:
    return keys


def _score_hits(leg: RankedList, find: Find) -> _ScoredHits:
    points = _evidence(leg.scores, leg.floor)
    points *= _rank_weights(len(points), leg.weight)
    return _ScoredHits(leg.name, find(leg.keys), leg.similarity, points)


@lru_cache(maxsize=1_024)
def _rank_numbers(last: int) -> Keys:
    return np.arange(1, last + 1)


@lru_cache(maxsize=1_024)
def _rank_weights(last: int, weight: float) -> Points:
    """The reciprocal rank weights, from the first rank to the last."""
    worth: Points = weight * ((RANK_CONSTANT + 1) / (RANK_CONSTANT + _rank_numbers(last)))
    return worth


def _evidence(scores: Points, floor: float | None) -> Points:
    """How far each score, highest first, is above the floor: 1 for the best."""
    if not len(scores):
        return scores
    least = scores.item(-1) if floor is None else floor
    span = scores.item(0) - least
    if span <= 0:  # one hit, or all scores equal: full evidence unless a floor is set
        return np.full(len(scores), float(floor is None))
    evidence: Points = (scores - least) / span if least else scores / span
    return np.maximum(evidence, 0.0, out=evidence) if scores.item(-1) < least else evidence
