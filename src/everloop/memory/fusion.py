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
from typing import Any, Final, NamedTuple

import numpy as np
from numpy.typing import NDArray

Keys = NDArray[np.int64]
Points = NDArray[np.float64]

DIGITS: Final = 3  # of what a reason says
RANK_CONSTANT: Final = 60
NEIGHBOUR_SHARE: Final = 0.2
NEIGHBOUR_REACH: Final = 2
WORDS_WEIGHT: Final = 1.0
MEANING_WEIGHT: Final = 0.5
NAMED_BOOST: Final = 0.2  # the question names who said it
TIME_BOOST: Final = 1.0  # the question names the time it was said


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


class Found(NamedTuple):
    """Why a leg counted: its rank, how similar the hit is, and the points that brought."""

    leg: str
    rank: int
    similarity: float
    points: float


class Boost(NamedTuple):
    """Points for a reason other than a leg."""

    reason: str
    points: float


class Hit(NamedTuple):
    """An item, its points, and where each of them came from."""

    key: int
    points: float
    found: tuple[Found, ...]
    boosts: tuple[Boost, ...]


class _Counted(NamedTuple):
    """A leg's hits by rank, with what each of them says: at or below the floor, nothing."""

    name: str
    places: Keys  # among all keys, best first
    similarity: Points
    points: Points

    def ranks(self, at: Keys, among: int) -> Keys:
        """At which rank the leg found some of the keys; 0 if it did not."""
        ranks = np.zeros(among, np.int64)
        ranks[self.places] = np.arange(1, len(self.places) + 1)
        return ranks.take(at)


class Fused:
    """A ranking: `keys` and `points`, best first, and the reasons of each hit."""

    def __init__(
        self, keys: Keys, own: Points, counted: Sequence[_Counted], boosts: Mapping[str, Points]
    ) -> None:
        total = own.copy()
        for points in boosts.values():
            total += points
        self._order = np.argsort(-total, kind="stable")  # among equals, the lower key is first
        self.keys, self.points = keys[self._order], total[self._order]
        self._counted, self._boosts = counted, boosts

    def hits(self, places: Keys) -> list[Hit]:
        """The hits at some places of the ranking, with their reasons, in thousandths."""
        at = self._order.take(places)
        ranks = [leg.ranks(at, len(self.keys)) for leg in self._counted]
        columns = [self.points.take(places), *(points.take(at) for points in self._boosts.values())]
        for leg, by_hit in zip(self._counted, ranks, strict=True):
            columns += [_by_rank(leg.similarity, by_hit), _by_rank(leg.points, by_hit)]
        said = zip(
            self.keys.take(places).tolist(),
            np.array(ranks).T.tolist(),
            np.array(columns).round(DIGITS).T.tolist(),
            strict=True,
        )
        return [self._hit(key, by_leg, numbers) for key, by_leg, numbers in said]

    def _hit(self, key: int, ranks: Sequence[int], numbers: Sequence[float]) -> Hit:
        """A hit from its numbers: points, boosts, then similarity and points of each leg."""
        total, *rest = numbers
        boosts = zip(self._boosts, rest, strict=False)
        rest = rest[len(self._boosts) :]
        legs = zip(self._counted, ranks, rest[::2], rest[1::2], strict=True)
        return Hit(
            key,
            total,
            tuple(Found(leg.name, rank, near, won) for leg, rank, near, won in legs if rank),
            tuple(Boost(reason, points) for reason, points in boosts if points),
        )


def fuse(
    keys: Keys,
    legs: Sequence[Leg],
    *,
    neighbours: tuple[Keys, Keys],
    boosts: Mapping[str, NDArray[Any]],
) -> Fused:
    """All that a leg found, that stands next to a find, or that was given a boost; best first.

    `keys` are all of these, in order. `neighbours` are items that a leg found, and some turns near
    them in their conversation, for an answer often lacks the words of the question it follows: the
    first turns near each of them, then the second ones, and so on; 0 where there is none. `boosts`
    gives extra points to each of the keys, also to those that no leg found ("what happened on 8
    May" has no other words).
    """
    where = _where(keys)
    counted = [_count(leg, where) for leg in legs]
    own = np.zeros(len(keys))
    for leg in counted:
        own[leg.places] += leg.points
    givers, takers = neighbours
    there = takers.nonzero()[0]
    shares = (NEIGHBOUR_SHARE * own.take(where.take(givers))).take(there % max(1, len(givers)))
    near = np.zeros(len(keys))
    near += np.bincount(where.take(takers.take(there)), shares, minlength=len(keys))
    return Fused(keys, own, counted, {"neighbours": near, **boosts})


def best_of(groups: Keys) -> Keys:
    """The places at which each group (an item's passages) comes first in a ranking."""
    return np.sort(np.unique(groups, return_index=True)[1])


def _by_rank(values: Points, ranks: Keys) -> Points:
    """The value at each rank; where there is no rank, any."""
    return values.take(ranks - 1, mode="wrap") if len(values) else np.zeros(len(ranks))


def _where(keys: Keys) -> Keys:
    """The place of each key; to be asked about these keys only."""
    where = np.empty(keys[-1] + 1 if len(keys) else 1, np.int64)
    where[keys] = np.arange(len(keys))
    return where


def _count(leg: Leg, where: Keys) -> _Counted:
    evidence = _evidence(leg.scores, leg.floor)
    reciprocal = (RANK_CONSTANT + 1) / np.arange(
        RANK_CONSTANT + 1, RANK_CONSTANT + 1 + len(evidence)
    )
    places = where.take(leg.keys)
    return _Counted(leg.name, places, leg.similarity, leg.weight * evidence * reciprocal)


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
