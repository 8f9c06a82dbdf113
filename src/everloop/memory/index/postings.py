"""Posting lists: for each term the rows of the passage table that contain it, and how often.

The inverted index on disk is SQLite's FTS5. Cached here are the posting lists of terms that were
searched for, and the terms of passages that were not indexed yet when a list was read. Knows
nothing about visibility: callers apply the mask.
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
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.row_sets import Rows
from everloop.memory.projections.fts_index import (
    PENDING_PASSAGES_SQL,
    newest_indexed_passage,
    vocabulary,
)
from everloop.memory.text.analysis import ALTERNATIVE
from everloop.memory.text.spelling import SpellingIndex

CACHED_ROWS_MAX = 8_000_000  # of all posting lists together
RECENT_MAX = 10_000  # passages whose terms are kept in memory, before the lists are read again

_LISTS = """
SELECT (SELECT group_concat(doc) FROM memory_words_terms WHERE term = j.value)
FROM json_each(?) j ORDER BY j.key
"""
_RECENT = "SELECT passage, terms FROM memory_passages WHERE passage > ? ORDER BY passage"


class PostingList(NamedTuple):
    """The posting list of a term: the rows that contain it, in order, and how often each does."""

    rows: Rows
    counts: NDArray[np.float64]


Recent = tuple["array[int]", "array[float]"]  # rows, and how often a term occurs in each

_TRUE = np.array([True])
EMPTY_POSTING_LIST = PostingList(np.empty(0, np.int64), np.empty(0))


class PostingListCache:
    """Cache of the posting lists of one log. Dropping it costs only time."""

    _spelling: SpellingIndex | None  # of the terms in the index, built on first use
    _recent_spelling: tuple[int, SpellingIndex]  # of so many terms of recent passages

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._reset(PassageColumns())

    def lookup(
        self, reader: Reader, table: PassageColumns, head: int, terms: Sequence[str]
    ) -> list[PostingList]:
        """The posting list of each term, complete up to the reader's newest position, `head`.

        Alternatives joined by `EITHER` give one merged list. Later passages may be in the lists as
        well.
        """
        with self._lock:
            self._refresh(reader, table)
            every = [one for term in terms for one in term.split(ALTERNATIVE)]
            lists = self._cached_lists(reader, head, every)
            whole = {one: self._complete_list(one, lists) for one in every}
            return [_union([whole[one] for one in term.split(ALTERNATIVE)]) for term in terms]

    def similar_terms(
        self, reader: Reader, table: PassageColumns, head: int, term: str
    ) -> list[str]:
        """The terms that are spelt nearly like one, visible to the asker or not."""
        with self._lock:
            self._refresh(reader, table)
            listed = self._spelling
            if listed is None:
                listed = SpellingIndex(vocabulary(reader))
                if head >= self._head:  # else it may lack what others see
                    self._spelling = listed
            if self._recent_spelling[0] < len(self._recent):
                self._recent_spelling = len(self._recent), SpellingIndex(self._recent)
            return list(
                dict.fromkeys(
                    listed.similar_words(term) + self._recent_spelling[1].similar_words(term)
                )
            )

    def _complete_list(self, term: str, lists: Mapping[str, PostingList]) -> PostingList:
        """The posting list of a term, from the index and from recent passages."""
        recent = self._recent.get(term)
        if recent is None:
            return lists[term]
        rows, counts = recent
        return _concatenate(
            lists[term], PostingList(np.frombuffer(rows, np.int64), np.frombuffer(counts))
        )

    def _cached_lists(
        self, reader: Reader, head: int, terms: Sequence[str]
    ) -> Mapping[str, PostingList]:
        """The posting lists of terms from the index. Those that are not cached are read at once."""
        listed = self._by_term
        missing = [term for term in dict.fromkeys(terms) if term not in listed]
        if not missing:
            for term in terms:
                listed.move_to_end(term)
            return listed
        found = dict(zip(missing, self._read_lists(reader, missing), strict=True))
        if head < self._head:  # an older state, in which passages may still wait to be indexed
            found = {t: _concatenate(one, self._unindexed(reader, t)) for t, one in found.items()}
        known = found | {term: listed[term] for term in terms if term in listed}
        if head >= self._head:
            self._cache(known)
        return known

    def _reset(self, table: PassageColumns, upto: int = -1) -> None:
        self._table = table
        # Rows covered by the lists (those up to the passage `upto`), and rows known in all.
        self._base = self._size = int(np.searchsorted(table.passage.all, upto, "right")) or 1
        self._head = table.head  # read after the rows, so it is never older than they are
        self._by_term: OrderedDict[str, PostingList] = OrderedDict()
        self._recent: dict[str, Recent] = {}
        self._cached_rows = 0
        self._spelling, self._recent_spelling = None, (0, SpellingIndex(()))

    def _refresh(self, reader: Reader, table: PassageColumns) -> None:
        """Add the terms of passages that were recorded since."""
        size = len(table)
        if table is not self._table or size - self._base > RECENT_MAX:
            self._reset(table, newest_indexed_passage(reader))
        if size == self._size:
            return
        passages: Rows = table.passage.all
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

    def _read_lists(self, reader: Reader, terms: Sequence[str]) -> Iterator[PostingList]:
        """The posting lists of these terms, read from the index."""
        wanted = msgspec.json.encode(terms).decode()
        texts = [text or "" for (text,) in reader.rows(_LISTS, (wanted,))]
        sizes = [text.count(",") + 1 if text else 0 for text in texts]
        numbers = np.fromstring(",".join(filter(None, texts)), np.int64, sep=",")
        passages: Rows = self._table.passage.all[: self._base]
        every = passages.searchsorted(numbers)
        there = passages.take(every, mode="clip") == numbers
        whole = bool(there.all())
        again = every[1:] == every[:-1]  # within a term, or where one ends and the next begins
        start = 0
        for size in sizes:
            end = start + size
            # Each a copy: an evicted list must not be kept alive by those read with it.
            rows = every[start:end].copy() if whole else every[start:end][there[start:end]]
            alone = whole and not again[start : end - 1].any()
            yield PostingList(rows, np.ones(size)) if alone else _count_rows(rows)
            start = end

    def _unindexed(self, reader: Reader, term: str) -> PostingList:
        """The posting list of a term in passages that wait to be indexed, as far as lists reach."""
        passages = self._table.passage.all[: self._base]
        found = [
            (number, terms.split(" ").count(term))
            for number, terms in reader.rows(PENDING_PASSAGES_SQL)
        ]
        rows = np.searchsorted(passages, np.array([number for number, _ in found], np.int64))
        held = [
            (row, count)
            for row, (number, count) in zip(rows.tolist(), found, strict=True)
            if count and row < len(passages) and passages[row] == number
        ]
        return PostingList(
            np.array([row for row, _ in held], np.int64),
            np.array([count for _, count in held], np.float64),
        )

    def _cache(self, found: Mapping[str, PostingList]) -> None:
        """Cache posting lists; evict the least recently used ones when there is no room."""
        for term, posting in found.items():
            if term not in self._by_term:
                self._cached_rows += len(posting.rows)
            self._by_term[term] = posting
            self._by_term.move_to_end(term)
        while self._cached_rows > CACHED_ROWS_MAX and len(self._by_term) > len(found):
            self._cached_rows -= len(self._by_term.popitem(last=False)[1].rows)


def _count_rows(rows: Rows) -> PostingList:
    """Sorted rows with repetitions, as distinct rows and counts."""
    new = rows[1:] != rows[:-1]
    if new.all():  # as rare terms do, it occurs once per row
        return PostingList(rows, np.ones(len(rows)))
    starts = np.concatenate((_TRUE, new)).nonzero()[0]
    counts = np.diff(starts, append=len(rows))
    return PostingList(rows[starts], counts.astype(np.float64))


def _union(postings: Sequence[PostingList]) -> PostingList:
    """The union of several posting lists; the count of a row is the highest of its counts."""
    if len(postings) == 1:
        return postings[0]
    rows = np.concatenate([posting.rows for posting in postings])
    if not len(rows):
        return EMPTY_POSTING_LIST
    counts = np.concatenate([posting.counts for posting in postings])
    order = np.argsort(rows, kind="stable")
    rows, starts = np.unique(rows[order], return_index=True)
    return PostingList(rows, np.maximum.reduceat(counts[order], starts))


def _concatenate(first: PostingList, then: PostingList) -> PostingList:
    return PostingList(
        np.concatenate((first.rows, then.rows)), np.concatenate((first.counts, then.counts))
    )
