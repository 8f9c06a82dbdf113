"""Where each term stands: rows of the roster and how often, read from the index once and kept.

The index on disk is SQLite's; here are only the lists of terms that were asked for, and the terms
of passages that it did not hold when they were read. Who may see a row is not known here.
"""

import threading
from array import array
from collections import Counter, OrderedDict
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.index.passage_table import Roster
from everloop.memory.index.row_sets import Rows
from everloop.memory.projections.fts_index import WAITING, indexed_upto, vocabulary
from everloop.memory.text.analysis import EITHER
from everloop.memory.text.spelling import Spelling

KEPT_ROWS_MAX = 8_000_000  # of all lists together
RECENT_MAX = 10_000  # passages whose terms are held in memory, before the lists are read anew

_LISTS = """
SELECT (SELECT group_concat(doc) FROM memory_words_terms WHERE term = j.value)
FROM json_each(?) j ORDER BY j.key
"""
_RECENT = "SELECT passage, terms FROM memory_passages WHERE passage > ? ORDER BY passage"


class Posting(NamedTuple):
    """The rows that hold a term, in order, and how often each does."""

    rows: Rows
    counts: NDArray[np.float64]


Recent = tuple["array[int]", "array[float]"]  # rows, and how often a term stands in each

_FIRST = np.array([True])
NOWHERE = Posting(np.empty(0, np.int64), np.empty(0))


class Postings:
    """The lists of one log. A cache: dropping it changes nothing but time."""

    _spelling: Spelling | None  # of the lists' terms, once somebody asks
    _newly: tuple[int, Spelling]  # of so many terms of what came since

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._begin(Roster())

    def of(self, reader: Reader, roster: Roster, head: int, terms: Sequence[str]) -> list[Posting]:
        """Where each term stands, in every passage up to the reader's newest position, `head`.

        Of several terms any of which will do, where one of them stands. Passages that came later
        may be in the lists as well.
        """
        with self._lock:
            self._refresh(reader, roster)
            every = [one for term in terms for one in term.split(EITHER)]
            lists = self._lists(reader, head, every)
            whole = {one: self._whole(one, lists) for one in every}
            return [_either([whole[one] for one in term.split(EITHER)]) for term in terms]

    def near(self, reader: Reader, roster: Roster, head: int, term: str) -> list[str]:
        """The terms that are spelt nearly like one, whoever may see where they stand."""
        with self._lock:
            self._refresh(reader, roster)
            listed = self._spelling
            if listed is None:
                listed = Spelling(vocabulary(reader))
                if head >= self._head:  # else it may lack what others see
                    self._spelling = listed
            if self._newly[0] < len(self._recent):
                self._newly = len(self._recent), Spelling(self._recent)
            return list(dict.fromkeys(listed.near(term) + self._newly[1].near(term)))

    def _whole(self, term: str, lists: Mapping[str, Posting]) -> Posting:
        """Where a term stands, in the lists and in what came since."""
        recent = self._recent.get(term)
        if recent is None:
            return lists[term]
        rows, counts = recent
        return _joined(lists[term], Posting(np.frombuffer(rows, np.int64), np.frombuffer(counts)))

    def _lists(self, reader: Reader, head: int, terms: Sequence[str]) -> Mapping[str, Posting]:
        """The lists of terms. Those that are not known are read, all at once."""
        listed = self._listed
        missing = [term for term in dict.fromkeys(terms) if term not in listed]
        if not missing:
            for term in terms:
                listed.move_to_end(term)
            return listed
        found = dict(zip(missing, self._read(reader, missing), strict=True))
        if head < self._head:  # they lack what this reader cannot see, perhaps what it sees wait
            found = {t: _joined(one, self._waiting(reader, t)) for t, one in found.items()}
        known = found | {term: listed[term] for term in terms if term in listed}
        if head >= self._head:
            self._keep(known)
        return known

    def _begin(self, roster: Roster, upto: int = -1) -> None:
        self._roster = roster
        # Rows read from the lists (those up to the passage `upto`), and rows known in all.
        self._base = self._size = int(np.searchsorted(roster.passage.all, upto, "right")) or 1
        self._head = roster.head  # after its rows: they may reach further by now, not less far
        self._listed: OrderedDict[str, Posting] = OrderedDict()
        self._recent: dict[str, Recent] = {}
        self._kept = 0
        self._spelling, self._newly = None, (0, Spelling(()))

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
                    held = self._recent.setdefault(term, (array("q"), array("d")))
                    held[0].append(row)
                    held[1].append(count)
                self._size = row + 1

    def _read(self, reader: Reader, terms: Sequence[str]) -> Iterator[Posting]:
        """The lists of these terms, as the index has them."""
        wanted = msgspec.json.encode(terms).decode()
        texts = [text or "" for (text,) in reader.rows(_LISTS, (wanted,))]
        sizes = [text.count(",") + 1 if text else 0 for text in texts]
        numbers = np.fromstring(",".join(filter(None, texts)), np.int64, sep=",")
        passages: Rows = self._roster.passage.all[: self._base]
        every = passages.searchsorted(numbers)
        there = passages.take(every, mode="clip") == numbers
        whole = bool(there.all())
        again = every[1:] == every[:-1]  # within a term, or where one ends and the next begins
        start = 0
        for size in sizes:
            end = start + size
            # Each a copy: a list that is forgotten must not be held by those read with it.
            rows = every[start:end].copy() if whole else every[start:end][there[start:end]]
            alone = whole and not again[start : end - 1].any()
            yield Posting(rows, np.ones(size)) if alone else _counted(rows)
            start = end

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

    def _keep(self, found: Mapping[str, Posting]) -> None:
        """Keep lists, the last ones asked for last, as long as there is room."""
        for term, posting in found.items():
            if term not in self._listed:
                self._kept += len(posting.rows)
            self._listed[term] = posting
            self._listed.move_to_end(term)
        while self._kept > KEPT_ROWS_MAX and len(self._listed) > len(found):
            self._kept -= len(self._listed.popitem(last=False)[1].rows)


def _counted(rows: Rows) -> Posting:
    """Rows with repetitions, in order, as rows and counts."""
    new = rows[1:] != rows[:-1]
    if new.all():  # as rare terms do, each stands once where it stands
        return Posting(rows, np.ones(len(rows)))
    starts = np.concatenate((_FIRST, new)).nonzero()[0]
    counts = np.diff(starts, append=len(rows))
    return Posting(rows[starts], counts.astype(np.float64))


def _either(postings: Sequence[Posting]) -> Posting:
    """Where any of several terms stands, and how often the one does that stands there most."""
    if len(postings) == 1:
        return postings[0]
    rows = np.concatenate([posting.rows for posting in postings])
    if not len(rows):
        return NOWHERE
    counts = np.concatenate([posting.counts for posting in postings])
    order = np.argsort(rows, kind="stable")
    rows, starts = np.unique(rows[order], return_index=True)
    return Posting(rows, np.maximum.reduceat(counts[order], starts))


def _joined(first: Posting, then: Posting) -> Posting:
    return Posting(
        np.concatenate((first.rows, then.rows)), np.concatenate((first.counts, then.counts))
    )
