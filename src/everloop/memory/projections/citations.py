"""Citations, and the immunity they give: clean-up never touches an item that a user cites.

A citation is a link, not a counter: who cites what, since when, until when. It is open until it is
closed or its citer is retired; a retracted citer takes its links with it, as everything derived
from it. So counts cannot drift: each is computed from the links visible in the reader's sight.

An item is immune while something a user wrote cites it, its derivatives, or its sources. Only
direct ancestors and descendants count: two sources of one summary do not protect each other.
"""

from collections.abc import Callable, Collection, Iterable, Sequence
from datetime import datetime

import msgspec

from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds
from everloop.memory.model.commands import CiteItem, DemoteItem, RetireItem, ReviseItem
from everloop.memory.model.events import Retired
from everloop.memory.model.scopes import Viewer, acts_as_user
from everloop.memory.projections.queries import Filter, VisibilityQuery, find_item

CiterVisibility = Callable[[Reader, Viewer, Collection[str]], Collection[str]]


def no_other_citers(reader: Reader, who: Viewer, names: Collection[str]) -> Collection[str]:
    """Reveal no citers of other domains: the default."""
    del reader, who, names
    return ()


class CitationLink(msgspec.Struct, frozen=True):
    """A citation: who cites, since when, and until when if it was closed."""

    citer: str
    by_user: bool
    since: datetime
    until: datetime | None


class CitationCounts(msgspec.Struct, frozen=True):
    """How many open links an item has, and how many of them come from what a user wrote."""

    open: int = 0
    by_user: int = 0


def user_citers(reader: Reader, item_id: str) -> list[str]:
    """The citers of an item, its derivatives or its sources that a user wrote.

    For decisions only: it ignores visibility.
    """
    return [row[0] for row in reader.rows(_USER_CITERS, {"item_id": item_id})]


def citation_counts(
    reader: Reader, who: Viewer, item_ids: Sequence[str], known: CiterVisibility = no_other_citers
) -> dict[str, CitationCounts]:
    """Count the open links of items; an item that the asker may not see is left out.

    `known` tells which citers of other domains the asker may see; no others are counted.
    """
    counts = dict.fromkeys(_seen(reader, who, item_ids), CitationCounts())
    rows = reader.rows(_OPEN_LINKS, (_json(sorted(counts)),))
    seen = visible_citers(reader, who, {citer for _, citer, _ in rows}, known)
    for item_id, citer, by_user in rows:
        if citer in seen:
            counted = counts[item_id]
            counts[item_id] = CitationCounts(counted.open + 1, counted.by_user + by_user)
    return counts


def citation_links(
    reader: Reader, who: Viewer, item_id: str, known: CiterVisibility = no_other_citers
) -> list[CitationLink]:
    """Every link to an item, open or closed, oldest first, from citers that the asker may see.

    Raises:
        NotFound: there is no such item for this asker.
    """
    item = find_item(reader, who, item_id)
    rows = reader.rows(_LINKS, (item.position,))
    seen = visible_citers(reader, who, {row[0] for row in rows}, known)
    return [
        CitationLink(
            citer,
            bool(by_user),
            from_microseconds(since),
            from_microseconds(until) if until else None,
        )
        for citer, by_user, since, until in rows
        if citer in seen
    ]


def open_citations(
    reader: Reader, who: Viewer, item_id: str, known: CiterVisibility = no_other_citers
) -> list[CitationLink]:
    """The open citations that would forbid retiring an item, one per citer, oldest first.

    These are all citers of the item, and the user's citers of its derivatives and sources.

    Raises:
        NotFound: there is no such item for this asker.
    """
    rows = reader.rows(_STANDING, {"item_id": find_item(reader, who, item_id).item_id})
    seen = visible_citers(reader, who, {row[0] for row in rows}, known)
    return [
        CitationLink(citer, bool(by_user), from_microseconds(since), None)
        for citer, by_user, since in rows
        if citer in seen
    ]


def visible_citers(
    reader: Reader, who: Viewer, names: Collection[str], known: CiterVisibility = no_other_citers
) -> set[str]:
    """The citers that the asker may see: visible items, and those that `known` allows."""
    if who.is_owner:
        return set(names)
    return {*_seen(reader, who, names), *known(reader, who, names)}


# -- lookups for the deciders ----------------------------------------------------------------------


def retire_obstacles(reader: Reader, command: RetireItem) -> list[str]:
    """The citers that forbid retiring an item: those that a user wrote."""
    return user_citers(reader, command.item_id)


def has_user_derivatives(reader: Reader, command: ReviseItem) -> bool:
    """Whether a user wrote a version of something derived from the item."""
    return any(acts_as_user(row[0]) for row in reader.rows(_WRITERS, {"item_id": command.item_id}))


def demote_obstacles(reader: Reader, command: DemoteItem) -> list[str]:
    """The user's citers, and the summary if it does not cover the item's newest version."""
    bindings = {"item_id": command.item_id, "summary": command.in_favour_of}
    current = reader.rows(_COVERS_NEWEST, bindings)
    return user_citers(reader, command.item_id) + ([] if current else [command.in_favour_of])


def citer_positions(reader: Reader, command: CiteItem) -> tuple[int, ...]:
    """The position of the citer, if it is an item."""
    rows = reader.rows(_POSITION, (command.citer,))
    return tuple(row[0] for row in rows)


# -- queries ---------------------------------------------------------------------------------------

_POSITION = f"SELECT i.position FROM memory_items i WHERE item_id = ? AND {visible('i')}"  # noqa: S608

_CLOSED = f"""
SELECT min(e.position) FROM memory_citations e
WHERE e.item = c.item AND e.citer = c.citer AND NOT e.open AND e.position > c.position
AND {visible("e")}
"""  # noqa: S608 - our own condition
_RETIRED = f"""
SELECT min(m.position) FROM memory_items r JOIN memory_marks m ON m.item = r.position
JOIN log l ON l.position = m.position
WHERE r.item_id = c.citer AND l.kind = '{Retired.wire}' AND {visible("r")} AND {visible("m")}
"""  # noqa: S608 - a demoted citer is still reachable, and so its link stays open
_OPEN = f"c.open AND {visible('c')} AND ({_CLOSED}) IS NULL AND ({_RETIRED}) IS NULL"

_KIN = f"""
WITH RECURSIVE
made(item_id) AS (
    VALUES (:item_id)
    UNION
    SELECT i.item_id FROM made JOIN memory_sources s ON s.source_id = made.item_id
    JOIN memory_items i ON i.position = s.position WHERE {visible("i")}
),
source(item_id) AS (
    VALUES (:item_id)
    UNION
    SELECT s.source_id FROM source JOIN memory_items i ON i.item_id = source.item_id
    JOIN memory_sources s ON s.position = i.position WHERE {visible("i")}
),
kin(item_id) AS (SELECT item_id FROM made UNION SELECT item_id FROM source)
"""  # noqa: S608 - our own conditions
_TO_KIN = f"""
kin
CROSS JOIN memory_items i ON i.item_id = kin.item_id  -- in this order: the kin is small
CROSS JOIN memory_citations c ON c.item = i.position AND {visible("i")} AND {_OPEN}
"""
_USER_CITERS = f"{_KIN} SELECT DISTINCT c.citer FROM {_TO_KIN} WHERE c.by_user ORDER BY c.citer"  # noqa: S608

_WRITERS = f"""
{_KIN}
SELECT DISTINCT l.actor FROM made CROSS JOIN memory_items i ON i.item_id = made.item_id
CROSS JOIN memory_versions v ON v.item = i.position JOIN log l ON l.position = v.position
WHERE made.item_id <> :item_id AND {visible("i")} AND {visible("v")}
"""  # noqa: S608 - our own conditions
_STANDING = f"""
{_KIN}
SELECT c.citer, max(c.by_user), min(opened.recorded_at) FROM {_TO_KIN}
JOIN log opened ON opened.position = c.position
WHERE c.by_user OR i.item_id = :item_id GROUP BY c.citer ORDER BY min(c.position)
"""  # noqa: S608 - our own conditions

_OPEN_LINKS = f"""
SELECT i.item_id, c.citer, max(c.by_user) FROM json_each(?) j
JOIN memory_items i ON i.item_id = j.value JOIN memory_citations c ON c.item = i.position
WHERE {visible("i")} AND {_OPEN} GROUP BY i.item_id, c.citer
"""  # noqa: S608 - our own conditions

_LINKS = f"""
SELECT c.citer, c.by_user, opened.recorded_at, closed.recorded_at
FROM memory_citations c JOIN log opened ON opened.position = c.position
LEFT JOIN log closed ON closed.position = coalesce(({_CLOSED}), ({_RETIRED}))
WHERE c.item = ? AND c.open AND {visible("c")} ORDER BY c.position
"""  # noqa: S608 - our own conditions

_COVERS_NEWEST = f"""
SELECT 1 FROM memory_items summary
JOIN memory_sources s ON s.position = summary.position AND s.source_id = :item_id
JOIN memory_items i ON i.item_id = :item_id
JOIN log_because b ON b.dependant = summary.position
WHERE summary.item_id = :summary AND {visible("summary")} AND {visible("i")} AND b.source = (
    SELECT max(v.position) FROM memory_versions v WHERE v.item = i.position AND {visible("v")})
"""  # noqa: S608 - our own conditions


def _seen(reader: Reader, who: Viewer, names: Iterable[str]) -> list[str]:
    sieve = VisibilityQuery(who, Filter(retired=True))
    where = "i.item_id IN (SELECT value FROM json_each(:names))"
    return [row[0] for row in sieve.rows(reader, "i.item_id", where, names=_json(sorted(names)))]


def _json(names: Sequence[str]) -> str:
    return msgspec.json.encode(list(names)).decode()
