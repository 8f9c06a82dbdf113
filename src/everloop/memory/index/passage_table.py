"""Passage table: the passages of a log as columns in memory, one row each, in order of number.

A cache of the projections, without text: only what ranking needs (time, length, which item follows
which). Does not decide who may see a row: `visibility_mask.py` does. Ids, scopes and speakers
are small integers here; a group is one item id.

Rows are only appended. After a purge or a restored backup `passage_index.py` starts a new table,
and everything that was cached by row of the old one is dropped.

Row 0 and group 0 mean "none": every linked list ends there, and every mask allows row 0. So lists
are followed by plain indexing, without a check at each step.
"""

import re
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import islice
from typing import Any

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.index.row_sets import NO_ROW, Mask, Rows, mask_rows
from everloop.memory.index.snapshot import Arrays
from everloop.memory.text.passages import PASSAGES_MAX

CHUNK = 5_000  # rows read at a time
NAMES, IDS = "names", "ids"  # snapshot arrays: names of scopes, kinds and speakers; item ids

_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,39}): ")
_WORD = re.compile(r"\w+")
_LOAD = """
SELECT p.passage, v.item, p.item_id, p.follows, p.length, p.act, i.happened_at, i.holds_until,
       v.scope, i.kind, i.kind = 'message' AND i.learned_via = 'saw',
       CASE i.kind WHEN 'message' THEN substr(v.text, 1, 48) ELSE '' END
FROM memory_passages p JOIN memory_versions v ON v.position = p.position
JOIN memory_items i ON i.position = v.item
WHERE p.passage > ? ORDER BY p.passage
"""


class NameCodes:
    """Maps names to small integers; 0 is no name."""

    def __init__(self, names: Iterable[str] = ("",)) -> None:
        self.names: list[str] = list(names)
        self._codes = {name: code for code, name in enumerate(self.names)}

    def __len__(self) -> int:
        """How many names there are, including the empty one."""
        return len(self.names)

    def code(self, name: str) -> int:
        """The code of a name; a new name gets the next one."""
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def existing_code(self, name: str) -> int:
        """The code of a name; 0 if it has none."""
        return self._codes.get(name, 0)

    def existing_codes(self, names: Iterable[str]) -> list[int]:
        """The codes of those names that have one."""
        return [self._codes[name] for name in names if name in self._codes]


class Column:
    """An array that grows by doubling. Its first entry is 0 and belongs to no row."""

    def __init__(self, dtype: Any, known: NDArray[Any] | None = None) -> None:
        self._room: NDArray[Any] = np.zeros(1, dtype) if known is None else known
        self.all: NDArray[Any] = self._room

    def grow(self, by: int) -> None:
        """Append so many zeros."""
        size = len(self.all)
        if size + by > len(self._room):
            room = np.empty(max(size + by, 2 * len(self._room), 1_024), self._room.dtype)
            room[:size] = self.all
            self._room = room
        self._room[size : size + by] = NO_ROW
        self.all = self._room[: size + by]

    def extend(self, values: Sequence[int] | NDArray[Any]) -> None:
        """Append values."""
        size = len(self.all)
        self.grow(len(values))
        self.all[size:] = values


COLUMNS: dict[str, Any] = {
    "passage": np.int64,
    "item": np.int64,
    "length": np.int32,
    "act": np.int8,  # speech act, as an index of `SPEECH_ACTS`
    "happened": np.int64,
    "holds_until": np.int64,
    "scope": np.int32,
    "kind": np.int32,
    "speaker": np.int32,
    "answered": np.bool_,  # whether a model said it
    "opens": np.bool_,  # whether it is the first passage of its version
    "group": np.int32,
    "follows": np.int32,
    "earlier": np.int64,  # the row of the same group before this one
    "sibling": np.int64,  # the next row that follows the same group
    "prior": np.int64,  # the last row of the group that this one follows
    "next": np.int64,  # the first row that follows this one's group
    "newest": np.int32,  # by group: its last row
    "opener": np.int32,  # by group: the first row that follows it
    "closer": np.int32,  # by group: the last row that follows it
}


class PassageColumns:
    """Every passage of every version, visible or not, as columns.

    Existing rows never change while new ones are appended, so a reader of an older state may keep
    using it: its mask hides the newer rows.
    """

    passage: Column
    item: Column
    length: Column
    act: Column
    happened: Column
    holds_until: Column
    scope: Column
    kind: Column
    speaker: Column
    answered: Column
    opens: Column
    group: Column
    follows: Column
    earlier: Column
    sibling: Column
    prior: Column
    next: Column
    newest: Column
    opener: Column
    closer: Column

    def __init__(self, kept: Arrays | None = None, head: int = 0) -> None:
        known = kept or {}
        names = _decode_names(known)
        self.head = head  # every passage up to this position is loaded, or being loaded
        for name, dtype in COLUMNS.items():
            setattr(self, name, Column(dtype, known.pop(name, None)))
        self.scopes, self.kinds, self.speakers = (NameCodes(some) for some in names)
        self._ids = known.pop(IDS, None)
        self._speakers_by_word: dict[str, list[int]] = {}  # the first word of their names
        for code in range(1, len(self.speakers)):
            self._index_speaker(code)
        self.has_expiring = bool(self.holds_until.all.any())  # whether any item expires
        self.extra_arrays = known  # other arrays of the snapshot, such as vectors by row

    def __len__(self) -> int:
        """How many rows there are, including row 0, which means none."""
        return len(self.passage.all)

    def load(self, reader: Reader, head: int) -> None:
        """Append the passages recorded since, up to `head`. Call it from one thread at a time."""
        self.head = head  # before the rows, so that nobody sees new rows with an older head
        cursor = reader.db.execute(_LOAD, (int(self.passage.all[-1]),))
        while chunk := list(islice(cursor, CHUNK)):
            self._append(list(zip(*chunk, strict=True)))

    def arrays(self) -> Arrays:
        """All columns, for a snapshot. Must not be called while rows are loaded."""
        names = (self.scopes.names, self.kinds.names, self.speakers.names)
        columns: Arrays = {name: getattr(self, name).all.copy() for name in COLUMNS}
        return columns | {NAMES: _encode(names), IDS: _encode(list(self._groups))}

    def rows_of(self, items: Iterable[int]) -> list[int]:
        """The rows of these items, given by the positions at which they were recorded."""
        found: list[int] = []
        passages, group, earlier = self.passage.all, self.group.all, self.earlier.all
        for item in items:
            first = int(np.searchsorted(passages, item * PASSAGES_MAX))
            row = int(self.newest.all[group[first]]) if first < len(passages) else NO_ROW
            while row != NO_ROW:
                if self.item.all[row] == item:
                    found.append(row)
                row = int(earlier[row])
        return found

    def before(self, rows: Rows, allowed: Mask) -> Rows:
        """The last allowed passage of the item that each row follows; row 0 if there is none."""
        return _first_allowed(self.prior.all.take(rows), self.earlier.all, allowed)

    def after(self, rows: Rows, allowed: Mask) -> Rows:
        """The first allowed passage that follows each row's item; row 0 if there is none."""
        return _first_allowed(self.next.all.take(rows), self.sibling.all, allowed)

    def mentioned_speakers(self, text: str) -> list[int]:
        """The codes of the speakers that a text names."""
        if not self._speakers_by_word:
            return []
        words = dict.fromkeys(_WORD.findall(text.lower()))
        called = (code for word in words for code in self._speakers_by_word.get(word, ()))
        return [code for code in called if _contains_name(text, self.speakers.names[code])]

    def _append(self, columns: Sequence[Sequence[Any]]) -> None:
        passage, item, ids, follows, length, act, happened, holds, *names = columns
        scopes, kinds, answered, openings = names
        groups = np.array([self._group(name) for name in ids], np.int64)
        followed = np.array([self._group(name) for name in follows], np.int64)
        missing = len(self._groups) - len(self.newest.all)
        for column in (self.newest, self.opener, self.closer):
            column.grow(missing)
        self.opens.extend(np.array(passage) % PASSAGES_MAX == 0)
        self.item.extend(item)
        self.length.extend(length)
        self.act.extend(act)
        self.answered.extend(answered)
        self.happened.extend(happened)
        self.holds_until.extend(holds)
        self.has_expiring |= any(holds)
        self.scope.extend([self.scopes.code(name) for name in scopes])
        self.kind.extend([self.kinds.code(name) for name in kinds])
        self.speaker.extend([self._speaker(opening) for opening in openings])
        self.group.extend(groups)
        self.follows.extend(followed)
        for column in (self.earlier, self.sibling, self.prior, self.next):
            column.grow(len(groups))
        self._link_lists(len(self), groups, followed)
        self._link_neighbours(groups, followed)
        self.passage.extend(passage)  # last, because its length is the length of the table

    def _link_lists(self, start: int, groups: Rows, follows: Rows) -> None:
        """Link new rows to the rows of the same group, and to those that follow the same group."""
        rows, first, last = _runs(groups, start)
        of = groups[rows - start]
        self.earlier.all[rows[1:]] = rows[:-1]
        self.earlier.all[rows[first]] = self.newest.all[of[first]]
        self.newest.all[of[last]] = rows[last]
        rows, first, last = _runs(follows, start)
        kept = follows[rows - start] != NO_ROW
        rows, first, last = rows[kept], first[kept], last[kept]
        of = follows[rows - start]
        self.sibling.all[rows[:-1]] = np.where(last[:-1], NO_ROW, rows[1:])
        heads, ends = rows[first], self.closer.all[of[first]]
        self.opener.all[of[first][ends == NO_ROW]] = heads[ends == NO_ROW]
        self.sibling.all[ends[ends != NO_ROW]] = heads[ends != NO_ROW]
        self.closer.all[of[last]] = rows[last]

    def _link_neighbours(self, groups: Rows, follows: Rows) -> None:
        """Update `prior` and `next` of the rows of these groups, and of those that follow them."""
        # With an index, `unique` does not load numpy.ma to look for masked arrays.
        touched = np.unique(np.concatenate((groups, follows)), return_index=True)[0]
        for first, onward, near, what in (
            (self.opener, self.sibling, self.prior, self.newest),
            (self.newest, self.earlier, self.next, self.opener),
        ):
            row = first.all[touched].astype(np.int64)
            while row.any():
                near.all[row] = what.all[touched]
                row = onward.all[row]
            near.all[NO_ROW] = NO_ROW

    @cached_property
    def _groups(self) -> dict[str, int]:
        """Groups by item id. Decoded when a row is first appended, for only that needs ids."""
        ids = (
            [""] if self._ids is None else msgspec.json.decode(self._ids.tobytes(), type=list[str])
        )
        self._ids = None
        return {item_id: group for group, item_id in enumerate(ids)}

    def _group(self, item_id: str) -> int:
        return self._groups.setdefault(item_id, len(self._groups))

    def _speaker(self, opening: str) -> int:
        found = _SPEAKER.match(opening) if opening else None
        if found is None:
            return NO_ROW
        known = len(self.speakers)
        code = self.speakers.code(found.group(1))
        if code == known:
            self._index_speaker(code)
        return code

    def _index_speaker(self, code: int) -> None:
        first = _WORD.findall(self.speakers.names[code].lower())[0]
        self._speakers_by_word.setdefault(first, []).append(code)


def _contains_name(text: str, name: str) -> bool:
    return bool(re.search(rf"\b{re.escape(name)}\b", text, re.IGNORECASE))


def _decode_names(kept: Arrays) -> list[list[str]]:
    """The names of scopes, kinds and speakers in a snapshot; the first of each is empty."""
    if NAMES not in kept:
        return [[""]] * 3
    return msgspec.json.decode(kept.pop(NAMES).tobytes(), type=list[list[str]])


def _encode(names: object) -> NDArray[np.uint8]:
    return np.frombuffer(msgspec.json.encode(names), np.uint8)


def _runs(keys: Rows, start: int) -> tuple[Rows, Mask, Mask]:
    """Rows from `start` on sorted by key, and masks of the first and the last row of each key."""
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    change = np.ones(len(keys) + 1, np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=change[1:-1])
    return order + start, change[:-1], change[1:]


def _first_allowed(found: Rows, onward: Rows, allowed: Mask) -> Rows:
    """Each row, or the next allowed one in its linked list; row 0 if there is none."""
    good = mask_rows(found, allowed)
    if good.all():
        return found
    lost = (~good).nonzero()[0]
    while len(lost):
        further = onward[found[lost]]
        further[further >= len(onward)] = NO_ROW  # rows appended meanwhile
        found[lost] = further
        lost = lost[~mask_rows(further, allowed)]
    return found
