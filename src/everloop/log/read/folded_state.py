"""Folded state of streams: an in-memory cache, and snapshots so that opening reads only the tail.

Both are caches; deleting them costs only time. A cached state is used only for the same fold and
stream, on a branch that has all its facts, and only while exactly the same of those are hidden.
"""

import hashlib
import threading
from bisect import bisect_right
from collections import OrderedDict
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, TypeVar

import msgspec

from everloop.log.model.branches import Branch, Sight
from everloop.log.model.event import Unknown
from everloop.log.model.limits import Limits
from everloop.log.model.record import Fact
from everloop.log.read.reader import Reader
from everloop.log.sql_rows import query_rows

S = TypeVar("S")


@dataclass(frozen=True, slots=True)
class Fold(Generic[S]):
    """A pure fold over one stream. Raise `version` when `evolve` or the state's shape changes."""

    name: str
    state: type[S]
    evolve: Callable[[S | None, Fact], S]
    version: int = 1

    @property
    def key(self) -> str:
        """The key of its snapshots, with the version of the fold."""
        return f"{self.name}@{self.version}"


@dataclass(frozen=True, slots=True)
class CachedState:
    """A cached state, what it was folded from, and the version of its last snapshot."""

    value: Any
    version: int
    position: int
    hidden: str
    saved: int


StreamKey = tuple[str, str]  # stream, branch
CacheEntry = tuple[Fold[Any], CachedState]

_VERSIONS = "SELECT version FROM snapshots WHERE fold = ? AND stream = ? AND branch = ?"
_DELETE = "DELETE FROM snapshots WHERE fold = ? AND stream = ? AND branch = ? AND version = ?"
_NEWEST = (
    "SELECT state, version, position, hidden FROM snapshots WHERE fold = ? AND stream = ?"
    " AND branch = ? AND position <= ? ORDER BY version DESC"
)


class StateCache:
    """The cached states of one file, folded on demand."""

    def __init__(self, limits: Limits) -> None:
        self._snapshot_every = limits.snapshot_every
        self._snapshots_kept = limits.snapshots_kept
        self._kept_max = limits.states_kept
        self.cached: OrderedDict[StreamKey, dict[str, CacheEntry]] = OrderedDict()
        self._lock = threading.Lock()

    def load(
        self, reader: Reader, fold: Fold[S], stream: str, branch: Branch, sight: Sight
    ) -> S | None:
        """The state of a stream on a branch."""
        value: S | None = self._fold(reader, fold, stream, branch, sight).value
        return value

    def load_and_save(
        self, reader: Reader, fold: Fold[S], stream: str, branch: Branch, sight: Sight
    ) -> S | None:
        """Like `load`, and save a snapshot if one is due. For the writer only."""
        kept = self._fold(reader, fold, stream, branch, sight)
        if kept.value is not None and kept.version - kept.saved >= self._snapshot_every:
            self._save(reader, fold, stream, branch, kept)
            self._put((stream, branch.name), fold, replace(kept, saved=kept.version))
        value: S | None = kept.value
        return value

    def advance(self, place: StreamKey, facts: Sequence[Fact]) -> None:
        """Fold newly appended facts into the cached states of their stream."""
        with self._lock:
            here = self.cached.get(place, {})
            for key, (fold, kept) in list(here.items()):
                if kept.version == facts[0].version - 1:
                    value = kept.value
                    for fact in facts:
                        value = fold.evolve(value, fact)
                    last = facts[-1]
                    moved = replace(kept, value=value, version=last.version, position=last.position)
                    here[key] = (fold, moved)

    def clear(self) -> None:
        """Clear the in-memory cache, for example after a rollback."""
        with self._lock:
            self.cached.clear()

    def _fold(
        self, reader: Reader, fold: Fold[Any], stream: str, branch: Branch, sight: Sight
    ) -> CachedState:
        tail = reader.stream_head(stream, branch)
        hidden = hidden_positions(reader, stream, sight)
        place = (stream, branch.name)
        start = self._cached(place, fold, tail.version, hidden)
        if start is None:
            start = _snapshot(reader, fold, stream, branch, hidden)
        if start.version == tail.version:
            return start
        value, evolve = start.value, fold.evolve
        for fact in reader.stream(stream, branch, sight, after_version=start.version):
            # Not `isinstance`: it is slow on classes with a metaclass, such as events.
            if type(fact.event) is not Unknown:
                value = evolve(value, fact)
        digest = _digest_upto(hidden, tail.position)
        kept = CachedState(value, tail.version, tail.position, digest, start.saved)
        self._put(place, fold, kept)
        return kept

    def _cached(
        self, place: StreamKey, fold: Fold[Any], version: int, hidden: Sequence[int]
    ) -> CachedState | None:
        with self._lock:
            found = self.cached.get(place, {}).get(fold.key)
        if found is None or found[1].version > version:
            return None
        kept = found[1]
        return kept if kept.hidden == _digest_upto(hidden, kept.position) else None

    def _put(self, place: StreamKey, fold: Fold[Any], kept: CachedState) -> None:
        with self._lock:
            self.cached.setdefault(place, {})[fold.key] = (fold, kept)
            self.cached.move_to_end(place)
            while len(self.cached) > self._kept_max:
                self.cached.popitem(last=False)

    def _save(
        self, reader: Reader, fold: Fold[Any], stream: str, branch: Branch, kept: CachedState
    ) -> None:
        reader.db.execute(
            "REPLACE INTO snapshots VALUES (?, ?, ?, ?, ?, ?, ?)",
            (
                fold.key,
                stream,
                branch.name,
                kept.version,
                kept.position,
                kept.hidden,
                msgspec.msgpack.encode(kept.value),
            ),
        )
        place = (fold.key, stream, branch.name)
        versions = [row[0] for row in query_rows(reader.db, _VERSIONS, place)]
        kept_versions = spaced(versions, every=self._snapshot_every, kept=self._snapshots_kept)
        for version in set(versions) - kept_versions:
            reader.db.execute(_DELETE, (*place, version))


def spaced(versions: Sequence[int], *, every: int, kept: int) -> set[int]:
    """Which snapshots to keep: the newest ones, and older ones at growing distances.

    The number of a snapshot is how many times `every` facts came before it. One whose number is
    divisible by 2, 4, 8, … is kept 2, 4, 8, … times as long. So from anywhere in a long history,
    the way to the next older snapshot is at most a fraction of the way to the end, and the number
    of snapshots grows with the logarithm of its length.
    """
    newest = max(versions, default=0) // every
    numbers = {version: version // every for version in versions}
    return {
        version
        for version, number in numbers.items()
        if newest - number < kept * (number & -number or 1)
    }


def _snapshot(
    reader: Reader, fold: Fold[Any], stream: str, branch: Branch, hidden: Sequence[int]
) -> CachedState:
    """The newest snapshot that is valid on a branch, or an empty state."""
    for name, cap in branch.lineage():
        for row in query_rows(reader.db, _NEWEST, (fold.key, stream, name, cap)):
            state, version, position, digest = row
            if digest == _digest_upto(hidden, position):
                value = msgspec.msgpack.decode(state, type=fold.state)
                return CachedState(value, version, position, digest, version)
    return CachedState(None, 0, 0, "", 0)


def hidden_positions(reader: Reader, stream: str, sight: Sight) -> list[int]:
    """The positions of this stream in the lineage of a sight that are hidden in it, in order."""
    if not reader.has_hidden(stream):
        return []
    reader.use_sight(sight)
    return [row[0] for row in reader.rows(_HIDDEN, (stream,))]


def _digest_upto(hidden: Sequence[int], position: int) -> str:
    """A digest of the hidden positions up to one; empty if none are."""
    upto = bisect_right(hidden, position)
    return hashlib.sha256(msgspec.json.encode(hidden[:upto])).hexdigest() if upto else ""


_HIDDEN = """
WITH RECURSIVE needed (branch) AS (
    SELECT min(branch) FROM log_needs WHERE stream = ?1
    UNION ALL
    SELECT (SELECT min(n.branch) FROM log_needs n
            WHERE n.stream = ?1 AND n.branch > needed.branch)
    FROM needed WHERE needed.branch IS NOT NULL
), gone (position) AS (
    SELECT h.position FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
    WHERE h.stream = ?1
    UNION
    SELECT n.position FROM needed LEFT JOIN temp.sight s ON s.branch = needed.branch
    CROSS JOIN log_needs n
    WHERE n.stream = ?1 AND n.branch = needed.branch AND n.at > ifnull(s.cap, -1)
)
SELECT g.position FROM gone g CROSS JOIN log l ON l.position = g.position
JOIN temp.sight s ON s.branch = l.branch AND l.position <= s.cap
ORDER BY 1
"""
