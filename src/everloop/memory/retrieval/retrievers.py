"""The two retrievers of hybrid search: keywords (BM25) and meaning (vectors).

Each scores visible passages only. Hidden passages are excluded before anything is counted: document
frequencies, average length and neighbours come from visible rows alone, so a ranking reveals
nothing about what is hidden.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.bm25 import TermMatch, score_terms
from everloop.memory.index.postings import PostingList
from everloop.memory.index.quantisation import Floats, largest_indices
from everloop.memory.index.row_sets import Rows, descending_order, distinct_rows, mask_rows
from everloop.memory.index.search_view import SearchView, TermSource
from everloop.memory.index.vector_index import VectorIndex
from everloop.memory.text.analysis import (
    MATCHED_ROWS_MAX,
    TERMS_MAX,
    detect_question_languages,
    keep_rarest_terms,
    name_terms,
    parse_question,
    words_with_terms,
)
from everloop.memory.text.language import Languages

POOL = 200  # best hits that a retriever returns
PHRASE_MAX = 2_000  # passages read to check for a phrase
BACKGROUND_MAX = 0.95  # cosine that texts may have in common without being alike
SORTED_MAX = 1_500  # scores that are sorted at once; of more, the best are selected first

_TERMS = """
SELECT p.passage, p.terms FROM json_each(?) j JOIN memory_passages p ON p.passage = j.value
"""


NO_FIT: NDArray[np.float64] = np.empty(0)


class RetrieverHits(NamedTuple):
    """The hits of a retriever: rows, best first, with scores and similarities from 0 to 1."""

    rows: Rows
    scores: NDArray[np.float64]
    similarity: NDArray[np.float64]
    guessed: tuple[str, ...] = ()  # terms without a match, replaced by spelling corrections
    floor: float | None = None  # the score of a hit without evidence; if None, that of the last
    fit: NDArray[np.float64] = NO_FIT  # what each hit has by itself, up to 1
    fit_elsewhere: float = 0.0  # at most what a row has that is no hit

    def filter_similarity(self, least: float) -> "RetrieverHits":
        """The hits that are similar enough."""
        if least <= 0:
            return self
        good = self.similarity >= least
        return self._replace(
            rows=self.rows[good],
            scores=self.scores[good],
            similarity=self.similarity[good],
            fit=self.fit[good],
        )


NO_HITS = RetrieverHits(np.empty(0, np.int64), np.empty(0), np.empty(0))


def search_keywords(view: SearchView, text: str, source: TermSource) -> RetrieverHits:
    """Search by keywords: the passages that match a question's terms and phrases, by BM25."""
    languages = _languages(view, text, source)
    asked = parse_question(text, languages)
    terms: Sequence[str] = asked.terms
    sizes = view.match_counts(terms, source)
    none = [term for term, size in zip(terms, sizes, strict=True) if not size]
    if len(sizes) > TERMS_MAX or sum(sizes) > MATCHED_ROWS_MAX:
        wanted = keep_rarest_terms(asked, dict(zip(terms, sizes, strict=True))).terms
        # A term without a match counts as much as one that only hidden items contain; one that is
        # too common to be searched for counts nothing.
        terms = [term for term in terms if term in none or term in wanted]
    # Of an identifier the parts are searched for as well: the whole is no word of the question.
    misspelt = [term for term in none[:TERMS_MAX] if words_with_terms((term,), text)]
    corrections = view.corrections(misspelt, source) if misspelt else {}
    if corrections:
        terms = [term for term in terms if term not in corrections]
    matches = [*view.matches(terms, source), *chain(*corrections.values())]
    if asked.phrases:
        phrases = [_find_phrase(source, view, phrase) for phrase in asked.phrases]
        matches += score_terms(view, phrases)
    names = name_terms(tuple(terms), text, languages)
    naming = [term in names for term in terms]
    naming += [False] * (len(matches) - len(naming))
    found = _sum_scores(view, matches, naming)
    return found._replace(guessed=tuple(corrections)) if corrections else found


def _languages(view: SearchView, text: str, source: TermSource) -> Languages:
    """The languages of a question, or if they are unclear all of the view."""
    languages = detect_question_languages(text)
    return view.languages(source) if languages is None else languages


def search_vectors(
    view: SearchView, space: VectorIndex, query: Floats, also: Rows = NO_HITS.rows
) -> RetrieverHits:
    """Search by meaning: the passages with the nearest vectors, each mixed with the one before.

    The rows of `also` are among the hits however far away they are; far away, they are no evidence.
    """
    look = space.query(query)
    nearest = look.nearest(POOL, view)
    near = distinct_rows(view.size, nearest, view.after(nearest))[1:]
    rows, cosines, alone = look.cosines(near, view)
    floor = float(cosines.min()) if len(cosines) else None
    if len(also):
        rows, cosines, alone = look.cosines(distinct_rows(view.size, near, also)[1:], view)
    best = descending_order(cosines)
    scores = cosines.take(best).astype(np.float64)
    background = min(look.background(view), BACKGROUND_MAX)
    own = np.maximum(alone, cosines).take(best).astype(np.float64)
    fit = (own - background) / (1.0 - background)
    least = ((floor or 0.0) - background) / (1.0 - background)
    return RetrieverHits(
        rows.take(best), scores, _clamp(scores), floor=floor, fit=fit, fit_elsewhere=least
    )


def _clamp(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores, highest first, as similarities from 0 to 1."""
    if len(scores) and scores.item(0) <= 1 and scores.item(-1) >= 0:  # as nearly always
        return scores
    return np.minimum(np.maximum(scores, 0.0), 1.0)


def _sum_scores(
    view: SearchView, matches: Sequence[TermMatch], naming: Sequence[bool]
) -> RetrieverHits:
    """Add up the BM25 scores of several terms; similarity is the share of term weight matched.

    `naming` says which terms are names. A name alone says nothing about what is asked of it.
    """
    sizes = [len(match.rows) for match in matches]
    if not any(sizes):
        return NO_HITS
    rows_by_term, scores_by_term, weights = zip(*matches, strict=True)
    rows, at = _row_index(view, np.concatenate(rows_by_term))
    scores: Any = np.bincount(at, np.concatenate(scores_by_term))
    best = _best_indices(scores, min(POOL, int(np.count_nonzero(scores))))
    coverage = _coverage(at, np.array(weights), sizes).take(best)
    topical = coverage
    if any(naming) and not all(naming):
        others = np.where(naming, 0.0, weights)
        topical = coverage * _coverage(at, others, sizes).take(best)
    return RetrieverHits(rows.take(best), scores.take(best), coverage, fit=topical)


def _coverage(at: Rows, weights: NDArray[np.float64], sizes: Sequence[int]) -> Any:
    """The share of the weight of all terms that each row matches."""
    return np.bincount(at, weights.repeat(sizes)) / weights.sum()


def _row_index(view: SearchView, every: Rows) -> tuple[Rows, Rows]:
    """Distinct rows, and the index of each of `every` among them; all rows if there are few."""
    if view.precomputed:
        return view.rows, every
    there = np.zeros(view.size, np.bool_)
    there[every] = True
    rows: Rows = there.nonzero()[0]
    places = np.empty(view.size, np.int64)  # only entries at these rows are ever read
    places[rows] = np.arange(len(rows))
    return rows, places.take(every)


def _find_phrase(source: TermSource, view: SearchView, phrase: Sequence[str]) -> PostingList:
    """The posting list of a phrase, checked among the passages that contain all its words."""
    first, *others = source.lookup(phrase)
    rows = first.rows[mask_rows(first.rows, view.allowed)]
    for posting in others:
        rows = np.intersect1d(rows, posting.rows, assume_unique=True)
    passages = view.table.passage.all[rows[:PHRASE_MAX]].tolist()
    wanted = msgspec.json.encode(passages).decode()
    texts: dict[int, str] = dict(source.reader.rows(_TERMS, (wanted,)))
    words = " ".join(phrase)
    counts = np.array([_occurrences(texts.get(number, ""), words) for number in passages])
    found = np.flatnonzero(counts)
    return PostingList(rows[found], counts[found].astype(np.float64))


def _occurrences(terms: str, phrase: str) -> int:
    """How often a phrase occurs in a text of terms; adjacent ones share the space between them."""
    text, needle = f" {terms} ", f" {phrase} "
    count, start = 0, text.find(needle)
    while start >= 0:
        count += 1
        start = text.find(needle, start + len(needle) - 1)
    return count


def _best_indices(scores: NDArray[np.float64], count: int) -> Rows:
    """The indices of the highest scores, best first; among equals the older passage is first."""
    if len(scores) <= SORTED_MAX:
        return descending_order(scores)[:count]
    best = largest_indices(scores, count)
    return best[descending_order(scores[best])][:count]
