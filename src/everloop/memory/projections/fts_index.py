"""Which passages the index of words holds, and which it will: it takes them in by the group.

An index that is written with every commit costs more than all else that an item costs. So passages
wait, with their terms, until a group of them is closed; who looks for words looks among those that
wait as well. Which group a passage falls into is decided by its position alone.
"""

from collections.abc import Sequence
from typing import Final

from everloop.log import Reader

GROUP: Final = 256  # facts in a group, on average

_GOLDEN, _MASK = 2_654_435_769, 2**32 - 1
_AFTER = "passage > (SELECT ifnull(max(id), -1) FROM memory_words_docsize)"
WAITING: Final = f"SELECT passage, terms FROM memory_passages WHERE {_AFTER} ORDER BY passage"  # noqa: S608
TAKE_IN: Final = f"""
INSERT INTO memory_words (rowid, terms)
SELECT passage, terms FROM memory_passages WHERE {_AFTER} AND passage < ? ORDER BY passage
"""  # noqa: S608 - our own condition; puts what waits before a passage into the index
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


def closes_group(position: int) -> bool:
    """Whether a fact is the last of its group.

    Evenly spread, by the golden ratio, so that no rhythm in which facts come misses it for long.
    """
    return (position * _GOLDEN & _MASK) < _MASK // GROUP


def indexed_upto(reader: Reader) -> int:
    """The newest passage that the index holds; -1 if it holds none."""
    upto: int = reader.rows(_INDEXED)[0][0]
    return upto


def passages_holding(reader: Reader, words: Sequence[str], limit: int) -> list[int]:
    """The oldest passages that hold these words one after the other, whoever may see them."""
    return [row[0] for row in reader.rows(_HOLDING, (" ".join(words), limit))]


def vocabulary(reader: Reader) -> set[str]:
    """Every term of every passage, in the index or on its way there, whoever may see it."""
    reader.db.execute(_VOCABULARY)
    found = {term for (term,) in reader.rows("SELECT term FROM temp.memory_vocabulary")}
    reader.db.execute("DROP TABLE temp.memory_vocabulary")
    return found.union(*(terms.split(" ") for _, terms in reader.rows(WAITING)))
