"""Search view: what one asker may see through one filter, with the caches that searching fills.

A view owns everything that is computed for it: BM25 matches of terms, document frequencies,
spelling corrections, the languages spoken, the visible vectors. All of it derives from the visible
rows alone, so it stays true as long as the view does; dropping it costs only time. Knows neither
the asker nor the filter, only the visibility mask that they lead to.
"""

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.index.bm25 import Lookup, TermMatch, count_visible, score_terms
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.quantisation import Floats
from everloop.memory.index.row_sets import NO_ROW, Mask, Rows, mask_rows
from everloop.memory.index.visible_rows import VisibleRows
from everloop.memory.text.analysis import ALTERNATIVE, MATCHED_ROWS_MAX, STOP_STEMS
from everloop.memory.text.language import LANGUAGE_MARK, LANGUAGES, Languages
from everloop.memory.text.spelling import may_be_misspelt

CACHED_ROWS_MAX = 2_000_000  # of all matches of all views together; each row takes 16 bytes
CORRECTIONS_MAX = 3  # terms that one may be a misspelling of
HIDDEN = 255  # more than any sign distance, so a hidden vector is never a candidate

Correction = tuple[TermMatch, TermMatch] | tuple[()]
Norms = Callable[[Rows, Rows, NDArray[Any]], Floats]

_LANGUAGE_TERMS = [LANGUAGE_MARK + code for code in LANGUAGES]


class TermSource(NamedTuple):
    """Where a view looks up terms."""

    reader: Reader
    lookup: Lookup  # posting lists of terms
    similar: Callable[[str], Sequence[str]]  # the terms that are spelt nearly like one
    cache_limit: "TermCacheLimit"


class VectorArrays(NamedTuple):
    """The arrays of a vector index, as one query sees them. Place 0 is a missing vector."""

    rows: Rows  # row in the passage table, by place
    places: Rows  # place, by row in the passage table
    vectors: NDArray[Any]  # float32, or the upper halves of the numbers as uint16
    signs: NDArray[np.uint64]  # one bit per dimension, a row for each word of 64
    middle: Floats  # the mean that signs are relative to; empty where search is exact
    mixed_norms: Norms  # norms of vectors, each mixed with that of the passage before


@dataclass(slots=True)
class VisibleVectors:
    """The vectors that a view may see, valid until the vector index changes."""

    index_rows: Rows  # the `VectorArrays.rows` they were made from
    places: Rows
    rows: Rows  # of these places
    hidden: NDArray[np.uint8]  # by place: HIDDEN where it may not be seen, else 0
    before: tuple[Rows, Floats] | None = None  # by row: place of the passage before; mixed norm
    sample: tuple[NDArray[np.float64], int] | None = None  # the sum of some vectors, and how many


@dataclass(slots=True)
class _TermCache:
    counts: dict[str, int] = field(default_factory=dict[str, int])
    matches: dict[str, TermMatch] = field(default_factory=dict[str, TermMatch])
    corrections: dict[str, Correction] = field(default_factory=dict[str, Correction])
    rows: int = 0  # of all matches together, roughly


class SearchView(VisibleRows):
    """The visible rows of one asker and filter, and everything search has computed for them."""

    def __init__(
        self,
        table: PassageColumns,
        allowed: Mask,
        *,
        item_count: int = 0,
        split_items: bool = False,
    ) -> None:
        super().__init__(table, allowed, item_count=item_count, split_items=split_items)
        self._terms = _TermCache()
        self._languages: Languages | None = None
        self._vectors: VisibleVectors | None = None
        self._by_act: dict[int, Rows] = {}

    def told_rows(self, act: int) -> Rows:
        """The visible rows with this speech act that no model said, oldest first."""
        found = self._by_act.get(act)
        if found is None:
            size = self.size - 1  # the last one stands for all later rows
            told = self.allowed[:size] & (self.table.act.all[:size] == act)
            told &= ~self.table.answered.all[:size]
            told[NO_ROW] = False
            found = self._by_act[act] = told.nonzero()[0]
        return found

    def match_counts(self, terms: Sequence[str], source: TermSource) -> list[int]:
        """How many visible rows contain each of these terms themselves."""
        known = self._terms.counts
        missing = [term for term in terms if term not in known]
        if missing:
            counts = count_visible(self, source.lookup(missing))
            known = self._terms.counts = known | dict(zip(missing, counts, strict=True))
        return [known[term] for term in terms]

    def matches(self, terms: Sequence[str], source: TermSource) -> list[TermMatch]:
        """The visible rows that match each of these terms, with their BM25 scores."""
        known = self._terms.matches
        missing = [term for term in terms if term not in known]
        if missing:
            found = score_terms(self, source.lookup(missing))
            source.cache_limit.enforce(self)
            known = {term: known[term] for term in terms if term in known}
            known |= dict(zip(missing, found, strict=True))
            cache = self._terms
            cache.matches.update(known)
            cache.rows += sum(len(match.rows) for match in found)
        return [known[term] for term in terms]

    def corrections(self, terms: Sequence[str], source: TermSource) -> dict[str, Correction]:
        """Matches of terms that are spelt nearly like those that no visible row contains.

        A typing error should not hide what was meant. Only visible rows count, so a hidden passage
        suggests no correction.
        """
        known = self._terms.corrections
        for term in terms:
            if term not in known:
                known[term] = self._correct(term, source)
        return {term: found for term in terms if (found := known[term])}

    def languages(self, source: TermSource) -> Languages:
        """The languages besides English in which visible rows are written."""
        if self._languages is None:
            counts = self.match_counts(_LANGUAGE_TERMS, source)
            both = zip(LANGUAGES, counts, strict=True)
            self._languages = tuple(code for code, count in both if count)
        return self._languages

    def vectors(self, index_rows: Rows) -> VisibleVectors:
        """The visible vectors of a vector index with these rows."""
        known = self._vectors
        if known is None or known.index_rows is not index_rows:
            good = mask_rows(index_rows, self.allowed)
            good[NO_ROW] = False
            places: Rows = good.nonzero()[0]
            hidden = np.where(good, np.uint8(0), np.uint8(HIDDEN))
            known = VisibleVectors(index_rows, places, index_rows.take(places), hidden)
            self._vectors = known
        return known

    def vectors_before(self, arrays: VectorArrays, rows: Rows, at: Rows) -> tuple[Rows, Floats]:
        """The places of the vectors that lead rows, which are at `at`, and their mixed norms."""
        if not self.precomputed:
            return self._vectors_before(arrays, rows, at)
        visible = self.vectors(arrays.rows)
        if visible.before is None:  # for all rows at once
            every = np.arange(self.size - 1)
            visible.before = self._vectors_before(arrays, every, arrays.places.take(every))
        earlier, norms = visible.before
        return earlier.take(rows), norms.take(rows)

    @property
    def cached_rows(self) -> int:
        """How many rows the cached matches have together, roughly."""
        return self._terms.rows

    def drop_terms(self) -> None:
        """Forget what is cached about terms, in favour of a new cache: threads may use the old."""
        self._terms = _TermCache()

    def _correct(self, term: str, source: TermSource) -> Correction:
        word = term.split(ALTERNATIVE)[0]
        near = source.similar(word) if may_be_misspelt(word) else ()
        both = zip(near, self.match_counts(near, source), strict=True)
        fit = [other for other, n in both if 0 < n <= MATCHED_ROWS_MAX and other not in STOP_STEMS]
        if not 0 < len(fit) <= CORRECTIONS_MAX:  # of many, none is likely enough
            return ()
        # A correction counts half of what the term would, had it been asked for; the other half
        # counts as a term that matches nothing.
        (match,) = self.matches([ALTERNATIVE.join(fit)], source)
        half = match.weight / 2
        missing = TermMatch(match.rows[:0], match.scores[:0], half)
        return TermMatch(match.rows, match.scores / 2, half), missing

    def _vectors_before(self, arrays: VectorArrays, rows: Rows, at: Rows) -> tuple[Rows, Floats]:
        earlier = arrays.places.take(self.lead(rows))
        return earlier, arrays.mixed_norms(at, earlier, arrays.vectors)


class TermCacheLimit:
    """Limits how much all search views together keep in memory about terms."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._views = WeakSet[SearchView]()

    def enforce(self, view: SearchView) -> None:
        """Count this view too; if all of them keep too much, drop what every one has cached."""
        with self._lock:
            self._views.add(view)
            if sum(each.cached_rows for each in self._views) > CACHED_ROWS_MAX:
                for each in self._views:
                    each.drop_terms()
