"""Vector index: the embeddings of passages in memory, for semantic search.

A vector belongs to a text and a model, never to the log. The index has one vector per passage, by
its row in the passage table; `vector_search.py` searches it among the visible rows only. A small
index is exact; a large one is quantised: sign bits select candidates, and vectors are kept as
bfloat16. Place 0 has no vector and means that one is missing.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.log.sql_rows import Row
from everloop.memory.index.embed_batch import BatchEmbedder
from everloop.memory.index.passage_table import Column, PassageColumns
from everloop.memory.index.quantisation import (
    Floats,
    from_bfloat16,
    round_to_bfloat16,
    sign_bits,
    to_bfloat16,
)
from everloop.memory.index.row_sets import NO_ROW, Rows
from everloop.memory.index.search_view import VectorArrays
from everloop.memory.index.snapshot import Arrays
from everloop.memory.index.vector_search import BEFORE_WEIGHT, VectorQuery
from everloop.memory.index.vector_store import VectorCache
from everloop.ports import Embedder, Progress

SNAPSHOT_ARRAYS = (
    "rows",
    "vectors",
    "signs",
    "middle",
)  # arrays in a snapshot; each is named by this and its model

EXACT_MAX = 8_000  # vectors that are searched exactly; beyond that, by sign bits first
BATCH, BATCH_CHARACTERS = 32, 4_000  # texts embedded at once, and their length together
SAVED_TOGETHER = 8 * BATCH
SIGNED_TOGETHER = 10_000  # vectors whose sign bits are computed at once
NEVER = (0, 0)
SQUARE_MAX = 1.2  # squared length of a unit vector in half precision; more means damage

_PURGE = """
SELECT digest FROM log WHERE position = (SELECT max(position) FROM log_retractions WHERE everywhere)
"""
_PURGED = """
SELECT h.position FROM log_retractions r JOIN log_hidden h ON h.hidden_by = r.position
WHERE r.everywhere AND r.position > ifnull((
    SELECT d.position FROM log_retractions d JOIN log l ON l.position = d.position
    WHERE d.everywhere AND l.digest = ?), 0)
"""  # positions hidden by all purges after the one with this digest
_SAME = "SELECT 1 FROM memory_passages WHERE passage = ? AND digest = ?"
_NEW = "SELECT passage, digest FROM memory_passages WHERE passage > ? ORDER BY passage"


class VectorIndex:
    """The vectors of the passages of one log, made by one embedding model."""

    _upto: int  # every passage up to here is in memory, except those in `_missing`
    _missing: dict[int, bytes]
    _looked: int  # every passage up to here has a stored vector, except those in `_waiting`
    _waiting: dict[int, bytes]
    _seen: Row | None  # the newest passage that was read, and its digest

    def __init__(
        self,
        cache: VectorCache,
        embedder: Embedder,
        hasty: Embedder | None = None,
        *,
        exact_max: int = EXACT_MAX,
    ) -> None:
        self.embedder = embedder
        self._hasty = hasty
        self.cache = cache
        self._exact_max = exact_max
        self._lock = threading.Lock()
        self._cache_state = NEVER  # of the vector cache, when it was last read
        self._cache_file = 0  # which file was scanned
        self._purge = b""  # digest of the newest purge that was carried out
        self._unread: set[int] = set()  # passages whose vectors were saved since the last refresh
        self._reset(PassageColumns())

    @property
    def interactive_embedder(self) -> Embedder:
        """The embedder for requests that a user waits for; it may time out sooner."""
        return self._hasty or self.embedder

    def __len__(self) -> int:
        """How many passages have a vector."""
        return len(self._rows.all) - 1

    def refresh(self, reader: Reader, table: PassageColumns) -> int:
        """Load the vectors of new passages; returns how many passages still have no vector."""
        with self._lock:
            if self._table is not table:
                self._apply_purges(reader)
                self._reset(table)
            if len(self._places.all) < len(table):
                self._places.grow(len(table) - len(self._places.all))
            grown = table.passage.all.item(-1) > self._upto
            if not grown and not self._missing:
                return 0  # everything is in memory, whatever happened to the file
            state = self.cache.change_marker()
            new = reader.rows(_NEW, (self._upto,)) if grown else []
            wanted: dict[int, bytes] = dict(new)
            if state != self._cache_state:
                wanted |= self._missing
            elif self._unread:
                wanted |= {p: d for p, d in self._missing.items() if p in self._unread}
            self._cache_state = state
            if not wanted:
                return len(self._missing)
            self._unread.clear()
            there, vectors = self._load_vectors(wanted)
            self._missing |= {p: d for p, d in new if p not in there}
            for passage in there:
                self._missing.pop(passage, None)
            passages = np.fromiter(there, np.int64, len(there))
            self.add(np.searchsorted(table.passage.all, passages), vectors)
            if new:
                self._seen = new[-1]
                self._upto = new[-1][0]
            return len(self._missing)

    def _load_vectors(self, wanted: Mapping[int, bytes]) -> tuple[Mapping[int, bytes], Floats]:
        """The stored vectors of these passages. Damaged ones are deleted from the cache."""
        there = self.cache.load(self.embedder.name, wanted)
        dimensions = self.embedder.dimensions
        bad = [passage for passage, half in there.items() if len(half) != 2 * dimensions]
        for passage in bad:
            del there[passage]
        halves = np.frombuffer(b"".join(there.values()), np.float16)
        vectors = halves.reshape(-1, dimensions).astype(np.float32)
        good = np.einsum("ij,ij->i", vectors, vectors) <= SQUARE_MAX  # which is false for NaN, too
        if not good.all():
            every = list(there)
            for at in np.flatnonzero(~good):
                bad.append(every[at])
                del there[every[at]]
            vectors = vectors[good]
        if bad:
            self.cache.delete(self.embedder.name, bad)
        return there, vectors

    def embed_missing(
        self,
        lacking: Mapping[int, bytes],
        texts: Mapping[int, str],
        progress: Progress | None = None,
        going: Callable[[], bool] = lambda: True,
        *,
        hasty: bool = False,
    ) -> int:
        """Embed and store the passages with these digests and texts, as long as `going()` is true.

        `hasty` means that a user waits for it. A text that several passages have is embedded once.
        Returns how many were embedded. If it is interrupted, the vectors made so far are stored.

        Raises:
            ModelFailed: the embedder failed, or refused some texts; all others are stored.
        """
        passages_of: dict[bytes, list[int]] = {}
        for passage in texts:
            passages_of.setdefault(lacking[passage], []).append(passage)
        text_of = {digest: texts[passages[0]] for digest, passages in passages_of.items()}
        made: list[tuple[bytes, NDArray[np.float16]]] = []
        done, batches = (
            0,
            BatchEmbedder(self.interactive_embedder if hasty else self.embedder, going),
        )
        if progress and text_of:
            progress(0, len(text_of))
        try:
            for digests in _batches(
                sorted(text_of, key=lambda digest: len(text_of[digest])), text_of
            ):
                for place, vector in batches.embed([text_of[digest] for digest in digests]):
                    made.append((digests[place], vector))
                    done += 1
                if progress:
                    progress(done, len(text_of))
                if len(made) >= SAVED_TOGETHER:
                    self._save(made, passages_of)
                    made = []
                if not going():
                    break
        finally:
            if made:
                self._save(made, passages_of)
        if batches.refusal is not None:
            raise batches.refusal
        return done

    def _save(
        self,
        made: Sequence[tuple[bytes, NDArray[np.float16]]],
        passages_of: Mapping[bytes, Sequence[int]],
    ) -> None:
        """Store vectors, each for all passages that have its text."""
        pairs = ((digest, half.tobytes()) for digest, half in made)
        kept = sorted(
            (passage, digest, half) for digest, half in pairs for passage in passages_of[digest]
        )
        self.cache.save(self.embedder.name, kept)
        with self._lock:
            self._unread.update(passage for passage, _, _ in kept)
            for passage, _, _ in kept:
                self._waiting.pop(passage, None)

    def missing_vectors(self, reader: Reader) -> dict[int, bytes]:
        """The passages that have no stored vector, with the digests of their texts.

        Loads no vector into memory: searching does that.
        """
        with self._lock:
            self._apply_purges(reader)
            if self._seen and not reader.rows(_SAME, self._seen):
                self._reset(PassageColumns())  # it is another log now, of which nothing is loaded
            file, _ = self.cache.change_marker()
            lost = self._cache_file not in (0, file)  # the old file is gone, with all its vectors
            if lost:
                self._unread.clear()
            self._cache_file = file
            after = -1 if lost else max(self._upto, self._looked)
            new: dict[int, bytes] = dict(reader.rows(_NEW, (after,)))
            if new:
                there = self.cache.stored_passages(self.embedder.name, new)
                self._waiting |= {p: d for p, d in new.items() if p not in there}
                self._looked = max(new)
                self._seen = (self._looked, new[self._looked])
            every = self._missing | self._waiting
            return {passage: d for passage, d in every.items() if passage not in self._unread}

    def _apply_purges(self, reader: Reader) -> None:
        """Delete the vectors of purged facts, if that was not done yet.

        Another node may have purged them, or a process that was killed before it was done.
        """
        for (newest,) in reader.rows(_PURGE):
            if newest != self._purge and newest != (done := self.cache.last_purge()):
                self.cache.purge([row[0] for row in reader.rows(_PURGED, (done,))], newest)
            self._purge = newest

    def give_up(self, passages: Iterable[int]) -> None:
        """Give up on these passages: no vector can be made for them."""
        with self._lock:
            for passage in passages:
                self._waiting.pop(passage, None)

    def query(self, query: Floats) -> VectorQuery:
        """A query on the vectors as they are now."""
        with self._lock:
            arrays = (self._rows.all, self._places.all, self._vectors, self._signs, self._middle)
            usual = float(getattr(self.embedder, "usual_cosine", 0.0))
            return VectorQuery(VectorArrays(*arrays, self.mixed_norms), query, usual)

    def mixed_norms(self, at: Rows, earlier: Rows, vectors: NDArray[Any]) -> Floats:
        """The norm of each vector after mixing it with that of the passage before.

        The passage before hardly ever changes, so norms are cached.
        """
        with self._lock:
            other = self._mixed_with.all.take(at) != earlier
            if np.count_nonzero(other):  # faster than `any`
                new = other.nonzero()[0]
                mixed = from_bfloat16(vectors[at[new]]) + BEFORE_WEIGHT * from_bfloat16(
                    vectors[earlier[new]]
                )
                self._mixed_with.all[at[new]] = earlier[new]
                # A vector that is mixed with none is a unit vector.
                lengths = np.linalg.norm(mixed, axis=1)
                self._norms.all[at[new]] = np.where(earlier[new] == NO_ROW, 1, lengths)
            norms: Floats = self._norms.all.take(at)
            return norms

    def _reset(self, table: PassageColumns) -> None:
        dimensions = self.embedder.dimensions
        self._table = table
        self._rows = Column(np.int64)  # row in the passage table, by place
        self._places = Column(np.int64)  # place of the vector, by row in the passage table
        self._mixed_with, self._norms = Column(np.int64), Column(np.float32)
        self._vectors: NDArray[Any] = np.zeros((1, dimensions), np.float32)
        self._signs: NDArray[np.uint64] = np.zeros((-(-dimensions // 64), 0), np.uint64)
        self._middle: Floats = np.empty(0, np.float32)  # empty where search is exact
        self._upto = self._looked = -1
        self._seen = None
        self._missing, self._waiting = {}, {}
        self._restore(table.extra_arrays)

    def arrays(self, table: PassageColumns) -> Arrays:
        """All arrays for a snapshot with the table; nothing if a row of it has no vector."""
        with self._lock:
            used = len(self._rows.all)
            if self._table is not table or used < len(table):
                return {}
            signs = self._signs[:, :used]
            held = (self._rows.all.copy(), self._vectors[:used], signs, self._middle)
            return dict(zip(self._snapshot_names(), held, strict=True))

    def _snapshot_names(self) -> list[str]:
        return [f"{name} {self.embedder.name}" for name in SNAPSHOT_ARRAYS]

    def _restore(self, kept: Arrays) -> None:
        """Start from the arrays of a snapshot, if it was made with this model."""
        held = [kept[name] for name in self._snapshot_names() if name in kept]
        kept.clear()
        if len(held) < len(SNAPSHOT_ARRAYS):
            return
        rows, self._vectors, self._signs, self._middle = held
        self._rows.extend(rows[1:])
        self._places.grow(int(rows.max()))
        self._places.all[rows] = np.arange(len(rows))
        self._mixed_with.grow(len(rows) - 1)
        self._norms.extend(np.ones(len(rows) - 1, np.float32))
        self._upto = int(self._table.passage.all[rows.max()])

    def add(self, rows: Rows, vectors: Floats) -> None:
        """Add vectors, each for a row of the passage table."""
        start, end = len(self._rows.all), len(self._rows.all) + len(rows)
        if end > len(self._vectors):
            self._grow(max(end, 2 * len(self._vectors), 1_024))
        exact = self._vectors.dtype == np.float32
        self._vectors[start:end] = vectors if exact else to_bfloat16(vectors)
        if len(self._middle):
            self._signs[:, start:end] = sign_bits(round_to_bfloat16(vectors), self._middle)
        elif end - 1 > self._exact_max:
            self._start_signs(end)
        if len(rows):
            self._places.grow(max(0, int(rows.max()) + 1 - len(self._places.all)))
        self._places.all[rows] = np.arange(start, end)
        self._mixed_with.grow(len(rows))  # mixed with none for now, so their norm is 1
        self._norms.extend(np.ones(len(rows), np.float32))
        self._rows.extend(rows)  # last, because its length is the length of the index

    def _grow(self, room: int) -> None:
        """Grow the arrays. Beyond what is searched exactly, vectors are quantised to bfloat16."""
        used = len(self._rows.all)
        kept = self._vectors[:used]
        if room > 2 * self._exact_max and kept.dtype == np.float32:
            kept = to_bfloat16(kept)
        vectors = np.empty((room, kept.shape[1]), kept.dtype)
        vectors[:used] = kept
        self._vectors = vectors
        if len(self._middle):
            signs = np.empty((len(self._signs), room), np.uint64)
            signs[:, :used] = self._signs[:, :used]
            self._signs = signs

    def _start_signs(self, end: int) -> None:
        """Start searching by sign bits, relative to the mean of the first `exact_max` vectors."""
        self._middle = round_to_bfloat16(self._vectors[1 : self._exact_max + 1]).mean(axis=0)
        signs = np.empty((len(self._signs), len(self._vectors)), np.uint64)
        for at in range(0, end, SIGNED_TOGETHER):
            some = self._vectors[at : min(end, at + SIGNED_TOGETHER)]
            signs[:, at : at + len(some)] = sign_bits(round_to_bfloat16(some), self._middle)
        self._signs = signs


def _batches(digests: Sequence[bytes], text_of: Mapping[bytes, str]) -> Iterator[list[bytes]]:
    """Batches of texts, by digest: so many at once, and not too long together."""
    group: list[bytes] = []
    room = BATCH_CHARACTERS
    for digest in digests:
        size = len(text_of[digest])
        if group and (len(group) == BATCH or size > room):
            yield group
            group, room = [], BATCH_CHARACTERS
        group.append(digest)
        room -= size
    if group:
        yield group
