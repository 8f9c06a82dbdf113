"""Where each term stands: rows of the roster and how often, read from the index once and kept.

The index on disk is SQLite's; here are only the lists of terms that were asked for, and the terms
of passages that it did not hold when they were read. Who may see a row is not known here.
"""

import threading
from collections import Counter, OrderedDict
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.indexing import WAITING, indexed_upto
from everloop.memory.roster import Roster
from everloop.memory.rows import Rows

KEPT_ROWS_MAX = 8_000_000  # of all lists together
RECENT_MAX = 10_000  # passages whose terms are held in memory, before the lists are read anew

_LIST = "SELECT group_concat(doc) FROM memory_words_terms WHERE term = ?"
_RECENT = "SELECT passage, terms FROM memory_passages WHERE passage > ? ORDER BY passage"


class Posting(NamedTuple):
    """The rows that hold a term, in order, and how often each does."""

    rows: Rows
    counts: NDArray[np.float64]


NOWHERE = Posting(np.empty(0, np.int64), np.empty(0))


class Postings:
    """The lists of one log. A cache: dropping it changes nothing but time."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin(Roster())

    def of(self, reader: Reader, roster: Roster, head: int, terms: Sequence[str]) -> list[Posting]:
        """Where each term stands, in every passage up to the reader's newest position, `head`.

        Passages that came later may be in the lists as well.
        """
        with self._lock:
            self._refresh(reader, roster)
            return [self._of(reader, head, term) for term in terms]

    def _of(self, reader: Reader, head: int, term: str) -> Posting:
        listed = self._listed.get(term)
        if listed is None:
            listed = self._read(reader, term)
            if head >= self._head:
                self._keep(term, listed)
            else:  # it lacks what this reader cannot see yet, and perhaps what it sees waiting
                listed = _joined(listed, self._waiting(reader, term))
        else:
            self._listed.move_to_end(term)
        recent = self._recent.get(term)
        if recent is None:
            return listed
        rows, counts = recent
        return _joined(listed, Posting(np.array(rows, np.int64), np.array(counts, np.float64)))

    def _begin(self, roster: Roster, upto: int = -1) -> None:
        self._roster = roster
        # Rows read from the lists (those up to the passage `upto`), and rows known in all.
        self._base = self._size = int(np.searchsorted(roster.passage.all, upto, "right")) or 1
        self._head = roster.head  # after its rows: they may reach further by now, not less far
        self._listed: OrderedDict[str, Posting] = OrderedDict()
        self._recent: dict[str, tuple[list[int], list[int]]] = {}  # rows, and how often in each
        self._kept = 0

    def _refresh(self, reader: Reader, roster: Roster) -> None:
        """Take in the terms of passages that came since."""
        size = len(roster)
        if roster is not self._roster or size - self._base > RECENT_MAX:
            self._begin(roster, indexed_upto(reader))
        if size == self._size:
            return
        passages: Rows = roster.passage.all
        after: int = passages.item(self._size - 1)
        new = reader.rows(_RECENT, (after,))
        numbers = np.array([passage for passage, _ in new], np.int64)
        rows: list[int] = np.searchsorted(passages, numbers).tolist()
        for row, (passage, terms) in zip(rows, new, strict=True):
            if row < size and passages[row] == passage:
                for term, count in Counter[str](terms.split(" ")).items():
                    held = self._recent.setdefault(term, ([], []))
                    held[0].append(row)
                    held[1].append(count)
                self._size = row + 1

    def _read(self, reader: Reader, term: str) -> Posting:
        text: str | None = reader.rows(_LIST, (term,))[0][0]
        if not text:
            return NOWHERE
        passages = self._roster.passage.all[: self._base]
        wanted = np.fromstring(text, np.int64, sep=",")
        rows = np.searchsorted(passages, wanted)
        rows = rows[rows < len(passages)]
        return _counted(rows[passages[rows] == wanted[: len(rows)]])

    def _waiting(self, reader: Reader, term: str) -> Posting:
        """Where a term stands in what is not in the index yet, as far as the lists should reach."""
        passages = self._roster.passage.all[: self._base]
        found = [(number, terms.split(" ").count(term)) for number, terms in reader.rows(WAITING)]
        rows = np.searchsorted(passages, np.array([number for number, _ in found], np.int64))
        held = [
            (row, count)
            for row, (number, count) in zip(rows.tolist(), found, strict=True)
            if count and row < len(passages) and passages[row] == number
        ]
        return Posting(
            np.array([row for row, _ in held], np.int64),
            np.array([count for _, count in held], np.float64),
        )

    def _keep(self, term: str, posting: Posting) -> None:
        self._listed[term] = posting
        self._kept += len(posting.rows)
        while self._kept > KEPT_ROWS_MAX and len(self._listed) > 1:
            self._kept -= len(self._listed.popitem(last=False)[1].rows)


def _counted(rows: Rows) -> Posting:
    """Rows with repetitions, in order, as rows and counts."""
    if not len(rows):
        return NOWHERE
    bounds = np.flatnonzero(np.concatenate(([True], rows[1:] != rows[:-1], [True])))
    return Posting(rows[bounds[:-1]], (bounds[1:] - bounds[:-1]).astype(np.float64))


def _joined(first: Posting, then: Posting) -> Posting:
    return Posting(
        np.concatenate((first.rows, then.rows)), np.concatenate((first.counts, then.counts))
    )
