"""Successors of lost summaries: what replaces each source of a higher-level summary.

Several lost summaries often lead to the same window, so lookups are cached for one state of the
log.
"""

import hashlib
from collections.abc import Iterable, Sequence
from functools import cache
from typing import Any

import msgspec

from everloop.log import Reader, visible
from everloop.log.model.facts import Retracted
from everloop.log.model.record import fact_of
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.queries import Filter, VisibilityQuery
from everloop.memory.summaries.zoom import DEPTH_MAX, RETIRED_SQL

SUMMARY_TOKENS = 500  # the default budget of a summary

Window = tuple[str, ...]


class Successors:
    """Finds what replaces lost summaries, as an asker sees it in one state of the log."""

    def __init__(self, reader: Reader, who: Viewer) -> None:
        self._reader, self._who = reader, who
        self._sieve = VisibilityQuery(who, Filter(retired=True))
        self.is_summarised = cache(self._is_held)
        self.is_unwanted = cache(self._is_unwanted)
        self._sources = cache(self._look_up_sources)
        self._own = cache(self._look_up_own)
        self._of = cache(self._look_up)
        self._windows_of = cache(self._by_audience)

    def windows(self, position: int) -> list[Window] | None:
        """The items that replace the sources of a summary, one window per audience.

        None while one of the sources waits for its own successor.
        """
        window = self._of(self._sources(position), DEPTH_MAX)
        return None if window is None else self._windows_of(window)

    def is_declined(self, window: Window, position: int) -> bool:
        """Whether a later summary of the same items was retracted or retired."""
        made = self._reader.rows(_MADE_OF, (window[0], position))
        same = (at for (at,) in made if self._sources(at) == frozenset(window))
        return any(self.is_unwanted(at) for at in same)

    def _is_unwanted(self, position: int) -> bool:
        """Whether this summary itself was retracted or retired, and not just one of its sources."""
        if self._reader.rows(_RETIRED_BEFORE, (position,)):
            return True
        for (retraction,) in self._reader.rows(_TAKEN_BACK, (position, Retracted.wire, ENGINE)):
            taken_back = fact_of(self._reader.record(retraction)).event
            if isinstance(taken_back, Retracted) and position in taken_back.positions:
                return True
        return False

    def _is_held(self, window: Window) -> bool:
        """Whether a current summary covers all of these items."""
        return bool(
            self._sieve.rows(
                self._reader, "1", COVERING_SUMMARY_SQL, "LIMIT 1", ids=json_list(window)
            )
        )

    def _look_up(self, sources: frozenset[str], levels: int) -> frozenset[str] | None:
        """The items that replace these sources; None while one of them waits for a successor."""
        window: set[str] = set()
        for source in sorted(sources):
            became = self._became(source, levels, beside=sources - {source})
            if became is None:
                return None
            window |= became
        return frozenset(window)

    def _became(self, item_id: str, levels: int, *, beside: frozenset[str]) -> set[str] | None:
        if self._sieve.rows(self._reader, "1", _HERE, id=item_id):
            return {item_id}
        gone = self._reader.rows(_GONE_SUMMARY, (item_id,))
        if not gone or not levels or self.is_unwanted(gone[0][0]):
            return set()
        window = self._of(self._sources(gone[0][0]), levels - 1)
        if window is None:
            return None
        became: set[str] = set()
        for part in self._windows_of(window):
            holder = self._holder(part, beside)
            if holder is None and is_compression_refused(self._reader, part):
                holder = set(part)
            if holder is None and not self.is_declined(part, gone[0][0]):
                return None
            became |= holder or set()
        return became

    def _holder(self, window: Window, beside: frozenset[str]) -> set[str] | None:
        """What covers a lower window now: its own summary, a wider one, or the items themselves.

        A wider summary may have been made from the requested window itself: including it would make
        each new summary request another one. Then the items are used.
        """
        if own := self._own(window):
            return {own}
        wider = self._sieve.rows(
            self._reader,
            "i.item_id, i.position",
            COVERING_SUMMARY_SQL,
            "ORDER BY i.position",
            ids=json_list(window),
        )
        for item_id, position in wider:
            if beside.isdisjoint(self._sources(position)):
                return {item_id}
        return set(window) if wider else None

    def _by_audience(self, item_ids: frozenset[str]) -> list[Window]:
        """The items grouped by audience: a summary has exactly one."""
        groups: dict[tuple[str, str], list[str]] = {}
        named = json_list(sorted(item_ids))
        rows = self._sieve.rows(
            self._reader, AUDIENCE_COLUMNS, _NAMED, "ORDER BY i.item_id", ids=named
        )
        for item_id, *audience in rows:
            groups.setdefault((audience[0], audience[1]), []).append(item_id)
        return [tuple(window) for window in groups.values()]

    def _look_up_own(self, window: Window) -> str:
        own = summaries_of_exactly(self._reader, self._who, window, "i.item_id")
        return str(own[0][0]) if own else ""

    def _look_up_sources(self, position: int) -> frozenset[str]:
        return frozenset(row[0] for row in self._reader.rows(SOURCES_SQL, (position,)))


def summaries_of_exactly(
    reader: Reader, who: Viewer, window: Sequence[str], what: str
) -> list[tuple[Any, ...]]:
    """The requested columns of each current summary of exactly these items, newest first."""
    sieve = VisibilityQuery(who, Filter(retired=True))
    exactly = f"{COVERING_SUMMARY_SQL} AND {_OF_NO_MORE}"
    return sieve.rows(reader, what, exactly, "ORDER BY i.position DESC", ids=json_list(window))


def is_compression_refused(
    reader: Reader, item_ids: Iterable[str], budget: int = SUMMARY_TOKENS
) -> bool:
    """Whether the summariser refused the current versions of these items at this budget."""
    stream = window_stream(reader, item_ids, budget)
    return bool(reader.rows(f"SELECT 1 FROM log WHERE stream = ? AND {visible('log')}", (stream,)))  # noqa: S608


def window_stream(reader: Reader, item_ids: Iterable[str], budget: int = SUMMARY_TOKENS) -> str:
    """The stream for a window: the current versions of items, at a token budget."""
    known: list[Any] = reader.rows(_VERSIONS, (json_list(sorted(set(item_ids))),))
    if budget != SUMMARY_TOKENS:
        known = [*known, budget]
    return f"compression:{hashlib.sha256(msgspec.json.encode(known)).hexdigest()[:32]}"


def newest_version(item: str) -> str:
    """SQL for the newest visible version of an item."""
    return (
        f"(SELECT max(n.position) FROM memory_versions n WHERE n.item = {item}"  # noqa: S608
        f" AND {visible('n')})"
    )


def json_list(values: Sequence[str] | Sequence[int]) -> str:
    """Encode a list for SQL's `json_each`."""
    return msgspec.json.encode(list(values)).decode()


AUDIENCE_COLUMNS = """
i.item_id, v.scope, (SELECT json_group_array(principal) FROM (
    SELECT principal FROM memory_witnesses w WHERE w.position = v.position ORDER BY principal))
"""
SOURCES_SQL = "SELECT source_id FROM memory_sources WHERE position = ? ORDER BY source_id"
IN_SIGHT_SQL = (
    "EXISTS (SELECT 1 FROM temp.sight s WHERE s.branch = i.branch AND i.position <= s.cap)"
)
OUT_OF_DATE_SQL = f"""
SELECT 1 FROM memory_sources o JOIN memory_items source ON source.item_id = o.source_id
WHERE o.position = {{summary}} AND {visible("source")} AND NOT EXISTS (
    SELECT 1 FROM log_because b
    WHERE b.dependant = o.position AND b.source = {newest_version("source.position")})
"""  # noqa: S608 - our own conditions
COVERING_SUMMARY_SQL = f"""
i.kind = 'summary' AND NOT {RETIRED_SQL} AND i.position IN (
    SELECT s.position FROM json_each(:ids) j JOIN memory_sources s ON s.source_id = j.value
    GROUP BY s.position HAVING count(*) = json_array_length(:ids))
AND NOT EXISTS ({OUT_OF_DATE_SQL.format(summary="i.position")})
"""  # noqa: S608 - our own conditions
_OF_NO_MORE = """
(SELECT count(*) FROM memory_sources s WHERE s.position = i.position) = json_array_length(:ids)
"""
_NAMED = "i.item_id IN (SELECT value FROM json_each(:ids))"
_HERE = f"i.item_id = :id AND NOT {RETIRED_SQL}"
_MADE_OF = "SELECT position FROM memory_sources WHERE source_id = ? AND position > ?"
_VERSIONS = f"""
SELECT i.item_id, {newest_version("i.position")} FROM json_each(?) j
JOIN memory_items i ON i.item_id = j.value WHERE {visible("i")} ORDER BY i.item_id
"""  # noqa: S608 - our own conditions
# A retirement is hidden with its item; it counts here unless it was retracted on its own.
_RETIRED_BEFORE = """
SELECT 1 FROM memory_marks m JOIN log l ON l.position = m.position
WHERE m.item = ?1 AND l.kind = 'memory.retired' AND NOT EXISTS (
    SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.position = m.position AND h.hidden_by NOT IN (
        SELECT hidden_by FROM log_hidden WHERE position = ?1))
"""
_TAKEN_BACK = """
SELECT h.hidden_by FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
JOIN log l ON l.position = h.hidden_by WHERE h.position = ? AND l.kind = ? AND l.actor <> ?
"""
_GONE_SUMMARY = f"""
SELECT i.position FROM memory_items i
WHERE i.item_id = ? AND i.kind = 'summary' AND {IN_SIGHT_SQL} AND EXISTS (
    SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.position = i.position)
ORDER BY i.position DESC LIMIT 1
"""  # noqa: S608 - our own conditions
