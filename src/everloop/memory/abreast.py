"""Hits in the order in which a person should read them: what contradicts itself stands together.

Pure. A group takes the place of its best hit; within it the newest comes first, because what was
said last is usually what holds. Nothing is left out and nothing is merged.
"""

from collections.abc import Sequence

import msgspec

from everloop.memory.answers import Recalled


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
            members.sort(key=lambda each: (each.item.happened_at, each.item.position), reverse=True)
            groups.append(Abreast(tuple(members)))
    return groups


def _against(hit: Recalled, waiting: dict[str, Recalled]) -> list[Recalled]:
    """A hit and what contradicts it, or contradicts what does; they no longer wait."""
    members = [waiting.pop(hit.item.item_id)]
    for member in members:  # it grows while we go through it
        members += [waiting.pop(other) for other in member.item.contradicts if other in waiting]
    return members
