"""Groups search hits that contradict each other, so that a reader sees them side by side.

Pure. A group takes the rank of its best hit; within it the newest comes first, because the latest
statement is usually the valid one. Hits that match the question much less, are outside the time
that was asked for, or have expired come after the others. No hit is dropped or merged.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Final

import msgspec

from everloop.memory.retrieval.results import SearchHit

FITS: Final = 0.7  # share of the best similarity from which on a hit matches as well
TIMELY: Final = {"time", "expired"}  # boosts that depend on when an item happened or expired


class ContradictionGroup(msgspec.Struct, frozen=True):
    """Hits that contradict each other; a single one if nothing contradicts it here."""

    hits: tuple[SearchHit, ...]

    @property
    def contradictory(self) -> bool:
        """Whether they contradict each other."""
        return len(self.hits) > 1

    @property
    def newest_first(self) -> bool:
        """Whether the first of them is the newest."""
        return self.hits[0].item.happened_at == max(hit.item.happened_at for hit in self.hits)


def group_contradictions(hits: Sequence[SearchHit]) -> list[ContradictionGroup]:
    """Group hits by contradiction, the best group first."""
    waiting = {hit.item.item_id: hit for hit in hits}
    groups: list[ContradictionGroup] = []
    for hit in hits:
        if hit.item.item_id in waiting:
            members = _take_contradicting(hit, waiting)
            groups.append(
                ContradictionGroup(tuple(sorted(members, key=_sort_key(members), reverse=True)))
            )
    return groups


def _sort_key(members: Sequence[SearchHit]) -> Callable[[SearchHit], tuple[bool, datetime, int]]:
    """The sort key of a hit in its group.

    Points are no good here: they fall with the rank, even between hits that match equally well.
    """
    least = FITS * max(hit.similarity for hit in members)
    timely = max(map(_time_points, members))

    def place(hit: SearchHit) -> tuple[bool, datetime, int]:
        fits = hit.similarity >= least and _time_points(hit) >= timely
        return fits, hit.item.happened_at, hit.item.position

    return place


def _time_points(hit: SearchHit) -> float:
    return sum(points for reason, points in hit.why.boosts if reason in TIMELY)


def _take_contradicting(hit: SearchHit, waiting: dict[str, SearchHit]) -> list[SearchHit]:
    """Remove from `waiting` a hit and everything that contradicts it, directly or not."""
    members = [waiting.pop(hit.item.item_id)]
    for member in members:  # it grows while we go through it
        members += [waiting.pop(other) for other in member.item.contradicts if other in waiting]
    return members
