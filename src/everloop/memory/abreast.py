"""Hits in the order in which a person should read them: what contradicts itself stands together.

Pure. A group takes the place of its best hit; within it the newest comes first, because what was
said last is usually what holds. Only what fits the question much less stands after what fits it.
Nothing is left out and nothing is merged.
"""

from collections.abc import Callable, Sequence
from datetime import datetime

import msgspec

from everloop.memory.answers import Recalled

FITS = 0.7  # of the best hit's points, that make another fit the question as well


class Abreast(msgspec.Struct, frozen=True):
    """Hits that belong side by side; one alone if nothing contradicts it here."""

    hits: tuple[Recalled, ...]

    @property
    def contradictory(self) -> bool:
        """Whether they contradict each other."""
        return len(self.hits) > 1


def side_by_side(hits: Sequence[Recalled]) -> list[Abreast]:
    """The hits in groups, the best group first."""
    waiting = {hit.item.item_id: hit for hit in hits}
    groups: list[Abreast] = []
    for hit in hits:
        if hit.item.item_id in waiting:
            members = _against(hit, waiting)
            groups.append(Abreast(tuple(sorted(members, key=_place(hit), reverse=True))))
    return groups


def _place(best: Recalled) -> Callable[[Recalled], tuple[bool, datetime, int]]:
    """What decides where a hit stands in the group of the best one."""
    least = FITS * best.why.points
    return lambda hit: (hit.why.points >= least, hit.item.happened_at, hit.item.position)


def _against(hit: Recalled, waiting: dict[str, Recalled]) -> list[Recalled]:
    """A hit and what contradicts it, or contradicts what does; they no longer wait."""
    members = [waiting.pop(hit.item.item_id)]
    for member in members:  # it grows while we go through it
        members += [waiting.pop(other) for other in member.item.contradicts if other in waiting]
    return members
