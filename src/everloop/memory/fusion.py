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

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Points = NDArray[np.float64]

RANK_CONSTANT: Final = 60
NEIGHBOUR_SHARE: Final = 0.2
NEIGHBOUR_REACH: Final = 2
WORDS_WEIGHT: Final = 1.0
MEANING_WEIGHT: Final = 0.5
NAMED_BOOST: Final = 0.2  # the question names who said it
TIME_BOOST: Final = 1.0  # the question names the time it was said


@dataclass(frozen=True, slots=True)
class Leg:
    """One way of searching and what it found.

    `floor` is the score of a hit that says nothing: 0 for words; for cosines, which are never 0,
    the score of the last candidate (None).
    """

    name: str
    weight: float
    keys: Keys
    scores: Points
    floor: float | None = None


@dataclass(frozen=True, slots=True)
class Found:
    """Why a leg counted: its rank and raw score, and the points they brought."""

    leg: str
    rank: int
    score: float
    evidence: float
    points: float


@dataclass(frozen=True, slots=True)
class Boost:
    """Points for a reason other than a leg."""

    reason: str
    points: float


@dataclass(frozen=True, slots=True)
class Hit:
    """An item, its points, and where each of them came from."""

    key: int
    points: float
    found: tuple[Found, ...]
    boosts: tuple[Boost, ...]


@dataclass(frozen=True, slots=True)
class _Counted:
    """A leg's hits by rank, with what each of them says: at or below the floor, nothing."""

    name: str
    places: Keys  # among all keys, best first
    ranks: Keys  # by key; 0 where the leg found nothing
    scores: Points
    evidence: Points
    points: Points


class Fused:
    """A ranking: `keys` and `points`, best first, and the reasons of each hit."""

    def __init__(
        self, keys: Keys, own: Points, counted: Sequence[_Counted], boosts: Mapping[str, Points]
    ) -> None:
        total = own.copy()
        for points in boosts.values():
            total += points
        self._order = np.lexsort((keys, -total))
        self.keys, self.points = keys[self._order], total[self._order]
        self._counted, self._boosts = counted, boosts

    def hit(self, place: int) -> Hit:
        """The hit at a place of the ranking, with its reasons."""
        at = int(self._order[place])
        found = tuple(_found(leg, rank) for leg in self._counted if (rank := leg.ranks.item(at)))
        given = ((reason, points.item(at)) for reason, points in self._boosts.items())
        boosts = tuple(Boost(reason, points) for reason, points in given if points)
        return Hit(self.keys.item(place), self.points.item(place), found, boosts)


def fuse(
    legs: Sequence[Leg],
    *,
    neighbours: tuple[Keys, Keys],
    boosts: Mapping[str, tuple[Keys, Points]],
) -> Fused:
    """All that a leg found, that stands next to a find, or that was given a boost; best first.

    `neighbours` are pairs: an item a leg found, and a turn near it in its conversation, for an
    answer often lacks the words of the question it follows. `boosts` gives extra points; its items
    come back even if no leg found them ("what happened on 8 May" has no other words), so it must be
    bounded by the caller.
    """
    givers, takers = neighbours
    boosted = [those for those, _ in boosts.values()]
    keys = _distinct(np.concatenate([takers, *(leg.keys for leg in legs), *boosted]))
    counted = [_count(leg, keys) for leg in legs]
    own = np.zeros(len(keys))
    for leg in counted:
        own[leg.places] += leg.points
    given: dict[str, Points] = {"neighbours": np.zeros(len(keys))}
    shares = NEIGHBOUR_SHARE * own[np.searchsorted(keys, givers)]
    np.add.at(given["neighbours"], np.searchsorted(keys, takers), shares)
    for reason, (those, points) in boosts.items():
        given[reason] = np.zeros(len(keys))
        given[reason][np.searchsorted(keys, those)] = points
    return Fused(keys, own, counted, given)


def best_of(groups: Keys) -> Keys:
    """The places at which each group (an item's passages) comes first in a ranking."""
    return np.sort(np.unique(groups, return_index=True)[1])


def _count(leg: Leg, keys: Keys) -> _Counted:
    order = np.lexsort((leg.keys, -leg.scores))
    scores, places = leg.scores[order], np.searchsorted(keys, leg.keys[order])
    ranks = np.arange(1, len(order) + 1)
    evidence = _evidence(scores, leg.floor)
    points = leg.weight * evidence * (RANK_CONSTANT + 1) / (RANK_CONSTANT + ranks)
    ranks_of = np.zeros(len(keys), np.int64)
    ranks_of[places] = ranks
    return _Counted(leg.name, places, ranks_of, scores, evidence, points)


def _evidence(scores: Points, floor: float | None) -> Points:
    """How far each score, highest first, stands above the floor: 1 for the best."""
    if not len(scores):
        return scores
    least = scores[-1] if floor is None else floor
    span = scores[0] - least
    if span <= 0:  # a lone hit, or hits that all score the same, are as good as the leg can say
        return np.full(len(scores), float(floor is None))
    evidence: Points = np.maximum(0.0, (scores - least) / span)
    return evidence


def _found(leg: _Counted, rank: int) -> Found:
    place = rank - 1
    return Found(
        leg.name, rank, leg.scores.item(place), leg.evidence.item(place), leg.points.item(place)
    )


def _distinct(keys: Keys) -> Keys:
    ordered = np.sort(keys)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]
