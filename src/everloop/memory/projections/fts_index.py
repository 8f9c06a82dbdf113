"""The projection of passages and its full-text index (FTS5), which is filled a group at a time.

Writing the index with every commit would cost more than all else that an item costs. So passages
wait in their table, with their terms, until a group of them is closed; a search for words looks
among the waiting ones as well. Which group a passage belongs to follows from its position alone, so
a rebuilt projection is the same. Knows nothing about who may see a passage.
"""

from collections.abc import Iterator, Sequence
from functools import lru_cache
from hashlib import sha256
from itertools import groupby
from typing import Any, ClassVar, Final

import apsw

from everloop.log import Fact, Projection, Reader, RowInsert, adds
from everloop.log.sql_rows import query_rows
from everloop.memory.model.events import BUILT_IN_MODEL, Remembered, Revised
from everloop.memory.text.analysis import index_terms
from everloop.memory.text.language import LANGUAGE_MARK
from everloop.memory.text.passages import PASSAGES_MAX, split_passages
from everloop.memory.text.speech_acts import SPEECH_ACTS, classify

INDEX_GROUP_FACTS: Final = 256  # facts in a group, on average
ANALYSED_KEPT: Final = 64  # texts that are not analysed again

_GOLDEN, _MASK = 2_654_435_769, 2**32 - 1
_AFTER = "passage > (SELECT ifnull(max(id), -1) FROM memory_words_docsize)"
PENDING_PASSAGES_SQL: Final = (
    f"SELECT passage, terms FROM memory_passages WHERE {_AFTER} ORDER BY passage"  # noqa: S608
)
INDEX_PENDING_SQL: Final = f"""
INSERT INTO memory_words (rowid, terms)
SELECT passage, terms FROM memory_passages WHERE {_AFTER} AND passage < ? ORDER BY passage
"""  # noqa: S608 - our own condition; indexes the pending passages before a given one
_HOLDING = f"""
SELECT rowid FROM memory_words WHERE memory_words MATCH '"' || ?1 || '"'
UNION ALL
SELECT passage FROM memory_passages
WHERE {_AFTER} AND instr(' ' || terms || ' ', ' ' || ?1 || ' ')
ORDER BY 1 LIMIT ?2
"""  # noqa: S608 - our own condition
_INDEXED = "SELECT ifnull(max(id), -1) FROM memory_words_docsize"
_VOCABULARY = """
CREATE VIRTUAL TABLE temp.memory_vocabulary USING fts5vocab (main, memory_words, row)
"""
_TEXT = "SELECT position, title, text FROM memory_versions WHERE position = ?"


class PassageTable(Projection):
    """Every version of an item, cut into passages, with the terms each is found by.

    `act` is the speech act of the whole text, as an index of `SPEECH_ACTS`.

    Terms of the preceding item count for a passage as well, but whether the asker may see that item
    is only known at query time, so `recall` adds them then.
    """

    name = "memory_words"
    version = 8
    tables: ClassVar[tuple[str, ...]] = ("memory_passages", "memory_words", "memory_words_terms")
    schema = """
    CREATE TABLE memory_passages (
        passage  INTEGER PRIMARY KEY,
        position INTEGER NOT NULL,
        item_id  TEXT NOT NULL,
        follows  TEXT NOT NULL,
        terms    TEXT NOT NULL,
        length   INTEGER NOT NULL,
        act      INTEGER NOT NULL,
        digest   BLOB NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE memory_words
        USING fts5 (terms, content='', contentless_delete=1, tokenize='ascii');
    CREATE VIRTUAL TABLE memory_words_terms USING fts5vocab (memory_words, instance);
    """

    @adds(Remembered)
    def _remembered(self, new: Remembered, fact: Fact) -> Iterator[RowInsert]:
        quoting = new.kind == "message" and new.origin.model == BUILT_IN_MODEL
        return _passages(new, new.follows, fact.position, boilerplate=quoting)

    @adds(Revised)
    def _revised(self, new: Revised, fact: Fact) -> Iterator[RowInsert]:
        return _passages(new, "", fact.position)

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Erase passages, and all traces of them in the index."""
        touched = 0
        for position in positions:
            bounds = (position * PASSAGES_MAX, (position + 1) * PASSAGES_MAX)
            db.execute("DELETE FROM memory_words WHERE rowid >= ? AND rowid < ?", bounds)
            db.execute("DELETE FROM memory_passages WHERE passage >= ? AND passage < ?", bounds)
            touched += db.changes()
        if touched:
            db.execute("INSERT INTO memory_words (memory_words) VALUES ('optimize')")

    def dump(self, db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
        """The passages, and every term at every place, indexed or pending."""
        yield ("memory_passages", *query_rows(db, "SELECT * FROM memory_passages ORDER BY passage"))
        db.execute(
            "CREATE VIRTUAL TABLE temp.memory_terms USING fts5vocab (main, memory_words, instance)"
        )
        pending = [
            (term, passage, "terms", place)
            for passage, terms in query_rows(db, PENDING_PASSAGES_SQL)
            for place, term in enumerate(terms.split(" "))
        ]
        yield ("memory_words", *sorted(query_rows(db, "SELECT * FROM temp.memory_terms") + pending))
        db.execute("DROP TABLE temp.memory_terms")


def closes_group(position: int) -> bool:
    """Whether a fact is the last of its group.

    Group ends are spread evenly by the golden ratio (Fibonacci hashing), so that no regular pattern
    of positions skips them for long.
    """
    return (position * _GOLDEN & _MASK) < _MASK // INDEX_GROUP_FACTS


def newest_indexed_passage(reader: Reader) -> int:
    """The newest passage in the index; -1 if the index is empty."""
    upto: int = reader.rows(_INDEXED)[0][0]
    return upto


def passages_with_phrase(reader: Reader, words: Sequence[str], limit: int) -> list[int]:
    """The oldest passages that contain these terms as a phrase, regardless of visibility."""
    return [row[0] for row in reader.rows(_HOLDING, (" ".join(words), limit))]


def vocabulary(reader: Reader) -> set[str]:
    """Every term of every passage, indexed or pending, regardless of visibility."""
    reader.db.execute(_VOCABULARY)
    found = {term for (term,) in reader.rows("SELECT term FROM temp.memory_vocabulary")}
    reader.db.execute("DROP TABLE temp.memory_vocabulary")
    return found.union(*(terms.split(" ") for _, terms in reader.rows(PENDING_PASSAGES_SQL)))


def titled_passages(title: str, text: str) -> list[str]:
    """Split a text into passages, each headed by the item's title unless it begins with it."""
    opening = title.rstrip("…")
    parts = split_passages(text)
    return [part if part.startswith(opening) else f"{title}\n{part}" for part in parts]


@lru_cache(maxsize=ANALYSED_KEPT)
def analysed_passages(title: str, text: str) -> tuple[tuple[str, str], ...]:
    """Each titled passage of a text with its index terms, joined by spaces.

    Kept for a while: the projection needs them, and near-duplicate detection right after it.
    """
    return tuple((titled, index_terms(titled)) for titled in titled_passages(title, text))


def passage_texts(reader: Reader, wanted: Sequence[int]) -> dict[int, str]:
    """The titled texts of passages, which their vectors are made from; without purged ones."""
    found: dict[int, str] = {}
    of_version = groupby(sorted(wanted), lambda number: number // PASSAGES_MAX)
    asked = {position: list(numbers) for position, numbers in of_version}
    for position, title, text in reader.db.executemany(_TEXT, [(each,) for each in asked]):
        parts = titled_passages(title, text)
        for number in asked[position]:
            if number % PASSAGES_MAX < len(parts):  # else another version of the program made it
                found[number] = parts[number % PASSAGES_MAX]
    return found


def _passages(
    new: Remembered | Revised, follows: str, position: int, *, boilerplate: bool = False
) -> Iterator[RowInsert]:
    act = SPEECH_ACTS.index(classify(new.text, boilerplate=boilerplate))
    analysed = analysed_passages(new.title, new.text)
    for number, (titled, terms) in enumerate(analysed, position * PASSAGES_MAX):
        digest = sha256(titled.encode()).digest()
        length = (
            terms.count(" ") + 1 - terms.count(LANGUAGE_MARK)
        )  # a word in two languages is one word
        row = (number, position, new.item_id, follows, terms, length, act, digest)
        yield "INSERT INTO memory_passages VALUES (?, ?, ?, ?, ?, ?, ?, ?)", row
        follows = ""
    if closes_group(position):
        yield INDEX_PENDING_SQL, ((position + 1) * PASSAGES_MAX,)
