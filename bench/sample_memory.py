"""Memories to measure: so many items with texts that vary, and vectors that cost nothing.

One item in a hundred is in a scope of its own, and one in a hundred was witnessed by the guest.
Words come as often as in natural language: a few very often, most of them rarely.
"""

from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from functools import cache
from pathlib import Path
from zlib import crc32

import apsw
import numpy as np
from numpy.typing import NDArray

from everloop.adapters.system import system_ports
from everloop.app import Engine
from everloop.log import Event, open_log
from everloop.memory.deciders import MEMORY_DECIDERS
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.index.vector_store import VectorCache
from everloop.memory.model.events import AudienceGranted, Origin, Remembered
from everloop.memory.projections.audiences import AudienceTable
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable
from everloop.memory.service import MemoryService
from everloop.memory.text.analysis import parse_question
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
OTHER = "someone"  # who witnessed all the rest
CLUSTERS, CLUSTERED = 2_000, 10_000  # of vectors, and vectors made at a time
COMMON, SPREAD = 0.8, 0.8  # what all vectors share, and how far those of a cluster lie apart
STRANGERS = 1_000  # vectors for texts that are not of the sample
NOW = datetime(2026, 11, 15, 12, tzinfo=UTC)

_SYLLABLES = ("ba", "de", "fi", "go", "hu", "ka", "le", "mi", "no", "pu", "ra", "se", "ti", "vo")
_INDEX = """
CREATE VIRTUAL TABLE temp.bare USING fts5 (terms, content='', tokenize='ascii');
INSERT INTO temp.bare (rowid, terms) SELECT passage, terms FROM memory_passages ORDER BY passage;
"""
_BARE = "SELECT rowid FROM bare WHERE bare MATCH ? ORDER BY rank LIMIT ?"


class FreeEmbedder:
    """Vectors that were made before the comparison; every side is given the same ones."""

    name = "given"
    dimensions = DIMENSIONS

    def __init__(self, items: int = 0) -> None:
        self._place = {text: place for place, text in enumerate(all_texts(items))}
        self._vectors = unit_vectors(max(items, STRANGERS))
        self._asked = dict(zip(questions(), asked_vectors(), strict=True))

    def embed(self, texts: Sequence[str]) -> Vectors:
        """The vectors of questions and of items; any for a text that is new."""
        if len(texts) == 1 and texts[0] in self._asked:
            asked: Vectors = self._asked[texts[0]][None, :]
            return asked
        strange = (crc32(text.encode()) % STRANGERS for text in texts)
        places = [self._place.get(text, any_) for text, any_ in zip(texts, strange, strict=True)]
        found: Vectors = self._vectors[places]
        return found


class SampleMemory:
    """An open memory of so many items, with all its vectors."""

    def __init__(self, folder: Path, items: int) -> None:
        folder.mkdir(parents=True, exist_ok=True)
        ports = system_ports(10)
        views = [PassageTable(), ItemTable(), AudienceTable()]
        self.log = open_log(folder / "everloop.db", views, ports=ports)
        self.engine = Engine(self.log, ports, Settings(), MEMORY_DECIDERS)
        self.space = VectorIndex(VectorCache(folder / "vectors.db"), FreeEmbedder(items))
        self.keeper = MemoryService(self.log, self.engine, ports.clock, ports.ids, self.space)
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

    def __init__(self, sample: SampleMemory, items: int) -> None:
        self._db = apsw.Connection(str(sample.log.file.path), flags=apsw.SQLITE_OPEN_READONLY)
        self._db.execute(_INDEX)  # of its own, in which every passage is: ours takes in groups
        self._vectors = unit_vectors(items)
        self._asked = dict(zip(questions(), asked_vectors(), strict=True))

    def search(self, text: str) -> int:
        """The ten best by words, and the ten best by meaning; nothing is done with them."""
        match = parse_question(text).match()
        words = self._db.execute(_BARE, (match, HITS)).fetchall()
        cosines = self._vectors @ self._asked[text]
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
    rows: list[list[int]] = drawn.tolist()
    return [" ".join(words[word] for word in row) for row in rows]


@cache
def questions() -> tuple[str, ...]:
    """What is asked, over and over."""
    words = vocabulary()
    drawn = np.random.default_rng(5).choice(VOCABULARY, (QUESTIONS, ASKED), p=_frequencies())
    rows: list[list[int]] = drawn.tolist()
    return tuple(" ".join(words[word] for word in row) for row in rows)


def all_texts(items: int) -> list[str]:
    """The texts of so many items, in their order."""
    return [text for at in range(0, items, BATCH) for text in texts(at, min(BATCH, items - at))]


def unit_vectors(count: int) -> Vectors:
    """Unit vectors, the same in every run: in clusters, and all a little alike, as texts are."""
    found = np.empty((count, DIMENSIONS), np.float32)
    for start in range(0, count, CLUSTERED):
        rows = found[start : start + CLUSTERED]
        chance = np.random.default_rng([4, start])
        rows[:] = COMMON * _clusters()[0] + _clusters()[chance.integers(1, CLUSTERS, len(rows))]
        rows += SPREAD * _unit(chance.standard_normal(rows.shape, np.float32))
        rows[:] = _unit(rows)
    return found


@cache
def asked_vectors() -> Vectors:
    """The vectors of the questions: each near to those of some items."""
    chance = np.random.default_rng(3)
    noise = _unit(chance.standard_normal((QUESTIONS, DIMENSIONS), np.float32))
    noise *= SPREAD
    return _unit(unit_vectors(QUESTIONS) + noise)


@cache
def _clusters() -> Vectors:
    return _unit(np.random.default_rng(6).standard_normal((CLUSTERS, DIMENSIONS), np.float32))


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
        witnesses=(GUEST,) if number % 100 == 3 else (OTHER,),
        origin=Origin(),
        learned_via="told",
        durability="durable",
        happened_at=at.isoformat(),
        follows=f"mem-{number - 1:07d}" if number % SESSION else "",
        derived_from=(),
        session="",
    )


@cache
def _frequencies() -> NDArray[np.float64]:
    weights = np.ones(VOCABULARY)
    weights /= np.arange(VOCABULARY) + 20.0
    weights /= weights.sum()
    return weights


def _word(number: int) -> str:
    word = ""
    while number:
        number, place = divmod(number, len(_SYLLABLES))
        word += _SYLLABLES[place]
    return word


def _unit(rows: Vectors) -> Vectors:
    unit: Vectors = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    return unit
