"""Visibility mask: which rows of the passage table an asker may see, kept up to date with the log.

SQL decides about access (`VisibilityQuery`), once for each row. The result is cached by asker and
sight, and only rows that were added or changed since are checked again. A retraction may change
anything, so after one every row is checked again. A cache: dropping it costs only time.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader, Sight, visible
from everloop.log.model.record import to_microseconds
from everloop.memory.index.passage_index import PassageIndex
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.row_sets import NO_ROW, Mask, Rows
from everloop.memory.index.search_view import SearchView
from everloop.memory.model.scopes import Viewer
from everloop.memory.projections.queries import Filter, Item, VisibilityQuery
from everloop.memory.text.passages import PASSAGES_MAX

CACHED_MAX = 32  # masks in memory
VIEWS_MAX = 8  # filters whose search view is cached
CHANGES_MAX = 1_000  # changed items; if there are more, every row is checked again
UNSET, GAVE_WAY = -1, -2

_LAST_RETRACTION = "SELECT max(position) FROM log_retractions"
_CHANGED_ITEMS = """
SELECT item FROM memory_versions NOT INDEXED WHERE position > ?1 AND position <> item
UNION SELECT item FROM memory_marks NOT INDEXED WHERE position > ?1
UNION SELECT d.item FROM memory_marks m NOT INDEXED CROSS JOIN memory_items s ON s.position = m.item
JOIN memory_marks d ON d.note = s.item_id AND d.mark = 'demoted'
WHERE m.position > ?1 AND m.mark = 'retired'
"""
_MARKS = f"""
SELECT m.item, m.mark, m.value FROM memory_marks m
WHERE m.mark IN ('rated', 'pinned', 'gave_way') AND {visible("m")} ORDER BY m.position
"""  # noqa: S608 - our own condition
_MARKS_OF = f"""
SELECT m.item, m.mark, m.value FROM json_each(?) j JOIN memory_marks m ON m.item = j.value
WHERE m.mark IN ('rated', 'pinned', 'gave_way') AND {visible("m")} ORDER BY m.position
"""  # noqa: S608 - our own condition


class Visibility(msgspec.Struct, frozen=True):
    """The visibility mask of one asker in one sight, with ratings and pins.

    The arrays are never changed, only replaced.
    """

    head: int
    table: PassageColumns
    retracted: int | None
    allowed: Mask  # by row; row 0 is no row; one more (False) stands for all later rows
    rated: NDArray[np.int8]
    pinned: NDArray[np.int8]  # 1 and 0 as set by hand, else UNSET or GAVE_WAY
    item_count: int  # how many are visible
    has_marks: bool  # whether any item is rated or pinned
    split_items: bool  # whether any item has several passages
    item_cache: dict[int, Item] = {}  # cache of items already loaded, by position
    views: dict[Filter, SearchView] = {}  # by filter, those in use


class VisibilityCache:
    """Cache of visibility masks by asker, sight, and whether retired items are included."""

    def __init__(self) -> None:
        self._cached: OrderedDict[Any, Visibility] = OrderedDict()
        self._lock = threading.Lock()

    def get(
        self, reader: Reader, sight: Sight, who: Viewer, register: PassageIndex, only: Filter
    ) -> Visibility:
        """The visibility of an asker, as of the reader's newest position, before any filter.

        Of the filter only `retired` and `demoted_items` count: they decide about access.
        """
        table, head = register.table(reader)
        key = (who, sight.key, only.retired, only.stepped_back)
        with self._lock:
            known = self._cached.get(key)
            if known is not None and known.head == head and known.table is table:
                self._cached.move_to_end(key)
                return known
        chosen = Filter(retired=only.retired, stepped_back=only.stepped_back)
        now = _update(known, reader, head, table, VisibilityQuery(who, chosen))
        with self._lock:
            kept = self._cached.get(key)
            if kept is None or kept.head <= head or kept.table is not table:
                self._cached[key] = now
                self._cached.move_to_end(key)
                while len(self._cached) > CACHED_MAX:
                    self._cached.popitem(last=False)
        return now


def _update(
    known: Visibility | None,
    reader: Reader,
    head: int,
    table: PassageColumns,
    sieve: VisibilityQuery,
) -> Visibility:
    """The visibility at `head`, updated from the cached one if nothing was retracted since."""
    retracted: int | None = reader.rows(_LAST_RETRACTION)[0][0]
    size = len(table)
    changed: list[int] = []
    usable = (
        known is not None
        and known.table is table
        and known.head <= head
        and known.retracted == retracted
    )
    if known is not None and usable:
        changed = [row[0] for row in reader.rows(_CHANGED_ITEMS, (known.head,))]
    if known is None or not usable or len(changed) > CHANGES_MAX:
        draft = _Draft(size, None)
        draft.allow(table, _visible_versions(reader, sieve))
        draft.mark(table, reader.rows(_MARKS))
    else:
        draft = _Draft(size, known)
        draft.allow(table, _visible_versions(reader, sieve, "v.position > :at", at=known.head))
        if changed:
            wanted = msgspec.json.encode(changed).decode()
            draft.clear(table, changed)
            where = "v.item IN (SELECT value FROM json_each(:items))"
            draft.allow(table, _visible_versions(reader, sieve, where, items=wanted))
            draft.mark(table, reader.rows(_MARKS_OF, (wanted,)))
    items = int(np.count_nonzero(draft.allowed[:-1] & table.opens.all[:size]))
    parted = items < int(np.count_nonzero(draft.allowed)) - 1
    marked = bool(draft.rated.any() or (draft.pinned != UNSET).any())
    return Visibility(
        head, table, retracted, draft.allowed, draft.rated, draft.pinned, items, marked, parted
    )


def _visible_versions(
    reader: Reader, sieve: VisibilityQuery, where: str = "true", **bindings: Any
) -> Rows:
    """Positions of the visible versions. Read as one text: much faster than a row for each."""
    text: str | None = sieve.rows(reader, "group_concat(v.position)", where, **bindings)[0][0]
    return np.fromstring(text or "", np.int64, sep=",")


class _Draft:
    """Arrays of a visibility that is being computed."""

    def __init__(self, size: int, known: Visibility | None) -> None:
        self.size = size
        self.allowed = np.zeros(size + 1, np.bool_)
        self.allowed[NO_ROW] = True
        self.rated = np.zeros(size, np.int8)
        self.pinned = np.full(size, UNSET, np.int8)
        if known is not None:
            upto = len(known.rated)
            self.allowed[:upto] = known.allowed[:-1]
            self.rated[:upto] = known.rated
            self.pinned[:upto] = known.pinned

    def allow(self, table: PassageColumns, versions: Rows) -> None:
        """Make the passages of these versions visible."""
        passages = table.passage.all[: self.size]
        first = versions * PASSAGES_MAX
        low = np.searchsorted(passages, first)
        high = np.searchsorted(passages, first + PASSAGES_MAX)
        lengths = high - low
        total = int(lengths.sum())
        starts = np.repeat(low - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        self.allowed[starts + np.arange(total)] = True

    def clear(self, table: PassageColumns, items: Sequence[int]) -> None:
        """Reset the rows of these items, before they are checked again."""
        rows = [row for row in table.rows_of(items) if row < self.size]
        self.allowed[rows] = False
        self.rated[rows] = 0
        self.pinned[rows] = UNSET

    def mark(self, table: PassageColumns, marks: Sequence[tuple[int, str, int]]) -> None:
        """Apply ratings and pins; of several marks on an item the last one counts."""
        for item, mark, value in marks:
            rows = [row for row in table.rows_of([item]) if row < self.size]
            if mark == "pinned":
                self.pinned[rows] = value
                continue
            before, after = (UNSET, GAVE_WAY) if mark == "gave_way" else (GAVE_WAY, UNSET)
            self.pinned[rows] = np.where(self.pinned[rows] == before, after, self.pinned[rows])
            if mark == "rated":
                self.rated[rows] = value


def filtered_view(standing: Visibility, only: Filter) -> SearchView:
    """The search view of what one asker may see through a filter, from the cache if it is there."""
    known = standing.views.get(only)
    if known is None:
        known = SearchView(
            standing.table,
            _filter_mask(standing, only),
            item_count=standing.item_count,
            split_items=standing.split_items,
        )
        if len(standing.views) >= VIEWS_MAX:
            standing.views.clear()
        standing.views[only] = known
    return known


def _filter_mask(standing: Visibility, only: Filter) -> Mask:
    table, size = standing.table, len(standing.rated)
    conditions: list[Mask] = []
    if only.scopes or only.scope_kinds:
        conditions.append(
            _mask_codes(table.scope.all[:size], len(table.scopes), _scope_codes(table, only))
        )
    if only.kinds:
        kinds = table.kinds.existing_codes(only.kinds)
        conditions.append(_mask_codes(table.kind.all[:size], len(table.kinds), kinds))
    happened = table.happened.all[:size]
    if only.since:
        conditions.append(happened >= to_microseconds(only.since))
    if only.before:
        conditions.append(happened < to_microseconds(only.before))
    if not conditions:
        return standing.allowed
    allowed = standing.allowed.copy()
    for condition in conditions:
        allowed[:size] &= condition
    allowed[NO_ROW] = True
    return allowed


def _mask_codes(codes: NDArray[np.int32], known: int, wanted: Sequence[int]) -> Mask:
    """A mask of the codes that are wanted; much faster than `np.isin`."""
    chosen = np.zeros(known, np.bool_)
    chosen[list(wanted)] = True
    return chosen[codes]


def _scope_codes(table: PassageColumns, only: Filter) -> list[int]:
    """The codes of the scopes that a filter asks for."""
    kinds = set(only.scope_kinds)
    return [
        code
        for code, scope in enumerate(table.scopes.names)
        if (not only.scopes or scope in only.scopes)
        and (not kinds or scope.partition(":")[0] in kinds)
    ]
