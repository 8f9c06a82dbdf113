"""Pins: items are pinned by hand, or automatically when they are pivotal, up to a soft cap.

The cap applies to one audience: items of the same scope with the same witnesses. When one more
becomes pivotal, the oldest automatic pins are displaced. A pin set by hand counts towards the cap
and is never displaced. A displaced item is pinned again when it is rated pivotal again; one that
was unpinned by hand is not.
"""

from everloop.log import Reader
from everloop.memory.browse.queries import PINNED_SQL, items_with_ids, newest_mark_sql
from everloop.memory.model.commands import RateItem
from everloop.memory.model.events import PIVOTAL
from everloop.memory.model.scopes import OWNER
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    Filter,
    Item,
    VisibilityQuery,
    item_from_row,
    load_details,
    load_viewer,
)


def displaced_pins(reader: Reader, command: RateItem, *, pins_max: int) -> list[tuple[int, str]]:
    """The automatic pins that a rating displaces: the position and id of each item."""
    if command.significance != PIVOTAL:
        return []
    rated = items_with_ids(reader, load_viewer(reader, OWNER), [command.item_id])
    if not rated or _is_set_by_hand(reader, rated[0]):
        return []
    others = _other_pins(reader, rated[0])
    automatic = [(item.position, item.item_id) for item, by_hand in others if not by_hand]
    return automatic[: max(0, len(others) + 1 - pins_max)]


def _is_set_by_hand(reader: Reader, item: Item) -> bool:
    """Whether the item was pinned or unpinned by hand."""
    return reader.rows(_BY_HAND, (item.position,))[0][0] is not None


def _other_pins(reader: Reader, item: Item) -> list[tuple[Item, bool]]:
    """The other pinned items of its audience, and whether by hand; the oldest rating first."""
    owner = load_viewer(reader, OWNER)
    sieve = VisibilityQuery(owner, Filter(scopes=(item.scope,)))
    rows = sieve.rows(reader, _PIN_COLUMNS, _OTHERS, _OLDEST_FIRST, own=item.position)
    found = load_details(reader, owner, [item_from_row(row) for row in rows])
    pairs = [(each, row[-1] is not None) for each, row in zip(found, rows, strict=True)]
    return [pair for pair in pairs if pair[0].witnesses == item.witnesses]


_BY_HAND = f"SELECT ({newest_mark_sql('pinned')}) FROM memory_items i WHERE i.position = ?"  # noqa: S608
_PIN_COLUMNS = f"{ITEM_COLUMNS}, ({newest_mark_sql('pinned')})"
_OTHERS = f"""
i.position <> :own AND {PINNED_SQL} AND i.position IN (
    SELECT item FROM memory_marks WHERE mark = 'pinned' OR (mark = 'rated' AND value = {PIVOTAL}))
"""  # noqa: S608 - our own conditions
_OLDEST_FIRST = f"ORDER BY ({newest_mark_sql('rated', what='position')}), i.position"
