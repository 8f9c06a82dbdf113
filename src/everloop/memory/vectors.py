"""The meaning leg: vectors of passages, kept as a cache and searched in memory.

A vector belongs to a text and a model, never to the log: the cache is a file of its own, keyed by
(model, digest of the text), and can be deleted. The space in memory holds one vector per passage,
by its row in the roster, and searches only among those that it is told to. It is exact while it is
small; a large one looks through one bit per dimension first, measures only the best candidates
exactly, and keeps half the precision.
"""

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import apsw
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.log.sql import one, rows
from everloop.memory.roster import NONE, Column, Mask, Roster, Rows, passing
from everloop.ports import Embedder, Progress

Floats = NDArray[np.float32]

EXACT_MAX = 50_000  # vectors searched exactly; beyond, signs come first
CANDIDATES_PER_HIT = 40
SCAN_FROM = 2_000  # vectors wanted at once from which on it is faster to read all there are
BATCH = 32
BEFORE_WEIGHT = 0.5  # of the passage said before

_SCHEMA = """
CREATE TABLE IF NOT EXISTS vectors (
    model  TEXT NOT NULL,
    digest BLOB NOT NULL,
    vector BLOB NOT NULL,
    PRIMARY KEY (model, digest)
) STRICT, WITHOUT ROWID
"""
_NEW = "SELECT passage, digest FROM memory_passages WHERE passage > ? ORDER BY passage"
_ONE = "SELECT vector FROM vectors WHERE model = ? AND digest = ?"
_SCAN = "SELECT digest, vector FROM vectors WHERE model = ?"


class VectorCache:
    """Vectors on disk, by model and text. Losing it costs only the time to make them again."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._lock = threading.Lock()
        self._db = self._open()

    def load(self, model: str, digests: Sequence[bytes]) -> dict[bytes, bytes]:
        """Those vectors that are there, in half precision."""
        with self._lock:
            if len(digests) > SCAN_FROM:
                return dict(rows(self._db, _SCAN, (model,)))
            found: dict[bytes, bytes] = {}
            for digest in digests:
                if (row := one(self._db, _ONE, (model, digest))) is not None:
                    found[digest] = row[0]
            return found

    def state(self) -> int:
        """Equal as long as no other process saved anything."""
        return self._db.data_version()

    def save(self, model: str, digests: Sequence[bytes], vectors: Floats) -> None:
        """Keep vectors."""
        stored = vectors.astype(np.float16)
        with self._lock, self._db:
            self._db.executemany(
                "REPLACE INTO vectors VALUES (?, ?, ?)",
                [
                    (model, digest, row.tobytes())
                    for digest, row in zip(digests, stored, strict=True)
                ],
            )

    def forget(self, digests: Sequence[bytes]) -> None:
        """Drop the vectors of purged texts, of every model."""
        with self._lock, self._db:
            self._db.executemany(
                "DELETE FROM vectors WHERE digest = ?", [(digest,) for digest in digests]
            )

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
        db.execute("PRAGMA journal_mode = WAL; PRAGMA synchronous = NORMAL")
        db.execute(_SCHEMA)
        return db


class VectorSpace:
    """The passages of one log in one model's space."""

    def __init__(self, cache: VectorCache, embedder: Embedder) -> None:
        self.embedder = embedder
        self._cache = cache
        self._lock = threading.Lock()
        self._upto = -1
        self._state = 0
        self._missing: dict[int, bytes] = {}
        self._made: set[bytes] = set()
        self._begin(0)

    def __len__(self) -> int:
        """How many passages have a vector."""
        return len(self._rows.all)

    def refresh(self, reader: Reader, roster: Roster) -> int:
        """Take in the vectors of passages that came since; returns how many still lack one."""
        with self._lock:
            if self._generation != roster.generation:
                self._begin(roster.generation)
            self._places.grow(len(roster) - len(self._places.all))
            state = self._cache.state()
            new = reader.rows(_NEW, (self._upto,))
            wanted: dict[int, bytes] = dict(new)
            if state != self._state:
                wanted |= self._missing
            elif self._made:
                wanted |= {p: d for p, d in self._missing.items() if d in self._made}
            self._state = state
            self._made.clear()
            if not wanted:
                return len(self._missing)
            found = self._cache.load(self.embedder.name, list(wanted.values()))
            self._missing |= {p: d for p, d in new if d not in found}
            there = {p: found[d] for p, d in wanted.items() if d in found}
            for passage in there:
                self._missing.pop(passage, None)
            passages = np.fromiter(there, np.int64, len(there))
            halves = np.frombuffer(b"".join(there.values()), np.float16)
            vectors = halves.reshape(-1, self.embedder.dimensions)
            self.add(np.searchsorted(roster.passage.all, passages), vectors)
            self._upto = new[-1][0] if new else self._upto
            return len(self._missing)

    def embed_missing(self, texts: dict[bytes, str], progress: Progress | None = None) -> int:
        """Make and keep the vectors of these texts, by digest. Returns how many were made."""
        digests = sorted(texts, key=lambda digest: len(texts[digest]))
        for start in range(0, len(digests), BATCH):
            batch = digests[start : start + BATCH]
            vectors = self.embedder.embed([texts[digest] for digest in batch])
            self._cache.save(self.embedder.name, batch, vectors)
            with self._lock:
                self._made.update(batch)
            if progress:
                progress(min(start + BATCH, len(digests)), len(digests))
        return len(digests)

    def missing(self) -> dict[int, bytes]:
        """The passages that lack a vector, with the digests of their texts."""
        with self._lock:
            return dict(self._missing)

    def looking(self, query: Floats) -> "Look":
        """The space as one question sees it."""
        with self._lock:
            return Look(self, query, self._rows.all, self._places.all, self._vectors, self._signs)

    def mixed_norms(self, at: Rows, earlier: Rows, vectors: NDArray[Any]) -> Floats:
        """How long each vector is once it is mixed with that of what was said before it.

        Hardly ever does the one before change, so what was worked out is kept.
        """
        with self._lock:
            self._mates.grow(len(self) - len(self._mates.all))
            self._norms.grow(len(self) - len(self._norms.all))
            new = np.flatnonzero(self._mates.all[at] != earlier)
            if len(new):
                mixed = vectors[at[new]].astype(np.float32)
                mixed += BEFORE_WEIGHT * vectors[earlier[new]]
                self._mates.all[at[new]] = earlier[new]
                self._norms.all[at[new]] = np.linalg.norm(mixed, axis=1)
            norms: Floats = self._norms.all[at]
            return norms

    def _begin(self, generation: int) -> None:
        dimensions = self.embedder.dimensions
        self._generation = generation
        self._rows = Column(np.int64)  # of the roster, in the order in which vectors came
        self._places = Column(np.int64)  # by row of the roster: where its vector is
        self._mates, self._norms = Column(np.int64), Column(np.float32)
        self._vectors: NDArray[Any] = np.empty((0, dimensions), np.float32)
        self._signs: NDArray[np.uint64] = np.empty((-(-dimensions // 64), 0), np.uint64)
        self._upto, self._missing = -1, {}

    def add(self, rows: Rows, vectors: NDArray[Any]) -> None:
        """Put vectors into the space, each for a row of the roster."""
        start, end = len(self), len(self) + len(rows)
        if end > len(self._vectors):
            self._grow(max(end, 2 * len(self._vectors), 1_024))
        self._vectors[start:end] = vectors
        self._signs[:, start:end] = _signs(vectors)
        if len(rows):
            self._places.grow(max(0, int(rows.max()) + 1 - len(self._places.all)))
        self._places.all[rows] = np.arange(start, end)
        self._rows.extend(rows)  # last, for its length is the space's

    def _grow(self, room: int) -> None:
        """Make room. Beyond what is searched exactly, half the precision is enough."""
        precision = np.float16 if room > 2 * EXACT_MAX else np.float32
        vectors = np.empty((room, self._vectors.shape[1]), precision)
        vectors[: len(self)] = self._vectors[: len(self)]
        signs = np.empty((len(self._signs), room), np.uint64)
        signs[:, : len(self)] = self._signs[:, : len(self)]
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
        exact = len(rows) <= EXACT_MAX and vectors.dtype == np.float32
        self._all: Floats | None = vectors[: len(rows)] @ query if exact else None

    def nearest(self, count: int, allowed: Mask) -> Rows:
        """The rows of the nearest passages among those allowed, in order of age."""
        chosen = np.flatnonzero(passing(self._rows, allowed))
        candidates = count * CANDIDATES_PER_HIT
        if self._all is None and len(chosen) > candidates:
            differing = _differing(self._signs[:, : len(self._rows)], self._query)[chosen]
            chosen = chosen[_smallest(differing, candidates)]
        best: Rows = np.sort(self._rows[chosen[_smallest(-self._dots(chosen), count)]])
        return best

    def cosines(self, rows: Rows, before: Rows) -> tuple[Rows, Floats]:
        """Those of the rows that have a vector, and their cosines.

        Each is mixed with the vector of what was said before it, if there is one.
        """
        at = self._places[rows]
        rows, before, at = rows[at != NONE], before[at != NONE], at[at != NONE]
        cosines = self._dots(at)
        earlier = np.where(before != NONE, self._places[before], NONE)
        said = np.flatnonzero(earlier != NONE)
        if len(said):
            at, earlier = at[said], earlier[said]
            mixed = cosines[said] + BEFORE_WEIGHT * self._dots(earlier)
            cosines[said] = mixed / self._space.mixed_norms(at, earlier, self._vectors)
        return rows, cosines

    def _dots(self, places: Rows) -> Floats:
        if self._all is not None:
            return self._all[places]
        dots: Floats = self._vectors[places].astype(np.float32) @ self._query
        return dots


def _signs(vectors: NDArray[Any]) -> NDArray[np.uint64]:
    """One bit per dimension, 64 to a word; a row for each word."""
    bits = np.packbits(vectors > 0, axis=1)
    padded = np.zeros((len(bits), -(-bits.shape[1] // 8) * 8), np.uint8)
    padded[:, : bits.shape[1]] = bits
    return padded.view(np.uint64).T


def _differing(signs: NDArray[np.uint64], query: Floats) -> NDArray[np.uint16]:
    """In how many signs each vector differs from the query."""
    differing = np.zeros(signs.shape[1], np.uint16)
    for word, asked in zip(signs, _signs(query[None, :])[:, 0], strict=True):
        differing += np.bitwise_count(word ^ asked)
    return differing


def _smallest(values: NDArray[Any], count: int) -> NDArray[np.int64]:
    """The places of the smallest values, with all that equal the last of them."""
    if count >= len(values):
        return np.arange(len(values))
    return np.flatnonzero(values <= np.partition(values, count - 1)[count - 1])
