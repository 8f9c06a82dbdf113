"""Hits in the order in which a person should read them: what contradicts itself stands together.

Pure. A group takes the place of its best hit; within it the newest comes first, because what was
said last is usually what holds. Only what fits the question much less stands after what fits it, or
what is not of the time that was asked for, or no longer holds. Nothing is left out and nothing is
merged.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from everloop.memory.retrieval.results import Recalled

FITS: Final = 0.7  # of the best similarity, from which on another fits the question as well
TIMELY: Final = {"time", "expired"}  # what is gained or lost by when it was, or until when it held


class Abreast(msgspec.Struct, frozen=True):
    """Hits that belong side by side; one alone if nothing contradicts it here."""

    hits: tuple[Recalled, ...]

    @property
    def contradictory(self) -> bool:
        """Whether they contradict each other."""
        return len(self.hits) > 1

    @property
    def newest_first(self) -> bool:
        """Whether the first of them is the newest."""
        return self.hits[0].item.happened_at == max(hit.item.happened_at for hit in self.hits)


def side_by_side(hits: Sequence[Recalled]) -> list[Abreast]:
    """The hits in groups, the best group first."""
    waiting = {hit.item.item_id: hit for hit in hits}
    groups: list[Abreast] = []
    for hit in hits:
        if hit.item.item_id in waiting:
            members = _against(hit, waiting)
            groups.append(Abreast(tuple(sorted(members, key=_place(members), reverse=True))))
    return groups


def _place(members: Sequence[Recalled]) -> Callable[[Recalled], tuple[bool, datetime, int]]:
    """What decides where a hit stands in its group.

    Points would tell those apart that fit alike: they fall with the rank, however near it is.
    """
    least = FITS * max(hit.similarity for hit in members)
    timely = max(map(_timeliness, members))

    def place(hit: Recalled) -> tuple[bool, datetime, int]:
        fits = hit.similarity >= least and _timeliness(hit) >= timely
        return fits, hit.item.happened_at, hit.item.position

    return place


def _timeliness(hit: Recalled) -> float:
    return sum(points for reason, points in hit.why.boosts if reason in TIMELY)


def _against(hit: Recalled, waiting: dict[str, Recalled]) -> list[Recalled]:
    """A hit and what contradicts it, or contradicts what does; they no longer wait."""
    members = [waiting.pop(hit.item.item_id)]
    for member in members:  # it grows while we go through it
        members += [waiting.pop(other) for other in member.item.contradicts if other in waiting]
    return members
