"""Zoom between summaries and sources: which summary covers an item, and what a summary is made of.

Both directions pass the visibility condition of `projections.queries`, so an asker sees nothing
hidden on the way. A retired summary covers nothing; a demoted one does, because the summary that
replaced it covers the same items.
"""

from collections.abc import Mapping, Sequence

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader, visible
from everloop.memory.model.events import Retired
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    Filter,
    Item,
    VisibilityQuery,
    find_item,
    item_from_row,
    load_details,
)

DEPTH_MAX = 16

RETIRED_SQL = f"""
EXISTS (SELECT 1 FROM memory_marks m JOIN log l ON l.position = m.position
        WHERE m.item = i.position AND l.kind = '{Retired.wire}' AND {visible("m")})
"""  # noqa: S608 - of an item `i`; demoted is not retired
_HOLDS = f"""
i.position IN (SELECT position FROM memory_sources WHERE source_id = :id) AND NOT {RETIRED_SQL}
"""  # noqa: S608 - our own condition
_BELOW = f"""
WITH RECURSIVE below(item_id, source_id) AS (
    SELECT i.item_id, s.source_id FROM json_each(?) j
    JOIN memory_items i ON i.item_id = j.value JOIN memory_sources s ON s.position = i.position
    WHERE {visible("i")}
    UNION
    SELECT i.item_id, s.source_id FROM below b
    JOIN memory_items i ON i.item_id = b.source_id JOIN memory_sources s ON s.position = i.position
    WHERE {visible("i")}
)
SELECT item_id, source_id FROM below
"""  # noqa: S608 - our own conditions


class ZoomedItem(msgspec.Struct, frozen=True):
    """An item with its depth below the starting point."""

    depth: int
    item: Item

    @property
    def is_source(self) -> bool:
        """Whether it is an original item and not a summary."""
        return not self.item.derived_from


def find_unretired(reader: Reader, who: Viewer, item_id: str) -> Item:
    """Find an item that is not retired; demoted items are found.

    Raises:
        NotFound: there is none that this asker may see.
    """
    item = find_item(reader, who, item_id)
    everything = VisibilityQuery(who, Filter(retired=True))
    if item.retired and everything.rows(
        reader, "1", f"i.position = :at AND {RETIRED_SQL}", at=item.position
    ):
        raise NotFound(f"{item_id!r} was retired", hint="Remember it anew if you need it.")
    return item


def chase(reader: Reader, who: Viewer, item_id: str) -> Item:
    """The topmost summary of an item: its newest summary, the newest summary of that, and so on.

    Raises:
        NotFound: there is no such item for this asker.
    """
    item = find_item(reader, who, item_id)
    met = {item.item_id}
    while len(met) <= DEPTH_MAX:
        holder = _newest_holder(reader, who, item.item_id)
        if holder is None or holder.item_id in met:
            break
        met.add(holder.item_id)
        item = holder
    return item


def zoom(reader: Reader, who: Viewer, item_id: str) -> list[ZoomedItem]:
    """An item and all its sources, level by level, without duplicates, oldest first in a level.

    Raises:
        NotFound: there is no such item for this asker.
    """
    level = [find_item(reader, who, item_id)]
    met = {item_id}
    zoomed: list[ZoomedItem] = []
    for depth in range(DEPTH_MAX + 1):
        zoomed += [ZoomedItem(depth, item) for item in level]
        below = sorted({name for item in level for name in item.derived_from} - met)
        met.update(below)
        level = _load(reader, who, below)
        if not level:
            break
    return zoomed


def compression_depth(reader: Reader, item_ids: Sequence[str]) -> int:
    """The deepest nesting of summaries below these items.

    Raises:
        Invalid: an item is its own source, or the nesting exceeds `DEPTH_MAX`.
    """
    made_of: dict[str, list[str]] = {}
    for item_id, source_id in reader.rows(_BELOW, (_json(item_ids),)):
        made_of.setdefault(item_id, []).append(source_id)
    known: dict[str, int] = {}
    return max((count_levels(made_of, item_id, known) for item_id in item_ids), default=0)


def count_levels(
    made_of: Mapping[str, Sequence[str]],
    item_id: str,
    known: dict[str, int],
    path: tuple[str, ...] = (),
) -> int:
    """Count the levels below one item. Two paths to the same source are not a cycle.

    Raises:
        Invalid: there is a cycle, or more than `DEPTH_MAX` levels.
    """
    if item_id in path:
        raise Invalid(
            f"{item_id!r} is a source of itself", hint="Retract one of the summaries in between."
        )
    if len(path) > DEPTH_MAX:
        raise Invalid(
            f"summaries below {path[0]!r} are nested more than {DEPTH_MAX} levels deep",
            hint="Retract some of the summaries in between.",
        )
    if item_id not in known:
        below = [
            count_levels(made_of, source, known, (*path, item_id))
            for source in made_of.get(item_id, ())
        ]
        known[item_id] = 1 + max(below) if below else 0
    return known[item_id]


def _newest_holder(reader: Reader, who: Viewer, item_id: str) -> Item | None:
    sieve = VisibilityQuery(who, Filter(retired=True))
    newest = "ORDER BY i.position DESC LIMIT 1"
    rows = sieve.rows(reader, ITEM_COLUMNS, _HOLDS, newest, id=item_id)
    return load_details(reader, who, [item_from_row(row) for row in rows])[0] if rows else None


def _load(reader: Reader, who: Viewer, item_ids: Sequence[str]) -> list[Item]:
    sieve = VisibilityQuery(who, Filter(retired=True))
    where = "i.item_id IN (SELECT value FROM json_each(:ids))"
    rest = "ORDER BY i.happened_at, i.position"
    rows = sieve.rows(reader, ITEM_COLUMNS, where, rest, ids=_json(item_ids))
    return load_details(reader, who, [item_from_row(row) for row in rows])


def _json(names: Sequence[str]) -> str:
    return msgspec.json.encode(list(names)).decode()
