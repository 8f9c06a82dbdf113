"""The meaning leg: vectors of passages, kept as a cache and searched in memory.

A vector belongs to a text and a model, never to the log: the cache is a file of its own, keyed by
(model, digest of the text), and can be deleted. The space in memory holds one vector per passage,
by its row in the roster, and searches only among those that it is told to. It is exact while it is
small; a large one looks through one bit per dimension first, measures only the best candidates
exactly, and keeps half of each number. Place 0 holds no vector and stands for a lacking one.
"""

import threading
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import apsw
import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.log.sql import Row, rows
from everloop.memory.measures import Floats, differing, largest, narrowed, signs_of, widened
from everloop.memory.roster import Column, Roster
from everloop.memory.rows import NONE, Mask, Rows, passing
from everloop.memory.snapshots import Arrays, Snapshot
from everloop.ports import Embedder, Progress

NO_DOTS: Floats = np.empty(0, np.float32)
KEPT = ("rows", "vectors", "signs")  # what is kept of a space, each by this and its model's name

EXACT_MAX = 20_000  # vectors searched exactly; beyond, signs come first
PER_HIT, AMONG = 20, 100  # candidates: so many for a hit, and at least one in so many
NARROW = 8  # if fewer than one in so many are allowed, only those are measured
SCAN_FROM = 2_000  # vectors wanted at once from which on it is faster to read all there are
BLOCK = 512  # vectors measured at once; more would not stay in the processor's cache
BATCH = 32  # texts embedded at once
SAVED_TOGETHER = 8 * BATCH
BEFORE_WEIGHT = 0.5  # of the passage said before

# Vectors lie in the order in which they came; only small keys are sorted. A digest's place among
# others is any, so sorted vectors would cost a page of the file each.
_SCHEMA = """
DROP TABLE IF EXISTS vectors;
CREATE TABLE IF NOT EXISTS kept (
    place  INTEGER PRIMARY KEY,
    model  TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL
) STRICT;
CREATE UNIQUE INDEX IF NOT EXISTS kept_by_digest ON kept (digest, model);
"""
_NEW = "SELECT passage, digest FROM memory_passages WHERE passage > ? ORDER BY passage"
_ALL = "FROM kept k WHERE k.model = ?1"
_SOME = "FROM json_each(?2) j CROSS JOIN kept k ON k.digest = unhex(j.value) AND k.model = ?1"


class VectorCache:
    """Vectors on disk, by model and text. Losing it costs only the time to make them again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db = self._open()

    def load(self, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those vectors that are there, in half precision."""
        return dict(self._kept("k.digest, k.vector", model, digests))

    def known(self, model: str, digests: Sequence[bytes]) -> set[bytes]:
        """Those of these texts that have a vector."""
        return {row[0] for row in self._kept("k.digest", model, digests)}

    def _kept(self, what: str, model: str, digests: Sequence[bytes]) -> list[Row]:
        """What is kept of some texts, and perhaps of others: all of it, if many are wanted."""
        with self._lock:
            if len(digests) > SCAN_FROM:
                return rows(self._db, f"SELECT {what} {_ALL}", (model,))
            wanted = msgspec.json.encode([digest.hex() for digest in digests]).decode()
            return rows(self._db, f"SELECT {what} {_SOME}", (model, wanted))

    @property
    def snapshot(self) -> Snapshot:
        """Where arrays made of these vectors, and of what they belong to, may be kept."""
        return Snapshot(self._path.with_suffix(".arrays"))

    def state(self) -> int:
        """Equal as long as no other process saved anything."""
        with self._lock:
            return self._db.data_version()

    def save(self, model: str, vectors: Mapping[bytes, bytes]) -> None:
        """Keep vectors, in half precision, by the digests of their texts."""
        with self._lock, self._db:
            self._db.executemany(
                "REPLACE INTO kept (model, digest, vector) VALUES (?, ?, ?)",
                [(model, digest, vectors[digest]) for digest in sorted(vectors)],
            )

    def forget(self, digests: Sequence[bytes]) -> None:
        """Drop the vectors of purged texts, of every model, and whatever was made of them."""
        self.snapshot.drop()
        with self._lock, self._db:
            self._db.executemany(
                "DELETE FROM kept WHERE digest = ?", [(digest,) for digest in digests]
            )
        with self._lock:
            rows(self._db, "PRAGMA wal_checkpoint(TRUNCATE)")  # no copy is left beside the file

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def _open(self) -> apsw.Connection:
        """The cache's connection; a damaged file is thrown away, for it is only a cache."""
        try:
            return self._connect()
        except (apsw.CorruptError, apsw.NotADBError):
            self._path.unlink(missing_ok=True)
            return self._connect()

    def _connect(self) -> apsw.Connection:
        db = apsw.Connection(str(self._path))
        db.set_busy_timeout(5_000)
        # All rows are read, for SQLite stops at the first one: later settings would not be made.
        rows(db, "PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL; PRAGMA secure_delete = 1")
        db.execute(_SCHEMA)
        return db


class VectorSpace:
    """The passages of one log in one model's space."""

    _upto: int  # every passage up to here was taken in, but for those that are
    _missing: dict[int, bytes]
    _looked: int  # every passage up to here has a vector on the disk, but for those that are
    _waiting: dict[int, bytes]

    def __init__(self, cache: VectorCache, embedder: Embedder) -> None:
        self.embedder = embedder
        self.cache = cache
        self._lock = threading.Lock()
        self._state = 0
        self._made: set[bytes] = set()  # texts whose vectors were saved since the last refresh
        self._begin(Roster())

    def __len__(self) -> int:
        """How many passages have a vector."""
        return len(self._rows.all) - 1

    def refresh(self, reader: Reader, roster: Roster) -> int:
        """Take in the vectors of passages that came since; returns how many still lack one."""
        with self._lock:
            if self._roster is not roster:
                self._begin(roster)
            if len(self._places.all) < len(roster):
                self._places.grow(len(roster) - len(self._places.all))
            state = self.cache.state()
            grown = roster.passage.all.item(-1) > self._upto
            new = reader.rows(_NEW, (self._upto,)) if grown else []
            wanted: dict[int, bytes] = dict(new)
            if state != self._state:
                wanted |= self._missing
            elif self._made:
                wanted |= {p: d for p, d in self._missing.items() if d in self._made}
            self._state = state
            if not wanted:
                return len(self._missing)
            self._made.clear()
            found = self.cache.load(self.embedder.name, list(wanted.values()))
            self._missing |= {p: d for p, d in new if d not in found}
            there = {p: found[d] for p, d in wanted.items() if d in found}
            for passage in there:
                self._missing.pop(passage, None)
            passages = np.fromiter(there, np.int64, len(there))
            halves = np.frombuffer(b"".join(there.values()), np.float16)
            vectors = halves.reshape(-1, self.embedder.dimensions).astype(np.float32)
            self.add(np.searchsorted(roster.passage.all, passages), vectors)
            self._upto = new[-1][0] if new else self._upto
            return len(self._missing)

    def embed_missing(self, texts: dict[bytes, str], progress: Progress | None = None) -> int:
        """Make and keep the vectors of these texts, by digest. Returns how many were made."""
        digests = sorted(texts, key=lambda digest: len(texts[digest]))
        for start in range(0, len(digests), SAVED_TOGETHER):
            chosen = digests[start : start + SAVED_TOGETHER]
            batches = [chosen[at : at + BATCH] for at in range(0, len(chosen), BATCH)]
            made: list[Floats] = []
            for batch in batches:
                made.append(self.embedder.embed([texts[digest] for digest in batch]))
                if progress:
                    progress(min(start + len(made) * BATCH, len(digests)), len(digests))
            halves = np.concatenate(made).astype(np.float16)
            kept = {text: half.tobytes() for text, half in zip(chosen, halves, strict=True)}
            self.cache.save(self.embedder.name, kept)
            with self._lock:
                self._made.update(kept)
        return len(digests)

    def lacking(self, reader: Reader) -> dict[int, bytes]:
        """The passages whose vectors were never made, with the digests of their texts.

        Takes nothing into memory: whoever searches does that.
        """
        with self._lock:
            new: dict[int, bytes] = dict(reader.rows(_NEW, (max(self._upto, self._looked),)))
            if new:
                there = self.cache.known(self.embedder.name, list(new.values()))
                self._waiting |= {p: d for p, d in new.items() if d not in there}
                self._looked = max(new)
            every = self._missing | self._waiting
            return {passage: d for passage, d in every.items() if d not in self._made}

    def settle(self, passages: Iterable[int]) -> None:
        """Take note that these passages lack nothing more that could be made."""
        with self._lock:
            for passage in passages:
                self._waiting.pop(passage, None)

    def looking(self, query: Floats) -> "Look":
        """The space as one question sees it."""
        with self._lock:
            return Look(self, query, self._rows.all, self._places.all, self._vectors, self._signs)

    def mixed_norms(self, at: Rows, earlier: Rows, vectors: NDArray[Any]) -> Floats:
        """How long each vector is once it is mixed with that of what was said before it.

        Hardly ever does the one before change, so what was worked out is kept.
        """
        with self._lock:
            other = self._mates.all.take(at) != earlier
            if np.count_nonzero(other):  # sooner said than `any`
                new = other.nonzero()[0]
                mixed = widened(vectors[at[new]]) + BEFORE_WEIGHT * widened(vectors[earlier[new]])
                self._mates.all[at[new]] = earlier[new]
                self._norms.all[at[new]] = np.linalg.norm(mixed, axis=1)
            norms: Floats = self._norms.all.take(at)
            return norms

    def _begin(self, roster: Roster) -> None:
        dimensions = self.embedder.dimensions
        self._roster = roster
        self._rows = Column(np.int64)  # of the roster, in the order in which vectors came
        self._places = Column(np.int64)  # by row of the roster: where its vector is
        self._mates, self._norms = Column(np.int64), Column(np.float32)
        self._vectors: NDArray[Any] = np.zeros((1, dimensions), np.float32)
        self._signs: NDArray[np.uint64] = np.zeros((-(-dimensions // 64), 1), np.uint64)
        self._upto = self._looked = -1
        self._missing, self._waiting = {}, {}
        self._restore(roster.beside)

    def arrays(self, roster: Roster) -> Arrays:
        """All of it, to be kept with its roster; nothing if a row of that has no vector here."""
        with self._lock:
            used = len(self._rows.all)
            if self._roster is not roster or used < len(roster):
                return {}
            held = (self._rows.all.copy(), self._vectors[:used], self._signs[:, :used])
            return dict(zip(self._kept_as(), held, strict=True))

    def _kept_as(self) -> list[str]:
        return [f"{name} {self.embedder.name}" for name in KEPT]

    def _restore(self, kept: Arrays) -> None:
        """Begin with what the last process kept, if it was of this model."""
        held = [kept[name] for name in self._kept_as() if name in kept]
        kept.clear()
        if len(held) < len(KEPT):
            return
        rows, self._vectors, self._signs = held
        self._rows.extend(rows[1:])
        self._places.grow(int(rows.max()))
        self._places.all[rows] = np.arange(len(rows))
        self._mates.grow(len(rows) - 1)
        self._norms.extend(np.ones(len(rows) - 1, np.float32))
        self._upto = int(self._roster.passage.all[rows.max()])

    def add(self, rows: Rows, vectors: Floats) -> None:
        """Put vectors into the space, each for a row of the roster."""
        start, end = len(self._rows.all), len(self._rows.all) + len(rows)
        if end > len(self._vectors):
            self._grow(max(end, 2 * len(self._vectors), 1_024))
        exact = self._vectors.dtype == np.float32
        self._vectors[start:end] = vectors if exact else narrowed(vectors)
        self._signs[:, start:end] = signs_of(vectors)
        if len(rows):
            self._places.grow(max(0, int(rows.max()) + 1 - len(self._places.all)))
        self._places.all[rows] = np.arange(start, end)
        self._mates.grow(len(rows))  # for now with none, and so as long as they are
        self._norms.extend(np.ones(len(rows), np.float32))
        self._rows.extend(rows)  # last, for its length is the space's

    def _grow(self, room: int) -> None:
        """Make room. Beyond what is searched exactly, half of each number is enough."""
        used = len(self._rows.all)
        kept = self._vectors[:used]
        if room > 2 * EXACT_MAX and kept.dtype == np.float32:
            kept = narrowed(kept)
        vectors = np.empty((room, kept.shape[1]), kept.dtype)
        vectors[:used] = kept
        signs = np.empty((len(self._signs), room), np.uint64)
        signs[:, :used] = self._signs[:, :used]
        self._vectors, self._signs = vectors, signs


class Look:
    """One question in the space, as the space stood when it was asked."""

    def __init__(
        self,
        space: VectorSpace,
        query: Floats,
        rows: Rows,
        places: Rows,
        vectors: NDArray[Any],
        signs: NDArray[np.uint64],
    ) -> None:
        self._space, self._query = space, query
        self._rows, self._places, self._vectors, self._signs = rows, places, vectors, signs
        self._all: Floats | None = None  # the products with all of them, if that is soon done

    def nearest(self, count: int, allowed: Mask) -> Rows:
        """The rows of the nearest passages among those allowed, in no order."""
        good = passing(self._rows, allowed)
        good[NONE] = False
        chosen: Rows = good.nonzero()[0]
        exact = len(good) <= EXACT_MAX and self._vectors.dtype == np.float32
        if exact and len(chosen) > len(good) // NARROW:
            self._all = self._vectors[: len(good)] @ self._query
        if len(chosen) > count:
            if not exact:
                wanted = max(count * PER_HIT, len(chosen) // AMONG)
                chosen = self._candidates(chosen, len(good), wanted)
            chosen = chosen.take(largest(self._dots(chosen), count))
        return self._rows.take(chosen)

    def cosines(self, rows: Rows, before: Rows) -> tuple[Rows, Floats]:
        """Those of the rows that have a vector, and their cosines.

        Each is mixed with the vector of what was said before it, if there is one.
        """
        at = self._places.take(rows)
        if len(self._rows) < len(self._places):  # else none lacks one
            there = at != NONE
            rows, before, at = rows[there], before[there], at[there]
        earlier = self._places.take(before)
        cosines = self._dots(earlier)
        cosines *= BEFORE_WEIGHT
        cosines += self._dots(at)
        cosines /= self._space.mixed_norms(at, earlier, self._vectors)
        return rows, cosines

    def _candidates(self, chosen: Rows, size: int, wanted: int) -> Rows:
        """Those of some places below `size` whose signs differ least from the query's."""
        if len(chosen) <= wanted:
            return chosen
        if len(chosen) < size // 2:  # a narrow filter: only those are looked at
            distance = differing(self._signs[:, chosen], self._query)
        else:
            distance = differing(self._signs[:, :size], self._query)[chosen]
        least = np.searchsorted(np.bincount(distance).cumsum(), wanted)
        return chosen[(distance <= least).nonzero()[0]]

    def _dots(self, places: Rows) -> Floats:
        if self._all is not None:
            return self._all.take(places)
        parts = (places[at : at + BLOCK] for at in range(0, len(places), BLOCK))
        dots = [widened(self._vectors.take(part, axis=0)) @ self._query for part in parts]
        return np.concatenate([NO_DOTS, *dots])
