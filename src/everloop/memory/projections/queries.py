"""The query layer of memory: every read names its asker and passes one visibility condition.

The condition is SQL over a version `v` of an item `i`: it is in the reader's sight, it is the
newest such version, the asker may see it, and it matches the filter. Search, lists, counts and
single items all use it; there is no other way to read an item.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from everloop.errors import NotFound
from everloop.log import Reader, visible
from everloop.log.model.record import from_microseconds, to_microseconds
from everloop.memory.model.events import PIVOTAL, Origin
from everloop.memory.model.scopes import NEW_HOSTS, OWNER, WORLD_PREFIX, Viewer
from everloop.memory.text.similarity import compare_texts

ITEM_COLUMNS = """
i.position, v.position, i.item_id, v.title, v.text, i.kind, v.scope, i.author, i.origin,
i.learned_via, i.happened_at, i.recorded_at, i.holds_until, i.follows, v.restricted,
(SELECT w.actor FROM log w WHERE w.position = v.position)
"""


class Filter(msgspec.Struct, frozen=True):
    """Which items to include. An empty filter includes everything the asker may see."""

    scopes: tuple[str, ...] = ()
    scope_kinds: tuple[str, ...] = ()
    kinds: tuple[str, ...] = ()
    since: datetime | None = None
    before: datetime | None = None
    retired: bool = False  # include retired items
    stepped_back: bool = False  # include items demoted in favour of a summary


class Item(msgspec.Struct, frozen=True):
    """An item as an asker sees it.

    `author` stored it; `revised_by` wrote its newest version, and is empty if that was the author.
    """

    position: int
    version: int
    item_id: str
    title: str
    text: str
    kind: str
    scope: str
    author: str
    origin: Origin
    learned_via: str
    happened_at: datetime
    recorded_at: datetime
    holds_until: datetime | None
    follows: str
    witnesses: tuple[str, ...] = ()
    significance: int = 0
    pinned: bool = False
    retired: bool = False
    derived_from: tuple[str, ...] = ()
    contradicts: tuple[str, ...] = ()
    repeats: int = 0
    revised_by: str = ""

    @property
    def authors(self) -> str:
        """Who wrote it: the author, and who revised it last, if that was somebody else."""
        return f"{self.author}, revised by {self.revised_by}" if self.revised_by else self.author


class VisibilityQuery:
    """The visibility condition for an asker and a filter, as SQL with its bindings."""

    def __init__(self, asker: Viewer, only: Filter | None = None) -> None:
        self.asker = asker
        self.bindings: dict[str, Any] = {"principal": asker.principal}
        chosen = only or Filter()
        conditions = [visible("v"), _NEWEST, self._audience(), self._scopes(chosen), _LAST_STORED]
        if not chosen.retired:
            conditions.append(f"NOT {_RETIRED}")
        if not (chosen.retired or chosen.stepped_back):
            conditions.append(f"NOT {_STEPPED_BACK}")
        if chosen.kinds:
            conditions.append(f"i.kind IN ({self._bind('kind', chosen.kinds)})")
        if chosen.since:
            self.bindings["since"] = to_microseconds(chosen.since)
            conditions.append("i.happened_at >= :since")
        if chosen.before:
            self.bindings["before"] = to_microseconds(chosen.before)
            conditions.append("i.happened_at < :before")
        self.condition = " AND ".join(f"({condition})" for condition in conditions if condition)

    def select(self, what: str, where: str = "true", rest: str = "") -> str:
        """A query over the visible versions."""
        return (
            f"SELECT {what} FROM memory_versions v JOIN memory_items i ON i.position = v.item"  # noqa: S608
            f" WHERE ({where}) AND {self.condition} {rest}"
        )

    def rows(
        self, reader: Reader, what: str, where: str = "true", rest: str = "", **bindings: Any
    ) -> list[tuple[Any, ...]]:
        """The visible rows."""
        return reader.rows(self.select(what, where, rest), {**self.bindings, **bindings})

    def _audience(self) -> str:
        if self.asker.is_owner:
            return ""
        return (
            "v.restricted = 0 OR EXISTS (SELECT 1 FROM memory_witnesses w"
            " WHERE w.position = v.position AND w.principal = :principal)"
        )

    def _scopes(self, only: Filter) -> str:
        """The scopes granted to the asker, narrowed to those of the filter."""
        conditions: list[str] = []
        granted = self.asker.scopes
        if not (self.asker.is_owner or "*" in granted):
            conditions.append(f"({self._in_scopes('granted', granted)})")
        else:  # everything but fiction, unless that is named
            worlds = [scope for scope in granted if scope.startswith(WORLD_PREFIX)]
            named = f" OR {self._in_scopes('worlds', worlds)}" if worlds else ""
            conditions.append(f"({_NO_FICTION}{named})")
        if only.scopes:
            conditions.append(f"v.scope IN ({self._bind('scope', only.scopes)})")
        if only.scope_kinds:
            kinds = [f"{kind}:*" for kind in only.scope_kinds] + list(only.scope_kinds)
            conditions.append(f"({self._in_scopes('kinds', kinds)})")
        return " AND ".join(conditions)

    def _in_scopes(self, name: str, scopes: Iterable[str]) -> str:
        exact = [scope for scope in scopes if not scope.endswith(":*")]
        prefixes = [scope.removesuffix("*") for scope in scopes if scope.endswith(":*")]
        conditions = [f"v.scope IN ({self._bind(name, exact)})"] if exact else []
        for number, prefix in enumerate(prefixes):
            self.bindings[f"{name}_prefix{number}"] = prefix
            conditions.append(f"substr(v.scope, 1, {len(prefix)}) = :{name}_prefix{number}")
        return " OR ".join(conditions) or "false"

    def _bind(self, name: str, values: Sequence[str]) -> str:
        for number, value in enumerate(values):
            self.bindings[f"{name}{number}"] = value
        return ", ".join(f":{name}{number}" for number in range(len(values)))


_NO_FICTION = "NOT (v.scope >= 'world:' AND v.scope < 'world;')"
_RETIRED = f"""EXISTS (
    SELECT 1 FROM memory_marks m WHERE m.item = i.position AND m.mark = 'retired'
    AND {visible("m")})"""  # noqa: S608 - our own condition
# A demoted item counts again when its summary is retired.
_STEPPED_BACK = f"""EXISTS (
    SELECT 1 FROM memory_marks d JOIN memory_items s ON s.item_id = d.note
    WHERE d.item = i.position AND d.mark = 'demoted' AND {visible("d")} AND {visible("s")}
    AND NOT EXISTS (SELECT 1 FROM memory_marks m WHERE m.item = s.position AND m.mark = 'retired'
                    AND {visible("m")}))"""  # noqa: S608 - our own condition
_NEWEST = f"""NOT EXISTS (
    SELECT 1 FROM memory_versions n WHERE n.item = v.item AND n.position > v.position
    AND {visible("n")})"""  # noqa: S608 - our own condition
# An item that was retracted, stored again, and whose retraction was undone, is there twice.
_LAST_STORED = f"""NOT EXISTS (
    SELECT 1 FROM memory_items twin WHERE twin.item_id = i.item_id AND twin.position > i.position
    AND {visible("twin")})"""  # noqa: S608 - our own condition


def load_viewer(reader: Reader, principal: str) -> Viewer:
    """Load a principal with its granted scopes. One without a grant sees nothing."""
    if principal == OWNER:
        return Viewer(OWNER, ("*",))
    found = reader.rows(
        f"SELECT scopes FROM memory_audiences a WHERE principal = ? AND {visible('a')}"  # noqa: S608
        " ORDER BY position DESC LIMIT 1",
        (principal,),
    )
    return Viewer(principal, tuple(msgspec.json.decode(found[0][0])) if found else ())


def new_host_scopes(reader: Reader) -> tuple[str, ...] | None:
    """The scopes that a new host gets, as the log says; None if nothing was decided."""
    found = reader.rows(
        f"SELECT scopes FROM memory_audiences a WHERE principal = ? AND {visible('a')}"  # noqa: S608
        " ORDER BY position DESC LIMIT 1",
        (NEW_HOSTS,),
    )
    return tuple(msgspec.json.decode(found[0][0])) if found else None


def find_item(reader: Reader, who: Viewer, item_id: str, *, retired: bool = True) -> Item:
    """Find one item by id, including retired ones.

    Raises:
        NotFound: there is none that this asker may see; whether one exists is not revealed.
    """
    sieve = VisibilityQuery(who, Filter(retired=retired))
    found = sieve.rows(reader, ITEM_COLUMNS, "i.item_id = :item_id", item_id=item_id)
    if not found:
        raise NotFound(f"no item {item_id!r}", hint="`everloop memories` lists them.")
    return load_details(reader, who, [item_from_row(row) for row in found])[0]


def includes_retired_item(reader: Reader, who: Viewer, item: Item, only: Filter) -> bool:
    """Whether a filter includes an item, going by retirement and demotion alone."""
    sieve = VisibilityQuery(who, Filter(retired=only.retired, stepped_back=only.stepped_back))
    return bool(sieve.rows(reader, "1", "i.position = :position", position=item.position))


def list_items(
    reader: Reader, who: Viewer, only: Filter | None = None, *, limit: int = 50, offset: int = 0
) -> list[Item]:
    """Items by the time they happened, newest first."""
    rest = "ORDER BY i.happened_at DESC, i.position DESC LIMIT :limit OFFSET :offset"
    found = VisibilityQuery(who, only).rows(
        reader, ITEM_COLUMNS, rest=rest, limit=limit, offset=offset
    )
    return load_details(reader, who, [item_from_row(row) for row in found])


def items_at(reader: Reader, who: Viewer, positions: Sequence[int]) -> list[Item]:
    """The items that were stored at these positions, as far as this asker may see them."""
    sieve = VisibilityQuery(who)
    where = "i.position IN (SELECT value FROM json_each(:at))"
    found = sieve.rows(reader, ITEM_COLUMNS, where, at=_json(positions))
    return load_details(reader, who, [item_from_row(row) for row in found])


def count_items(reader: Reader, who: Viewer, only: Filter | None = None) -> int:
    """Count the items that this asker may see."""
    return int(VisibilityQuery(who, only).rows(reader, "count(*)")[0][0])


def item_from_row(row: Sequence[Any]) -> Item:
    """Build an item from a row of `COLUMNS`, without its marks and relations."""
    return Item(
        position=row[0],
        version=row[1],
        item_id=row[2],
        title=row[3],
        text=row[4],
        kind=row[5],
        scope=row[6],
        author=row[7],
        origin=msgspec.json.decode(row[8], type=Origin),
        learned_via=row[9],
        happened_at=from_microseconds(row[10]),
        recorded_at=from_microseconds(row[11]),
        holds_until=from_microseconds(row[12]) if row[12] else None,
        follows=row[13],
        revised_by="" if row[15] == row[7] else row[15],
    )


def load_details(reader: Reader, who: Viewer, found: Sequence[Item]) -> list[Item]:
    """Add marks, witnesses, sources and relations to items, as far as the asker may see them."""
    positions = _json([item.position for item in found])
    marks: dict[int, dict[str, int]] = {}
    back = demoted_items(reader, [item.position for item in found])
    for position, mark, value in reader.rows(_MARKS, (positions,)):
        known = marks.setdefault(position, {})
        known[mark] = value
        if mark == "rated":  # a new rating brings a displaced pin back
            known.pop("gave_way", None)
    witnesses = _grouped(reader, _WITNESSES, _json([item.version for item in found]))
    repeats = _grouped(reader, _REPEATS, positions)
    sources = _grouped(reader, _SOURCES, positions)
    contradicts = _contradictions(reader, positions)
    mentioned = {each for group in (sources, contradicts) for ids in group.values() for each in ids}
    seen = _seen(reader, who, mentioned)
    return [
        msgspec.structs.replace(
            item,
            significance=marks.get(item.position, {}).get("rated", 0),
            pinned=_pinned(marks.get(item.position, {})),
            retired="retired" in marks.get(item.position, {}) or item.position in back,
            witnesses=tuple(witnesses.get(item.version, ())),
            derived_from=tuple(i for i in sources.get(item.position, ()) if i in seen),
            contradicts=tuple(i for i in contradicts.get(item.position, ()) if i in seen),
            repeats=len(repeats.get(item.position, ())),
        )
        for item in found
    ]


def demoted_items(reader: Reader, positions: Sequence[int]) -> set[int]:
    """The positions, among these, of items that are demoted in favour of a summary."""
    return {row[0] for row in reader.rows(_BACK, (_json(positions),))}


def has_demoted_items(reader: Reader) -> bool:
    """Whether any item was ever demoted in favour of a summary."""
    return bool(reader.rows("SELECT 1 FROM memory_marks WHERE mark = 'demoted' LIMIT 1"))


_MARKS = f"""
SELECT m.item, m.mark, m.value FROM json_each(?) j JOIN memory_marks m ON m.item = j.value
WHERE {visible("m")} ORDER BY m.position
"""  # noqa: S608 - our own condition
_BACK = f"""
SELECT i.position FROM json_each(?) j JOIN memory_items i ON i.position = j.value
WHERE {_STEPPED_BACK}
"""  # noqa: S608 - our own condition
_WITNESSES = """
SELECT w.position, w.principal FROM json_each(?) j
JOIN memory_witnesses w ON w.position = j.value ORDER BY w.principal
"""
_SOURCES = """
SELECT s.position, s.source_id FROM json_each(?) j
JOIN memory_sources s ON s.position = j.value ORDER BY s.source_id
"""
_REPEATS = f"""
SELECT r.item, r.position FROM json_each(?) j JOIN memory_repeats r ON r.item = j.value
WHERE {visible("r")}
"""  # noqa: S608 - our own condition


def _text(item: str, upto: str = "true") -> str:
    """SQL for the text of an item, now or up to a condition."""
    return (
        f"(SELECT t.text FROM memory_versions t WHERE t.item = {item} AND {upto}"  # noqa: S608
        f" AND {visible('t')} ORDER BY t.position DESC LIMIT 1)"
    )


# Pairs of related items, from either side, and the position of the relation.
RELATED_PAIRS_SQL = f"""
WITH pairs(item, other, at) AS (
    SELECT r.item, o.position, r.position FROM json_each(:items) j
    JOIN memory_relations r ON r.item = j.value JOIN memory_items o ON o.item_id = r.other_id
    WHERE r.relation = :relation AND {visible("r")} AND {visible("o")}
    UNION
    SELECT mine.position, r.item, r.position FROM json_each(:items) j
    JOIN memory_items mine ON mine.position = j.value
    JOIN memory_relations r ON r.other_id = mine.item_id
    WHERE r.relation = :relation AND {visible("r")}
)
"""  # noqa: S608 - our own conditions
_THEN = "t.position < p.at"
_CONTRADICTS = f"""
{RELATED_PAIRS_SQL}
SELECT p.item, i.item_id, {_text("p.item")}, {_text("p.other")},
    {_text("p.item", _THEN)}, {_text("p.other", _THEN)}
FROM pairs p JOIN memory_items i ON i.position = p.other ORDER BY i.item_id
"""  # noqa: S608 - our own conditions


def _contradictions(reader: Reader, positions: str) -> dict[int, list[str]]:
    """The items that contradict each item; texts that were revised since are compared again."""
    groups: dict[int, dict[str, None]] = {}
    asked = {"items": positions, "relation": "contradicts"}
    for item, other, mine, theirs, *then in reader.rows(_CONTRADICTS, asked):
        if [mine, theirs] == then or compare_texts(mine, theirs)[0] == "contradicts":
            groups.setdefault(item, {})[other] = None
    return {item: list(others) for item, others in groups.items()}


def _pinned(marks: dict[str, int]) -> bool:
    """Whether it is pinned by hand, or automatically as pivotal and not declined or displaced."""
    automatic = marks.get("rated", 0) == PIVOTAL and "gave_way" not in marks
    return bool(marks.get("pinned", automatic))


def _grouped(reader: Reader, sql: str, wanted: str) -> dict[int, list[Any]]:
    groups: dict[int, list[Any]] = {}
    for position, value in reader.rows(sql, (wanted,)):
        groups.setdefault(position, []).append(value)
    return groups


def _seen(reader: Reader, who: Viewer, ids: set[str]) -> set[str]:
    """The items, among these, that the asker may see."""
    if not ids:
        return set()
    sieve = VisibilityQuery(who, Filter(retired=True))
    where = "i.item_id IN (SELECT value FROM json_each(:ids))"
    found = sieve.rows(reader, "i.item_id", where, ids=_json(sorted(ids)))
    return {row[0] for row in found}


def _json(values: Sequence[int] | Sequence[str]) -> str:
    return msgspec.json.encode(values).decode()
