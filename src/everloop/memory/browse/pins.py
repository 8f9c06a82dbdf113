"""Pins: what a user pins stays pinned; what is pivotal is pinned by itself, up to a soft cap.

The cap is for one audience: items of the same scope with the same witnesses. When one more becomes
pivotal, the automatic pins that are oldest give way. A pin set by hand counts, and never gives way.
What gave way is pinned again when it is rated pivotal anew; what somebody unpinned is not.
"""

from everloop.log import Reader
from everloop.memory.browse.queries import PINNED, newest_mark, these
from everloop.memory.model.commands import RateItem
from everloop.memory.model.events import PIVOTAL
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import (
    COLUMNS,
    Filter,
    Item,
    Sieve,
    asker,
    complete,
    item_of,
)


def giving_way(reader: Reader, command: RateItem, *, pins_max: int) -> list[tuple[int, str]]:
    """The automatic pins that give way to what is rated: where each was recorded, and its id."""
    if command.significance != PIVOTAL:
        return []
    rated = these(reader, asker(reader, OWNER), [command.item_id])
    if not rated or _has_word(reader, rated[0]):
        return []
    others = _pinned_beside(reader, rated[0])
    automatic = [(item.position, item.item_id) for item, by_hand in others if not by_hand]
    return automatic[: max(0, len(others) + 1 - pins_max)]


def _has_word(reader: Reader, item: Item) -> bool:
    """Whether somebody has said already that it is pinned, or that it is not."""
    return reader.rows(_BY_HAND, (item.position,))[0][0] is not None


def _pinned_beside(reader: Reader, item: Item) -> list[tuple[Item, bool]]:
    """What else is pinned for its audience, and whether by hand; the oldest rating first."""
    owner = asker(reader, OWNER)
    sieve = Sieve(owner, Filter(scopes=(item.scope,)))
    rows = sieve.rows(reader, _WHAT, _OTHERS, _OLDEST_FIRST, own=item.position)
    found = complete(reader, owner, [item_of(row) for row in rows])
    pairs = [(each, row[-1] is not None) for each, row in zip(found, rows, strict=True)]
    return [pair for pair in pairs if pair[0].witnesses == item.witnesses]


_BY_HAND = f"SELECT ({newest_mark('pinned')}) FROM memory_items i WHERE i.position = ?"  # noqa: S608
_WHAT = f"{COLUMNS}, ({newest_mark('pinned')})"
_OTHERS = f"""
i.position <> :own AND {PINNED} AND i.position IN (
    SELECT item FROM memory_marks WHERE mark = 'pinned' OR (mark = 'rated' AND value = {PIVOTAL}))
"""  # noqa: S608 - our own conditions
_OLDEST_FIRST = f"ORDER BY ({newest_mark('rated', what='position')}), i.position"
