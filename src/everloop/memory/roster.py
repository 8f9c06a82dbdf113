"""The passages of a log in memory: one row each, in the order of their numbers.

A cache, made from the views and kept up with them. It holds what recall weighs (when, how long,
what follows what), no text, and decides nothing about who may see what: `standing.py` asks the
sieve for that. Ids, scopes and speakers are small numbers here; a group is one item id.

Rows are only added. If the log is no longer the one that was read (a purge, a restored backup), the
roster begins anew, and `generation` says so to whoever keeps something beside it.
"""

import re
import threading
from collections import deque
from collections.abc import Iterable, Sequence
from itertools import islice
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.passages import PASSAGES_MAX

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

CHUNK = 5_000  # rows read at a time
NONE = -1

_SPEAKER = re.compile(r"([^\W\d_][\w .'-]{0,39}): ")
_LOAD = """
SELECT p.passage, v.item, p.item_id, p.follows, p.length, i.happened_at, i.holds_until, v.scope,
       i.kind, CASE i.kind WHEN 'message' THEN substr(v.text, 1, 48) ELSE '' END
FROM memory_passages p JOIN memory_versions v ON v.position = p.position
JOIN memory_items i ON i.position = v.item
WHERE p.passage > ? ORDER BY p.passage
"""
_STATE = """
SELECT (SELECT max(position) FROM log),
       (SELECT digest FROM log WHERE position = min(?1, (SELECT max(position) FROM log))),
       (SELECT max(position) FROM log_retractions WHERE everywhere),
       (SELECT digest FROM log ORDER BY position DESC LIMIT 1)
"""


class Codes:
    """Small numbers for names."""

    def __init__(self) -> None:
        self.names: list[str] = []
        self._codes: dict[str, int] = {}

    def of(self, name: str) -> int:
        """The number of a name, new or known."""
        code = self._codes.setdefault(name, len(self.names))
        if code == len(self.names):
            self.names.append(name)
        return code

    def known(self, names: Iterable[str]) -> list[int]:
        """The numbers of those names that have one."""
        return [self._codes[name] for name in names if name in self._codes]


class Column:
    """An array that grows."""

    def __init__(self, dtype: Any) -> None:
        self._room: NDArray[Any] = np.empty(0, dtype)
        self.all: NDArray[Any] = self._room

    def grow(self, by: int, filled: int = NONE) -> None:
        """Make room for so many more, all the same for now."""
        size = len(self.all)
        if size + by > len(self._room):
            room = np.empty(max(size + by, 2 * len(self._room), 1_024), self._room.dtype)
            room[:size] = self.all
            self._room = room
        self._room[size : size + by] = filled
        self.all = self._room[: size + by]

    def extend(self, values: Sequence[int] | Rows) -> None:
        """Add values."""
        size = len(self.all)
        self.grow(len(values))
        self.all[size:] = values


class Roster:
    """Every passage of every version, whoever may see it."""

    def __init__(self) -> None:
        self.generation = 0
        self.head = 0  # the newest position that was read
        self._purged: int | None = None
        self._lock = threading.Lock()
        self._begin()

    def __len__(self) -> int:
        """How many passages there are."""
        return len(self.passage.all)

    def refresh(self, reader: Reader) -> int:
        """Take in what came since; returns the reader's newest position."""
        with self._lock:
            head, digest, purged, newest = reader.rows(_STATE, (self.head,))[0]
            if digest not in self._digests or purged != self._purged:
                self._begin()
                self.generation += 1
                self._purged = purged
            if (head or 0) > self.head or not len(self):
                self._load(reader)
                self.head = head or 0
                self._digests.append(newest)
            return head or 0

    def rows_of(self, items: Iterable[int]) -> list[int]:
        """The rows of these items, by the positions at which they were taken in."""
        found: list[int] = []
        passages, group, earlier = self.passage.all, self.group.all, self.earlier.all
        for item in items:
            first = int(np.searchsorted(passages, item * PASSAGES_MAX))
            row = int(self.newest.all[group[first]]) if first < len(passages) else NONE
            while row != NONE:
                if self.item.all[row] == item:
                    found.append(row)
                row = int(earlier[row])
        return found

    def before(self, rows: Rows, allowed: Mask) -> Rows:
        """The last passage of what each row follows, if it is allowed; else -1."""
        follows = self.follows.all[rows]
        there = follows != NONE
        found = np.full(len(rows), NONE, np.int64)
        found[there] = self.newest.all[follows[there]]
        return _first_allowed(found, self.earlier.all, allowed)

    def after(self, rows: Rows, allowed: Mask) -> Rows:
        """The first passage that follows each row's item and is allowed; else -1."""
        found = self.opener.all[self.group.all[rows]].astype(np.int64)
        return _first_allowed(found, self.sibling.all, allowed)

    def followers(self, rows: Rows, allowed: Mask) -> Rows:
        """All allowed passages that follow the items of these rows."""
        gathered: list[Rows] = []
        found = self.opener.all[self.group.all[rows]].astype(np.int64)
        found = found[found != NONE]
        while len(found):
            gathered.append(found[passing(found, allowed)])
            found = self.sibling.all[found].astype(np.int64)
            found = found[found != NONE]
        return np.concatenate(gathered) if gathered else np.empty(0, np.int64)

    def _begin(self) -> None:
        self.passage, self.item = Column(np.int64), Column(np.int64)
        self.length, self.happened = Column(np.int32), Column(np.int64)
        self.holds_until = Column(np.int64)
        self.scope, self.kind, self.speaker = (Column(np.int32) for _ in range(3))
        self.group, self.follows = Column(np.int32), Column(np.int32)
        self.earlier = Column(np.int32)  # the row of the same group before this one
        self.sibling = Column(np.int32)  # the next row that follows the same group
        self.newest = Column(np.int32)  # by group: its last row
        self.opener, self._closer = Column(np.int32), Column(np.int32)  # by group: its followers
        self.scopes, self.kinds, self.speakers = Codes(), Codes(), Codes()
        self._groups: dict[str, int] = {}
        self.head = 0
        self._digests: deque[bytes | None] = deque([None], maxlen=64)

    def _load(self, reader: Reader) -> None:
        upto = int(self.passage.all[-1]) if len(self) else -1
        cursor = reader.db.execute(_LOAD, (upto,))
        while chunk := list(islice(cursor, CHUNK)):
            self._take(list(zip(*chunk, strict=True)))

    def _take(self, columns: Sequence[Sequence[Any]]) -> None:
        passage, item, ids, follows, length, happened, holds, scopes, kinds, openings = columns
        start = len(self)
        groups = [self._group(name) for name in ids]
        followed = [self._group(name) if name else NONE for name in follows]
        missing = len(self._groups) - len(self.newest.all)
        for column in (self.newest, self.opener, self._closer):
            column.grow(missing)
        self.item.extend(item)
        self.length.extend(length)
        self.happened.extend(happened)
        self.holds_until.extend(holds)
        self.scope.extend([self.scopes.of(name) for name in scopes])
        self.kind.extend([self.kinds.of(name) for name in kinds])
        self.speaker.extend([self._speaker(opening) for opening in openings])
        self.group.extend(groups)
        self.follows.extend(followed)
        self.earlier.grow(len(groups))
        self.sibling.grow(len(groups))
        for row, (group, follow) in enumerate(zip(groups, followed, strict=True), start):
            self._chain(row, group, follow)
        self.passage.extend(passage)  # last, for its length is the roster's

    def _chain(self, row: int, group: int, follows: int) -> None:
        self.earlier.all[row] = self.newest.all[group]
        self.newest.all[group] = row
        if follows != NONE:
            last = self._closer.all[follows]
            if last == NONE:
                self.opener.all[follows] = row
            else:
                self.sibling.all[last] = row
            self._closer.all[follows] = row

    def _group(self, item_id: str) -> int:
        return self._groups.setdefault(item_id, len(self._groups))

    def _speaker(self, opening: str) -> int:
        found = _SPEAKER.match(opening) if opening else None
        return self.speakers.of(found.group(1)) if found else NONE


def distinct(rows: Rows) -> Rows:
    """The rows in order, each once."""
    ordered = np.sort(rows)
    first = np.ones(len(ordered), np.bool_)
    np.not_equal(ordered[1:], ordered[:-1], out=first[1:])
    return ordered[first]


def passing(rows: Rows, allowed: Mask) -> Mask:
    """Which of these rows are there and allowed."""
    inside = (rows >= 0) & (rows < len(allowed))
    inside[inside] = allowed[rows[inside]]
    return inside


def _first_allowed(found: Rows, onward: NDArray[Any], allowed: Mask) -> Rows:
    """Each row, or the first one further along its chain that is allowed; -1 if there is none."""
    good = passing(found, allowed)
    open_ends = np.flatnonzero(~good & (found != NONE))
    while len(open_ends):
        found[open_ends] = onward[found[open_ends]]
        good = passing(found[open_ends], allowed)
        open_ends = open_ends[~good & (found[open_ends] != NONE)]
    return found
