"""Memories to measure: so many items with texts that vary, and vectors that cost nothing.

One item in a hundred is in a scope of its own, and one in a hundred was witnessed by the guest.
Words come as often as in natural language: a few very often, most of them rarely.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path

import apsw
import numpy as np
from numpy.typing import NDArray

from everloop.adapters.system import system_world
from everloop.app import DECIDERS, Engine
from everloop.log import Event, open_log
from everloop.memory.events import AudienceGranted, Origin, Remembered
from everloop.memory.keeper import Keeper
from everloop.memory.vectors import VectorCache, VectorSpace
from everloop.memory.views import Audiences, MemoryShelf, MemoryWords
from everloop.memory.words import question
from everloop.settings import Settings

Vectors = NDArray[np.float32]

DIMENSIONS = 384
VOCABULARY = 20_000
SENTENCE = 20  # words in an item
ASKED = 7  # words in a question
QUESTIONS = 64
SESSION = 20  # items that follow each other
BATCH = 1_000
HITS = 10
NARROW = "project:narrow"
GUEST = "guest"
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")
_BARE = "SELECT rowid FROM memory_words WHERE memory_words MATCH ? ORDER BY rank LIMIT ?"


class FreeEmbedder:
    """Random unit vectors, the same in every run. Questions are embedded before the race."""

    name = "random"
    dimensions = DIMENSIONS

    def __init__(self) -> None:
        self._chance = np.random.default_rng(2)
        self._asked = dict(zip(questions(), unit_vectors(QUESTIONS, seed=3), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vector of a question, or new ones."""
        if len(texts) == 1 and texts[0] in self._asked:
            return self._asked[texts[0]][None, :]
        return _unit(self._chance.standard_normal((len(texts), DIMENSIONS), np.float32))


class Shelf:
    """An open memory of so many items, with all its vectors."""

    def __init__(self, folder: Path, items: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        world = system_world(10)
        views = [MemoryWords(), MemoryShelf(), Audiences()]
        self.log = open_log(folder / "everloop.db", views, world=world)
        self.engine = Engine(self.log, world, Settings(), DECIDERS)
        self.space = VectorSpace(VectorCache(folder / "vectors.db"), FreeEmbedder())
        self.keeper = Keeper(self.log, self.engine.do, world.clock, world.ids, self.space)
        if items:
            self.log.append("audience:guest", [AudienceGranted(GUEST, ("*",))], actor="user")
            for batch in remembered(0, items):
                self.log.append("memory:bench", batch, actor="user")
            self.keeper.embed_missing()

    def close(self) -> None:
        """Close the log."""
        self.log.close()


class Bare:
    """What a recall stands beside: an FTS5 query and a matrix product on the same data."""

    def __init__(self, shelf: Shelf, items: int) -> None:
        self._db = apsw.Connection(str(shelf.log.file.path), flags=apsw.SQLITE_OPEN_READONLY)
        self._vectors = unit_vectors(items, seed=4)

    def search(self, text: str) -> int:
        """The ten best by words, and the ten best by meaning; nothing is done with them."""
        match = question(text).match()
        words = self._db.execute(_BARE, (match, HITS)).fetchall()
        cosines = self._vectors @ self._vectors[0]
        meaning = np.argpartition(-cosines, HITS)[:HITS]
        return len(words) + len(meaning)

    def close(self) -> None:
        """Close the connection."""
        self._db.close()


def remembered(start: int, stop: int) -> Iterator[list[Event]]:
    """Items as facts, a thousand at a time."""
    for first in range(start, stop, BATCH):
        numbers = range(first, min(stop, first + BATCH))
        yield [
            _item(number, text)
            for number, text in zip(numbers, texts(first, len(numbers)), strict=True)
        ]


def texts(first: int, count: int) -> list[str]:
    """Texts, the same for the same numbers."""
    chance = np.random.default_rng([1, first])
    words = vocabulary()
    drawn = chance.choice(VOCABULARY, (count, SENTENCE), p=_frequencies())
    return [" ".join(words[word] for word in row) for row in drawn.tolist()]


@cache
def questions() -> tuple[str, ...]:
    """What is asked, over and over."""
    words = vocabulary()
    drawn = np.random.default_rng(5).choice(VOCABULARY, (QUESTIONS, ASKED), p=_frequencies())
    return tuple(" ".join(words[word] for word in row) for row in drawn.tolist())


def unit_vectors(count: int, *, seed: int) -> Vectors:
    """Random unit vectors, the same in every run."""
    return _unit(np.random.default_rng(seed).standard_normal((count, DIMENSIONS), np.float32))


@cache
def vocabulary() -> tuple[str, ...]:
    """Words that can be told apart."""
    return tuple(_word(number + len(_SYLLABLES)) for number in range(VOCABULARY))


def _item(number: int, text: str) -> Remembered:
    at = NOW - timedelta(hours=number % 8_000)
    return Remembered(
        item_id=f"mem-{number:07d}",
        title=text[:40],
        text=text,
        kind="message",
        scope=NARROW if number % 100 == 7 else "user",
        witnesses=(GUEST,) if number % 100 == 3 else ("someone",),
        origin=Origin(),
        learned_via="told",
        durability="durable",
        happened_at=at.isoformat(),
        follows=f"mem-{number - 1:07d}" if number % SESSION else "",
        derived_from=(),
    )


@cache
def _frequencies() -> NDArray[np.float64]:
    weights: NDArray[np.float64] = 1.0 / (np.arange(VOCABULARY) + 20.0)
    return weights / weights.sum()


def _word(number: int) -> str:
    word = ""
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[place]
    return word


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
