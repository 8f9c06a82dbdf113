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

from collections.abc import Iterable, Mapping, Sequence
from functools import lru_cache
from itertools import repeat
from typing import Any, Final, NamedTuple, TypeVar

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.memory.answers import LegWhy
from everloop.memory.rows import best_first

S = TypeVar("S")
Keys = NDArray[np.int64]
Points = NDArray[np.float64]

DIGITS: Final = 3  # of what a reason says
RANK_CONSTANT: Final = 60
NEIGHBOUR_SHARE: Final = 0.2
WORDS_WEIGHT: Final = 1.0
MEANING_WEIGHT: Final = 0.5
NAMED_BOOST: Final = 0.2  # the question names who said it
TIME_BOOST: Final = 1.0  # the question names the time it was said
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


class Hit(msgspec.Struct, frozen=True):
    """An item, its points, and where each of them came from."""

    key: int
    points: float
    found: tuple[LegWhy, ...]
    boosts: tuple[tuple[str, float], ...]  # points for other reasons


class _Counted(NamedTuple):
    """A leg's hits by rank, with what each of them says: at or below the floor, nothing."""

    name: str
    keys: Keys  # best first
    similarity: Points
    points: Points

    def ranks(self, keys: Keys, size: int) -> Keys:
        """At which rank the leg found some keys, all below `size`; 0 if it did not."""
        ranks = np.zeros(size, np.int64)
        ranks[self.keys] = _ranks(len(self.keys))
        return ranks.take(keys)


class Fused:
    """A ranking: `keys` and `points`, best first, and the reasons of each hit."""

    def __init__(
        self, keys: Keys, own: Points, counted: Sequence[_Counted], boosts: Mapping[str, Points]
    ) -> None:
        for points in boosts.values():
            own += points
        self._order = best_first(own[1:])  # among equals, the lower key is first
        self._order += 1  # the first stands for nothing
        self.keys, self.points = keys.take(self._order), own.take(self._order)
        self._size = keys.item(-1) + 1
        self._counted, self._boosts = counted, boosts

    def hits(self, places: Keys) -> list[Hit]:
        """The hits at some places of the ranking, with their reasons, in thousandths."""
        keys, at = self.keys.take(places), self._order.take(places)
        legs = [(leg, leg.ranks(keys, self._size)) for leg in self._counted if len(leg.keys)]
        columns = [self.points.take(places), *(points.take(at) for points in self._boosts.values())]
        for leg, ranks in legs:
            nth = ranks - 1  # where there is no rank, any
            columns += (leg.similarity.take(nth), leg.points.take(nth))
        total, *numbers = np.array(columns).round(DIGITS).tolist()
        given = [
            [(reason, points) if points else None for points in numbers.pop(0)]
            for reason in self._boosts
        ]
        found = [
            [
                LegWhy(leg.name, *said) if said[0] else None
                for said in zip(ranks.tolist(), numbers.pop(0), numbers.pop(0), strict=True)
            ]
            for leg, ranks in legs
        ]
        return list(map(Hit, keys.tolist(), total, _together(found), _together(given)))


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
    counted = [_count(leg) for leg in legs]
    size = keys.item(-1) + 1
    own = np.zeros(size)
    for leg in counted:
        own[leg.keys] += leg.points
    givers, takers = neighbours
    shares = own.take(givers)
    shares *= NEIGHBOUR_SHARE
    each = np.concatenate((NOBODY, *(len(takers) // max(1, len(givers))) * (shares,)))
    near: Any = np.bincount(takers, each, minlength=size)
    near[0] = 0.0
    return Fused(keys, own.take(keys), counted, {"neighbours": near.take(keys), **boosts})


def best_of(groups: Keys) -> Keys:
    """The places at which each group (an item's passages) comes first in a ranking."""
    return np.sort(np.unique(groups, return_index=True)[1])


def _count(leg: Leg) -> _Counted:
    points = _evidence(leg.scores, leg.floor)
    points *= leg.weight
    points *= _reciprocal(len(points))
    return _Counted(leg.name, leg.keys, leg.similarity, points)


@lru_cache(maxsize=1_024)
def _ranks(last: int) -> Keys:
    return np.arange(1, last + 1)


@lru_cache(maxsize=1_024)
def _reciprocal(last: int) -> Points:
    """What each rank is worth, from the first to the last."""
    worth: Points = (RANK_CONSTANT + 1) / (RANK_CONSTANT + _ranks(last))
    return worth


def _evidence(scores: Points, floor: float | None) -> Points:
    """How far each score, highest first, stands above the floor: 1 for the best."""
    if not len(scores):
        return scores
    least = scores.item(-1) if floor is None else floor
    span = scores.item(0) - least
    if span <= 0:  # a lone hit, or hits that all score the same, are as good as the leg can say
        return np.full(len(scores), float(floor is None))
    evidence: Points = scores - least
    evidence /= span
    return np.maximum(evidence, 0.0, out=evidence) if scores.item(-1) < least else evidence
