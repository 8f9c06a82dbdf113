"""What an asker may see, as a mask over the roster, kept up with the log.

The sieve decides, in SQL, once for each row; what it decided is kept by asker and sight, and asked
anew only for what came or changed since. A retraction may change anything, so then all is asked
anew. A cache: dropping it changes nothing but time.
"""

import threading
from collections import OrderedDict
from collections.abc import Sequence
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader, Sight, visible
from everloop.log.model.record import microseconds
from everloop.memory.index.passage_index import Register
from everloop.memory.index.passage_table import Roster
from everloop.memory.index.row_sets import NONE, Mask, Rows
from everloop.memory.index.search_view import SearchView
from everloop.memory.model.scopes import Asker
from everloop.memory.projections.queries import Filter, Item, Sieve
from everloop.memory.text.passages import PASSAGES_MAX

KEPT_MAX = 32
VIEWS_MAX = 8  # filters whose search view is cached
CHANGES_MAX = 1_000  # more changed items than these, and everything is asked anew
UNSET, GAVE_WAY = -1, -2

_RETRACTED = "SELECT max(position) FROM log_retractions"
_CHANGED = """
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


class Standing(msgspec.Struct, frozen=True):
    """What one asker sees in one sight. The arrays are never changed, only replaced."""

    head: int
    roster: Roster
    retracted: int | None
    allowed: Mask  # by row; the first stands for nothing, one more (False) for what came later
    rated: NDArray[np.int8]
    pinned: NDArray[np.int8]  # 1 and 0 by hand, else UNSET or GAVE_WAY
    items: int  # how many
    marked: bool  # whether any is rated or pinned
    parted: bool  # whether any is in several passages
    read: dict[int, Item] = {}  # items that were read meanwhile, by position
    views: dict[Filter, SearchView] = {}  # by filter, those in use


class Standings:
    """The standings in use, by asker, sight, and whether items count that were let go."""

    def __init__(self) -> None:
        self._kept: OrderedDict[Any, Standing] = OrderedDict()
        self._lock = threading.Lock()

    def of(
        self, reader: Reader, sight: Sight, who: Asker, register: Register, only: Filter
    ) -> Standing:
        """The standing of an asker, as of the reader's newest position, before any filter.

        Of the filter counts only whether it lets through what was let go or stepped back.
        """
        roster, head = register.roster(reader)
        key = (who, sight.key, only.retired, only.stepped_back)
        with self._lock:
            known = self._kept.get(key)
            if known is not None and known.head == head and known.roster is roster:
                self._kept.move_to_end(key)
                return known
        chosen = Filter(retired=only.retired, stepped_back=only.stepped_back)
        now = _brought_up(known, reader, head, roster, Sieve(who, chosen))
        with self._lock:
            kept = self._kept.get(key)
            if kept is None or kept.head <= head or kept.roster is not roster:
                self._kept[key] = now
                self._kept.move_to_end(key)
                while len(self._kept) > KEPT_MAX:
                    self._kept.popitem(last=False)
        return now


def _brought_up(
    known: Standing | None, reader: Reader, head: int, roster: Roster, sieve: Sieve
) -> Standing:
    """The standing at `head`; what is known of it is used if nothing was taken back since."""
    retracted: int | None = reader.rows(_RETRACTED)[0][0]
    size = len(roster)
    changed: list[int] = []
    usable = (
        known is not None
        and known.roster is roster
        and known.head <= head
        and known.retracted == retracted
    )
    if known is not None and usable:
        changed = [row[0] for row in reader.rows(_CHANGED, (known.head,))]
    if known is None or not usable or len(changed) > CHANGES_MAX:
        draft = _Draft(size, None)
        draft.allow(roster, _versions(reader, sieve))
        draft.mark(roster, reader.rows(_MARKS))
    else:
        draft = _Draft(size, known)
        draft.allow(roster, _versions(reader, sieve, "v.position > :at", at=known.head))
        if changed:
            wanted = msgspec.json.encode(changed).decode()
            draft.clear(roster, changed)
            where = "v.item IN (SELECT value FROM json_each(:items))"
            draft.allow(roster, _versions(reader, sieve, where, items=wanted))
            draft.mark(roster, reader.rows(_MARKS_OF, (wanted,)))
    items = int(np.count_nonzero(draft.allowed[:-1] & roster.opens.all[:size]))
    parted = items < int(np.count_nonzero(draft.allowed)) - 1
    marked = bool(draft.rated.any() or (draft.pinned != UNSET).any())
    return Standing(
        head, roster, retracted, draft.allowed, draft.rated, draft.pinned, items, marked, parted
    )


def _versions(reader: Reader, sieve: Sieve, where: str = "true", **bindings: Any) -> Rows:
    """The versions that pass, by position. As one text: much faster than a row for each."""
    text: str | None = sieve.rows(reader, "group_concat(v.position)", where, **bindings)[0][0]
    return np.fromstring(text or "", np.int64, sep=",")


class _Draft:
    """A standing in the making."""

    def __init__(self, size: int, known: Standing | None) -> None:
        self.size = size
        self.allowed = np.zeros(size + 1, np.bool_)
        self.allowed[NONE] = True
        self.rated = np.zeros(size, np.int8)
        self.pinned = np.full(size, UNSET, np.int8)
        if known is not None:
            upto = len(known.rated)
            self.allowed[:upto] = known.allowed[:-1]
            self.rated[:upto] = known.rated
            self.pinned[:upto] = known.pinned

    def allow(self, roster: Roster, versions: Rows) -> None:
        """Let the passages of these versions in."""
        passages = roster.passage.all[: self.size]
        first = versions * PASSAGES_MAX
        low = np.searchsorted(passages, first)
        high = np.searchsorted(passages, first + PASSAGES_MAX)
        lengths = high - low
        total = int(lengths.sum())
        starts = np.repeat(low - np.concatenate(([0], np.cumsum(lengths)[:-1])), lengths)
        self.allowed[starts + np.arange(total)] = True

    def clear(self, roster: Roster, items: Sequence[int]) -> None:
        """Forget what is known of these items."""
        rows = [row for row in roster.rows_of(items) if row < self.size]
        self.allowed[rows] = False
        self.rated[rows] = 0
        self.pinned[rows] = UNSET

    def mark(self, roster: Roster, marks: Sequence[tuple[int, str, int]]) -> None:
        """Note how much items matter; of several marks the last one counts."""
        for item, mark, value in marks:
            rows = [row for row in roster.rows_of([item]) if row < self.size]
            if mark == "pinned":
                self.pinned[rows] = value
                continue
            before, after = (UNSET, GAVE_WAY) if mark == "gave_way" else (GAVE_WAY, UNSET)
            self.pinned[rows] = np.where(self.pinned[rows] == before, after, self.pinned[rows])
            if mark == "rated":
                self.rated[rows] = value


def filtered_view(standing: Standing, only: Filter) -> SearchView:
    """The search view of what one asker may see through a filter, from the cache if it is there."""
    known = standing.views.get(only)
    if known is None:
        known = SearchView(
            standing.roster,
            _narrowed(standing, only),
            item_count=standing.items,
            split_items=standing.parted,
        )
        if len(standing.views) >= VIEWS_MAX:
            standing.views.clear()
        standing.views[only] = known
    return known


def _narrowed(standing: Standing, only: Filter) -> Mask:
    roster, size = standing.roster, len(standing.rated)
    conditions: list[Mask] = []
    if only.scopes or only.scope_kinds:
        conditions.append(
            _chosen(roster.scope.all[:size], len(roster.scopes), _scopes(roster, only))
        )
    if only.kinds:
        kinds = roster.kinds.known(only.kinds)
        conditions.append(_chosen(roster.kind.all[:size], len(roster.kinds), kinds))
    happened = roster.happened.all[:size]
    if only.since:
        conditions.append(happened >= microseconds(only.since))
    if only.before:
        conditions.append(happened < microseconds(only.before))
    if not conditions:
        return standing.allowed
    allowed = standing.allowed.copy()
    for condition in conditions:
        allowed[:size] &= condition
    allowed[NONE] = True
    return allowed


def _chosen(codes: NDArray[np.int32], known: int, wanted: Sequence[int]) -> Mask:
    """Which codes are wanted; much faster than `np.isin`."""
    chosen = np.zeros(known, np.bool_)
    chosen[list(wanted)] = True
    return chosen[codes]


def _scopes(roster: Roster, only: Filter) -> list[int]:
    """The numbers of the scopes that a filter asks for."""
    kinds = set(only.scope_kinds)
    return [
        code
        for code, scope in enumerate(roster.scopes.names)
        if (not only.scopes or scope in only.scopes)
        and (not kinds or scope.partition(":")[0] in kinds)
    ]
