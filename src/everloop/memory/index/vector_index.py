"""The meaning leg: vectors of passages, kept as a cache and searched in memory.

A vector belongs to a text and a model, never to the log. The space in memory holds one vector
per passage, by its row in the roster, and searches only among those that it is told to. It is exact
while it is small; a large one looks through one bit per dimension first, measures only the best
candidates exactly, and keeps half of each number. Place 0 holds no vector and stands for a lacking
one.
"""

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.log.sql_rows import Row
from everloop.memory.index.embed_batch import Making
from everloop.memory.index.passage_table import Column, Roster
from everloop.memory.index.quantisation import Floats, narrowed, rounded, signs_of, widened
from everloop.memory.index.row_sets import NONE, Rows
from everloop.memory.index.search_view import VectorArrays
from everloop.memory.index.snapshot import Arrays
from everloop.memory.index.vector_search import BEFORE_WEIGHT, Look
from everloop.memory.index.vector_store import VectorCache
from everloop.ports import Embedder, Progress

KEPT = ("rows", "vectors", "signs", "middle")  # of a space, each by this and its model's name

EXACT_MAX = 8_000  # vectors searched exactly; beyond, signs come first
BATCH, BATCH_CHARACTERS = 32, 4_000  # texts embedded at once, and how long they are together
SAVED_TOGETHER = 8 * BATCH
SIGNED_TOGETHER = 10_000  # vectors whose signs are made at once
NEVER = (0, 0)
SQUARE_MAX = 1.2  # of a unit vector's length, in half precision; more is damage

_PURGE = """
SELECT digest FROM log WHERE position = (SELECT max(position) FROM log_retractions WHERE everywhere)
"""
_PURGED = """
SELECT h.position FROM log_retractions r JOIN log_hidden h ON h.hidden_by = r.position
WHERE r.everywhere AND r.position > ifnull((
    SELECT d.position FROM log_retractions d JOIN log l ON l.position = d.position
    WHERE d.everywhere AND l.digest = ?), 0)
"""  # by all purges after one
_SAME = "SELECT 1 FROM memory_passages WHERE passage = ? AND digest = ?"
_NEW = "SELECT passage, digest FROM memory_passages WHERE passage > ? ORDER BY passage"


class VectorSpace:
    """The passages of one log in one model's space."""

    _upto: int  # every passage up to here was taken in, but for those that are
    _missing: dict[int, bytes]
    _looked: int  # every passage up to here has a vector on the disk, but for those that are
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
        self._state = NEVER  # of the cache, when it was last read
        self._file = 0  # which one was looked through
        self._purge = b""  # the digest of the newest one that was carried out
        self._made: set[int] = set()  # passages whose vectors were saved since the last refresh
        self._begin(Roster())

    @property
    def hasty(self) -> Embedder:
        """The embedder for while somebody waits; it may give up sooner."""
        return self._hasty or self.embedder

    def __len__(self) -> int:
        """How many passages have a vector."""
        return len(self._rows.all) - 1

    def refresh(self, reader: Reader, roster: Roster) -> int:
        """Take in the vectors of passages that came since; returns how many still lack one."""
        with self._lock:
            if self._roster is not roster:
                self._carry_out(reader)
                self._begin(roster)
            if len(self._places.all) < len(roster):
                self._places.grow(len(roster) - len(self._places.all))
            grown = roster.passage.all.item(-1) > self._upto
            if not grown and not self._missing:
                return 0  # all is in memory, whatever became of the file
            state = self.cache.state()
            new = reader.rows(_NEW, (self._upto,)) if grown else []
            wanted: dict[int, bytes] = dict(new)
            if state != self._state:
                wanted |= self._missing
            elif self._made:
                wanted |= {p: d for p, d in self._missing.items() if p in self._made}
            self._state = state
            if not wanted:
                return len(self._missing)
            self._made.clear()
            there, vectors = self._loaded(wanted)
            self._missing |= {p: d for p, d in new if p not in there}
            for passage in there:
                self._missing.pop(passage, None)
            passages = np.fromiter(there, np.int64, len(there))
            self.add(np.searchsorted(roster.passage.all, passages), vectors)
            if new:
                self._seen = new[-1]
                self._upto = new[-1][0]
            return len(self._missing)

    def _loaded(self, wanted: Mapping[int, bytes]) -> tuple[Mapping[int, bytes], Floats]:
        """What there is of these passages. What no embedder can have made is thrown away."""
        there = self.cache.load(self.embedder.name, wanted)
        dimensions = self.embedder.dimensions
        bad = [passage for passage, half in there.items() if len(half) != 2 * dimensions]
        for passage in bad:
            del there[passage]
        halves = np.frombuffer(b"".join(there.values()), np.float16)
        vectors = halves.reshape(-1, dimensions).astype(np.float32)
        good = np.einsum("ij,ij->i", vectors, vectors) <= SQUARE_MAX  # and so numbers
        if not good.all():
            every = list(there)
            for at in np.flatnonzero(~good):
                bad.append(every[at])
                del there[every[at]]
            vectors = vectors[good]
        if bad:
            self.cache.drop(self.embedder.name, bad)
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
        """Make and keep the vectors of passages with these digests and texts, as long as `going`.

        `hasty` says that somebody waits for it. A text that several of them have is embedded once.
        Returns how many were. Whatever breaks it off, what was made until then is kept.

        Raises:
            ModelFailed: the embedder failed, or made nothing of some of them, and all others are.
        """
        having: dict[bytes, list[int]] = {}
        for passage in texts:
            having.setdefault(lacking[passage], []).append(passage)
        said = {digest: texts[passages[0]] for digest, passages in having.items()}
        made: list[tuple[bytes, NDArray[np.float16]]] = []
        done, making = 0, Making(self.hasty if hasty else self.embedder, going)
        if progress and said:
            progress(0, len(said))
        try:
            for digests in _together(sorted(said, key=lambda digest: len(said[digest])), said):
                for place, vector in making.made([said[digest] for digest in digests]):
                    made.append((digests[place], vector))
                    done += 1
                if progress:
                    progress(done, len(said))
                if len(made) >= SAVED_TOGETHER:
                    self._save(made, having)
                    made = []
                if not going():
                    break
        finally:
            if made:
                self._save(made, having)
        if making.refusal is not None:
            raise making.refusal
        return done

    def _save(
        self,
        made: Sequence[tuple[bytes, NDArray[np.float16]]],
        having: Mapping[bytes, Sequence[int]],
    ) -> None:
        """Keep vectors, each for all passages that have its text."""
        pairs = ((digest, half.tobytes()) for digest, half in made)
        kept = sorted(
            (passage, digest, half) for digest, half in pairs for passage in having[digest]
        )
        self.cache.save(self.embedder.name, kept)
        with self._lock:
            self._made.update(passage for passage, _, _ in kept)
            for passage, _, _ in kept:
                self._waiting.pop(passage, None)

    def lacking(self, reader: Reader) -> dict[int, bytes]:
        """The passages whose vectors were never made, with the digests of their texts.

        Takes nothing into memory: whoever searches does that.
        """
        with self._lock:
            self._carry_out(reader)
            if self._seen and not reader.rows(_SAME, self._seen):
                self._begin(Roster())  # of the log that there is now nothing is known
            file, _ = self.cache.state()
            lost = self._file not in (0, file)  # the old one is gone, with all that was in it
            if lost:
                self._made.clear()
            self._file = file
            after = -1 if lost else max(self._upto, self._looked)
            new: dict[int, bytes] = dict(reader.rows(_NEW, (after,)))
            if new:
                there = self.cache.known(self.embedder.name, new)
                self._waiting |= {p: d for p, d in new.items() if p not in there}
                self._looked = max(new)
                self._seen = (self._looked, new[self._looked])
            every = self._missing | self._waiting
            return {passage: d for passage, d in every.items() if passage not in self._made}

    def _carry_out(self, reader: Reader) -> None:
        """Drop the vectors of what was purged, if nobody did.

        Another node may have purged it, or a process that was killed in the middle.
        """
        for (newest,) in reader.rows(_PURGE):
            if newest != self._purge and newest != (done := self.cache.carried_out()):
                self.cache.forget([row[0] for row in reader.rows(_PURGED, (done,))], newest)
            self._purge = newest

    def settle(self, passages: Iterable[int]) -> None:
        """Take note that nothing can be made for these passages."""
        with self._lock:
            for passage in passages:
                self._waiting.pop(passage, None)

    def looking(self, query: Floats) -> Look:
        """The space as one question sees it."""
        with self._lock:
            arrays = (self._rows.all, self._places.all, self._vectors, self._signs, self._middle)
            return Look(VectorArrays(*arrays, self.mixed_norms), query)

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
                # Alone, each is as long as it was when it came, whatever it was mixed with since.
                lengths = np.linalg.norm(mixed, axis=1)
                self._norms.all[at[new]] = np.where(earlier[new] == NONE, 1, lengths)
            norms: Floats = self._norms.all.take(at)
            return norms

    def _begin(self, roster: Roster) -> None:
        dimensions = self.embedder.dimensions
        self._roster = roster
        self._rows = Column(np.int64)  # of the roster, in the order in which vectors came
        self._places = Column(np.int64)  # by row of the roster: where its vector is
        self._mates, self._norms = Column(np.int64), Column(np.float32)
        self._vectors: NDArray[Any] = np.zeros((1, dimensions), np.float32)
        self._signs: NDArray[np.uint64] = np.zeros((-(-dimensions // 64), 0), np.uint64)
        self._middle: Floats = np.empty(0, np.float32)  # none where all is searched exactly
        self._upto = self._looked = -1
        self._seen = None
        self._missing, self._waiting = {}, {}
        self._restore(roster.beside)

    def arrays(self, roster: Roster) -> Arrays:
        """All of it, to be kept with its roster; nothing if a row of that has no vector here."""
        with self._lock:
            used = len(self._rows.all)
            if self._roster is not roster or used < len(roster):
                return {}
            signs = self._signs[:, :used]
            held = (self._rows.all.copy(), self._vectors[:used], signs, self._middle)
            return dict(zip(self._kept_as(), held, strict=True))

    def _kept_as(self) -> list[str]:
        return [f"{name} {self.embedder.name}" for name in KEPT]

    def _restore(self, kept: Arrays) -> None:
        """Begin with what the last process kept, if it was of this model."""
        held = [kept[name] for name in self._kept_as() if name in kept]
        kept.clear()
        if len(held) < len(KEPT):
            return
        rows, self._vectors, self._signs, self._middle = held
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
        if len(self._middle):
            self._signs[:, start:end] = signs_of(rounded(vectors), self._middle)
        elif end - 1 > self._exact_max:
            self._sign_all(end)
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
        if room > 2 * self._exact_max and kept.dtype == np.float32:
            kept = narrowed(kept)
        vectors = np.empty((room, kept.shape[1]), kept.dtype)
        vectors[:used] = kept
        self._vectors = vectors
        if len(self._middle):
            signs = np.empty((len(self._signs), room), np.uint64)
            signs[:, :used] = self._signs[:, :used]
            self._signs = signs

    def _sign_all(self, end: int) -> None:
        """Begin to search by signs. Their middle is that of the first vectors, however it grew."""
        self._middle = rounded(self._vectors[1 : self._exact_max + 1]).mean(axis=0)
        signs = np.empty((len(self._signs), len(self._vectors)), np.uint64)
        for at in range(0, end, SIGNED_TOGETHER):
            some = self._vectors[at : min(end, at + SIGNED_TOGETHER)]
            signs[:, at : at + len(some)] = signs_of(rounded(some), self._middle)
        self._signs = signs


def _together(digests: Sequence[bytes], said: Mapping[bytes, str]) -> Iterator[list[bytes]]:
    """The digests of texts that are embedded at once: so many, and not too long together."""
    group: list[bytes] = []
    room = BATCH_CHARACTERS
    for digest in digests:
        size = len(said[digest])
        if group and (len(group) == BATCH or size > room):
            yield group
            group, room = [], BATCH_CHARACTERS
        group.append(digest)
        room -= size
    if group:
        yield group
