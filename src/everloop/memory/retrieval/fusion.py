"""From what each leg found to one ranking that explains itself.

Reciprocal rank, weighed by evidence. A leg's hit brings `weight * evidence * (k + 1) / (k + rank)`
points, where evidence, 0 to 1, is how far its score stands above the leg's floor compared with the
leg's best hit. Plain reciprocal rank gives a weak leg's guesses as much say as a strong leg's
finds, and loses by it; here a guess that barely beats the floor brings next to nothing. A hit then
gains a share of the points of its neighbours (the turns around it), and the boosts it was given.
Points are comparable within one question only: 1.0 is what the words' best hit brings by itself.

Promises: pure, deterministic, ties broken by key; every point a hit has is named in it. Knows
nothing about items, audiences or time: keys are numbers, and only what may be seen may be passed
in. Points are made for all at once, reasons only for the hits that somebody looks at.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import count, repeat
from typing import Any, Final, NamedTuple, TypeVar

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.row_sets import SPARSE_FROM, best_first
from everloop.memory.retrieval.results import LegWhy, Why

S = TypeVar("S")
Keys = NDArray[np.int64]
Points = NDArray[np.float64]
Find = Callable[[Keys], Keys]

DIGITS: Final = 3  # of what a reason says
RANK_CONSTANT: Final = 60
NEIGHBOUR_SHARE: Final = 0.2
WORDS_WEIGHT: Final = 1.0
MEANING_WEIGHT: Final = 0.5
NAMED_BOOST: Final = 0.2  # the question names who said it
TIME_BOOST: Final = 1.0  # the question names the time it was said
LAST: Final = -1.9  # points that are less than any
NOBODY: Final[Points] = np.empty(0)


class Leg(NamedTuple):
    """One way of searching and what it found, best first.

    `floor` is the score of a hit that says nothing: 0 for words; for cosines, which are never 0,
    the score of the last candidate (None).
    """

    name: str
    weight: float
    keys: Keys
    scores: Points
    similarity: Points  # 0 to 1
    floor: float | None = None


class _Counted(NamedTuple):
    """A leg's hits by rank, with what each of them says: at or below the floor, nothing."""

    name: str
    at: Keys  # the spot of each, best first
    similarity: Points
    points: Points


class _Spots(NamedTuple):
    """Where a number for each key is put: at the key itself, or at its place if keys are large."""

    size: int
    find: Find
    dense: bool  # whether they are at the keys themselves


class Fused:
    """A ranking, best first: the keys, their points, and the reasons of each hit, by place."""

    def __init__(
        self,
        keys: Keys,
        own: Points,
        counted: Sequence[_Counted],
        boosts: Mapping[str, Points],
        spots: _Spots,
    ) -> None:
        for points in boosts.values():
            own += points
        own[0] = LAST  # it stands for nothing
        self._order = best_first(own)[:-1]  # among equals, the lower key is first
        self._keys, self._points = keys, own
        self._counted, self._boosts, self._spots = counted, boosts, spots

    def __len__(self) -> int:
        """How many are ranked: also those that say next to nothing, for there may be no others."""
        return len(self._order)

    def keys(self, places: Keys) -> Keys:
        """The keys at some places."""
        return self._keys.take(self._order.take(places))

    def points(self, places: Keys) -> Points:
        """The points of those at some places."""
        return self._points.take(self._order.take(places))

    def whys(self, places: Keys, rank: int = 1) -> list[Why]:
        """Why the hits at some places are there, in thousandths; `rank` is that of the first."""
        at = self._order.take(places)
        spots = self._keys.take(at) if self._spots.dense else at
        legs = [leg for leg in self._counted if len(leg.at)]
        columns = [self._points.take(at), *(points.take(at) for points in self._boosts.values())]
        ranks: list[list[int]] = []
        for leg in legs:
            by_spot = np.zeros(self._spots.size, np.int64)
            by_spot[leg.at] = _ranks(len(leg.at))
            nth = by_spot.take(spots)
            ranks.append(nth.tolist())
            nth -= 1  # where there is no rank, any
            columns += (leg.similarity.take(nth), leg.points.take(nth))
        whole = np.concatenate(columns).reshape(len(columns), len(at))
        total, *numbers = whole.round(DIGITS).tolist()
        given = [
            _counting(zip(repeat(reason), points), points)
            for reason, points in zip(self._boosts, numbers, strict=False)
        ]
        said = iter(numbers[len(given) :])
        found = [
            _counting(map(LegWhy, repeat(leg.name), nth, next(said), next(said)), nth)
            for leg, nth in zip(legs, ranks, strict=True)
        ]
        return list(map(Why, count(rank), total, _together(found), _together(given)))


def _counting(values: Iterable[S], worth: Sequence[float]) -> Sequence[S | None]:
    """The values, with None in place of those that are worth nothing."""
    if all(worth):
        return list(values)
    return [value if good else None for value, good in zip(values, worth, strict=False)]


def _together(columns: Sequence[Sequence[S | None]]) -> Iterable[tuple[S, ...]]:
    """The columns row by row, without what is None; without end if there are no columns."""
    if not columns:
        return repeat(())
    return [tuple(filter(None, row)) for row in zip(*columns, strict=True)]


def fuse(
    keys: Keys,
    legs: Sequence[Leg],
    *,
    neighbours: tuple[Keys, Keys],
    boosts: Mapping[str, NDArray[Any]],
) -> Fused:
    """All that a leg found, that stands next to a find, or that was given a boost; best first.

    `keys` are 0, which stands for nothing, and all of these, in order. `neighbours` are items that
    a leg found, and some turns near them in their conversation, for an answer often lacks the words
    of the question it follows: the first turns near each of them, then the second ones, and so on;
    0 where there is none. `boosts` gives extra points to each of the keys, also to those that no
    leg found ("what happened on 8 May" has no other words).
    """
    spots = _spots(keys)
    counted = [_count(leg, spots.find) for leg in legs]
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
    return Fused(keys, own, counted, {"neighbours": near, **boosts}, spots)


def best_of(groups: Keys) -> Keys:
    """The places at which each group (an item's passages) comes first in a ranking."""
    return np.sort(np.unique(groups, return_index=True)[1])


def _spots(keys: Keys) -> _Spots:
    size: int = keys.item(-1) + 1
    if size <= SPARSE_FROM:
        return _Spots(size, _themselves, dense=True)
    places = np.empty(size, np.int64)  # what stands at other than keys is never looked at
    places[keys] = np.arange(len(keys))
    return _Spots(len(keys), places.take, dense=False)


def _themselves(keys: Keys) -> Keys:
    return keys


def _count(leg: Leg, find: Find) -> _Counted:
    points = _evidence(leg.scores, leg.floor)
    points *= _reciprocal(len(points), leg.weight)
    return _Counted(leg.name, find(leg.keys), leg.similarity, points)


@lru_cache(maxsize=1_024)
def _ranks(last: int) -> Keys:
    return np.arange(1, last + 1)


@lru_cache(maxsize=1_024)
def _reciprocal(last: int, weight: float) -> Points:
    """What each rank is worth, from the first to the last."""
    worth: Points = weight * ((RANK_CONSTANT + 1) / (RANK_CONSTANT + _ranks(last)))
    return worth


def _evidence(scores: Points, floor: float | None) -> Points:
    """How far each score, highest first, stands above the floor: 1 for the best."""
    if not len(scores):
        return scores
    least = scores.item(-1) if floor is None else floor
    span = scores.item(0) - least
    if span <= 0:  # a lone hit, or hits that all score the same, are as good as the leg can say
        return np.full(len(scores), float(floor is None))
    evidence: Points = (scores - least) / span if least else scores / span
    return np.maximum(evidence, 0.0, out=evidence) if scores.item(-1) < least else evidence
