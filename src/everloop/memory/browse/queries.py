"""Browsing memory: find an item by a short id, list items in pages, show the history of one.

Every read passes the visibility condition of `projections.queries`. An item that the asker may not
see matches no short id, is on no page, and leaves no trace in another item's history.
"""

from collections.abc import Sequence
from datetime import datetime
from typing import Any, Final

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.model.commands import GrantAudience
from everloop.memory.model.events import PIVOTAL
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.citations import (
    CitationLink,
    CiterVisibility,
    citation_links,
    no_other_citers,
)
from everloop.memory.projections.queries import (
    ITEM_COLUMNS,
    RELATED_PAIRS_SQL,
    Filter,
    Item,
    VisibilityQuery,
    find_item,
    item_from_row,
    load_details,
)

SHORT_ID_LENGTH: Final = (
    8  # characters of an id's end that are shown; enough to be unique in practice
)
SHORT_ID_LENGTH_MIN: Final = 4
AMBIGUOUS_IDS_SHOWN_MAX: Final = 4


def newest_mark_sql(*marks: str, what: str = "value") -> str:
    """SQL for the newest mark of these sorts on the item `i`."""
    sorts = ", ".join(f"'{mark}'" for mark in marks)
    return (
        f"SELECT m.{what} FROM memory_marks m WHERE m.item = i.position AND m.mark IN ({sorts})"  # noqa: S608
        f" AND {visible('m')} ORDER BY m.position DESC LIMIT 1"
    )


# Pinned by hand; else automatically, if it is pivotal and was not displaced since that rating.
_RATED_SQL = newest_mark_sql("rated", "gave_way")
PINNED_SQL = f"coalesce(({newest_mark_sql('pinned')}), ({_RATED_SQL}) = {PIVOTAL}, 0)"


class ItemVersion(msgspec.Struct, frozen=True):
    """One version of an item, with its author."""

    position: int
    title: str
    text: str
    scope: str
    witnesses: tuple[str, ...]
    by: str
    at: datetime


class Repetition(msgspec.Struct, frozen=True):
    """A repetition of an item: a near duplicate that was linked to it."""

    position: int
    text: str
    similarity: float
    by: str
    at: datetime


class ItemHistory(msgspec.Struct, frozen=True):
    """The history of an item; versions, repetitions and citations are sorted oldest first."""

    item: Item
    because: tuple[int, ...]
    versions: tuple[ItemVersion, ...]
    repeats: tuple[Repetition, ...]
    citations: tuple[CitationLink, ...]
    contradictions: tuple[Item, ...]
    variants: tuple[Item, ...]  # near duplicates that are items of their own
    retired_because: str


class Grant(msgspec.Struct, frozen=True):
    """The scopes that a principal may read."""

    principal: str
    scopes: tuple[str, ...]
    position: int
    since: datetime


def short_id(item_id: str) -> str:
    """The short form of an id: its last characters, enough to identify the item."""
    return item_id if len(item_id) <= SHORT_ID_LENGTH + 4 else item_id[-SHORT_ID_LENGTH:]


def resolve_item(reader: Reader, who: Viewer, name: str) -> Item:
    """Resolve an id, the end of an id, or the beginning of a short id to an item.

    Raises:
        NotFound: no item that this asker may see matches.
        Invalid: several items match.
    """
    try:
        return find_item(reader, who, name)
    except NotFound:
        if len(name) < SHORT_ID_LENGTH_MIN:
            raise
    sieve = VisibilityQuery(who, Filter(retired=True))
    ends, begins = "substr(i.item_id, -length(:name))", "substr(i.item_id, -:handle, length(:name))"
    matches = f":name IN ({ends}, {begins})"
    found = sieve.rows(
        reader, ITEM_COLUMNS, matches, "ORDER BY i.position", name=name, handle=SHORT_ID_LENGTH
    )
    if not found:
        raise NotFound(f"no item {name!r}", hint="`everloop memories` lists them.")
    if len(found) > 1:
        ids = ", ".join(row[2] for row in found[:AMBIGUOUS_IDS_SHOWN_MAX])
        raise Invalid(f"{name!r} matches several items", hint=f"Use more of the id: {ids}")
    return load_details(reader, who, [item_from_row(row) for row in found])[0]


def page_by_time(
    reader: Reader,
    who: Viewer,
    only: Filter,
    *,
    pinned: bool = False,
    limit: int = 50,
    offset: int = 0,
) -> tuple[list[Item], int]:
    """Items by the time they happened, newest first, and how many there are in all."""
    where = PINNED_SQL if pinned else "true"
    return _page(
        reader, VisibilityQuery(who, only), where, _NEWEST_FIRST, limit=limit, offset=offset
    )


def page_by_id(
    reader: Reader, who: Viewer, only: Filter, *, limit: int = 50, offset: int = 0
) -> tuple[list[Item], int]:
    """Items by their ids, and how many there are in all."""
    order = "ORDER BY i.item_id"
    return _page(reader, VisibilityQuery(who, only), "true", order, limit=limit, offset=offset)


def items_with_ids(reader: Reader, who: Viewer, item_ids: Sequence[str]) -> list[Item]:
    """The items with these ids that the asker may see, newest first."""
    sieve = VisibilityQuery(who, Filter(retired=True))
    where = "i.item_id IN (SELECT value FROM json_each(:ids))"
    ids = msgspec.json.encode(list(item_ids)).decode()
    rows = sieve.rows(reader, ITEM_COLUMNS, where, _NEWEST_FIRST, ids=ids)
    return load_details(reader, who, [item_from_row(row) for row in rows])


def revised_at(reader: Reader, seen: Sequence[Item]) -> dict[str, datetime]:
    """When the current version of each item was recorded."""
    versions = msgspec.json.encode([item.version for item in seen]).decode()
    times = {
        position: from_microseconds(at) for position, at in reader.rows(_RECORDED, (versions,))
    }
    return {item.item_id: times[item.version] for item in seen}


def item_history(
    reader: Reader, who: Viewer, name: str, known: CiterVisibility = no_other_citers
) -> ItemHistory:
    """The history of an item: versions, repetitions, citations, contradictions and variants.

    An older version that this asker may not see stays hidden, with its repetitions. `known` tells
    which citers of other domains they may see.

    Raises:
        NotFound: there is no such item for this asker.
    """
    item = resolve_item(reader, who, name)
    written = [_version(reader, row) for row in reader.rows(_VERSIONS, (item.position,))]
    seen = [version for version in written if who.may_see(version.scope, version.witnesses)]
    repeats = [
        Repetition(position, text, similarity, by, from_microseconds(at))
        for position, text, similarity, by, at in reader.rows(_REPEATS, (item.position,))
        if _in_force(written, position) in seen
    ]
    notes = reader.rows(_RETIRED, (item.position,))
    return ItemHistory(
        item=item,
        because=tuple(r[0] for r in reader.rows(_BECAUSE, (item.position,)))
        if who.is_owner
        else (),
        versions=tuple(seen),
        repeats=tuple(repeats),
        citations=tuple(citation_links(reader, who, item.item_id, known)),
        contradictions=tuple(items_with_ids(reader, who, item.contradicts)),
        variants=tuple(items_with_ids(reader, who, _variants(reader, item))),
        retired_because=str(notes[0][0]) if notes and who.is_owner else "",
    )


def current_grants(reader: Reader) -> list[Grant]:
    """The current grants, by principal. For the owner only."""
    newest = {row[0]: row for row in reader.rows(_GRANTS)}
    granted = [
        Grant(principal, tuple(msgspec.json.decode(scopes)), position, from_microseconds(at))
        for principal, scopes, position, at in newest.values()
    ]
    return [grant for grant in granted if grant.scopes]


def has_grant_history(reader: Reader, command: GrantAudience) -> bool:
    """Whether a principal was ever granted or denied access in this line of history.

    Retracted grants count here: taking one back is a decision, too.
    """
    return bool(reader.rows(_SPOKEN_OF, (command.principal,)))


# -- details ---------------------------------------------------------------------------------------


def _page(
    reader: Reader, sieve: VisibilityQuery, where: str, order: str, *, limit: int, offset: int
) -> tuple[list[Item], int]:
    rest = f"{order} LIMIT :limit OFFSET :offset"
    rows = sieve.rows(reader, ITEM_COLUMNS, where, rest, limit=limit, offset=offset)
    number = int(sieve.rows(reader, "count(*)", where)[0][0])
    return load_details(reader, sieve.asker, [item_from_row(row) for row in rows]), number


def _variants(reader: Reader, item: Item) -> list[str]:
    asked = {"items": f"[{item.position}]", "relation": "repeats"}
    return [row[0] for row in reader.rows(_VARIANTS, asked)]


def _version(reader: Reader, row: Sequence[Any]) -> ItemVersion:
    position, title, text, scope, by, at = row
    witnesses = tuple(found[0] for found in reader.rows(_WITNESSES, (position,)))
    return ItemVersion(position, title, text, scope, witnesses, by, from_microseconds(at))


def _in_force(written: Sequence[ItemVersion], position: int) -> ItemVersion:
    """The version of an item at a position; the first is older than any repetition."""
    return [version for version in written if version.position <= position][-1]


_NEWEST_FIRST = "ORDER BY i.happened_at DESC, i.position DESC"
_VERSIONS = f"""
SELECT v.position, v.title, v.text, v.scope, l.actor, l.recorded_at
FROM memory_versions v JOIN log l ON l.position = v.position
WHERE v.item = ? AND {visible("v")} ORDER BY v.position
"""  # noqa: S608 - our own condition
_WITNESSES = "SELECT principal FROM memory_witnesses WHERE position = ? ORDER BY principal"
_REPEATS = f"""
SELECT r.position, r.text, r.similarity, l.actor, l.recorded_at
FROM memory_repeats r JOIN log l ON l.position = r.position
WHERE r.item = ? AND {visible("r")} ORDER BY r.position
"""  # noqa: S608 - our own condition
_VARIANTS = (
    f"{RELATED_PAIRS_SQL} SELECT i.item_id FROM pairs p JOIN memory_items i ON i.position = p.other"  # noqa: S608
)
_BECAUSE = "SELECT source FROM log_because WHERE dependant = ? ORDER BY source"
_RETIRED = f"""
SELECT m.note FROM memory_marks m
WHERE m.item = ? AND m.mark IN ('retired', 'demoted') AND {visible("m")}
ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
_GRANTS = f"""
SELECT a.principal, a.scopes, a.position, l.recorded_at
FROM memory_audiences a JOIN log l ON l.position = a.position
WHERE {visible("a")} ORDER BY a.principal, a.position
"""  # noqa: S608 - our own condition
_RECORDED = (
    "SELECT l.position, l.recorded_at FROM json_each(?) j JOIN log l ON l.position = j.value"
)
_SPOKEN_OF = """
SELECT 1 FROM memory_audiences a
JOIN temp.sight s ON s.branch = a.branch AND a.position <= s.cap WHERE a.principal = ? LIMIT 1
"""
