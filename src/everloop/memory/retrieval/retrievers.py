"""The two legs of recall: words and meaning. Each gives scores to passages the asker may see.

What is hidden is left out before anything is counted: how rare a term is, how long passages are,
which item was said before, all of it is made only from what passed. So nothing that is hidden can
be felt in a ranking.
"""

from collections.abc import Sequence
from itertools import chain
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.postings import Posting
from everloop.memory.index.quantisation import Floats, largest
from everloop.memory.index.row_sets import Rows, best_first, distinct, passing
from everloop.memory.index.search_view import SearchView, TermSource
from everloop.memory.index.term_matches import TermMatch, score_terms
from everloop.memory.index.vector_index import VectorSpace
from everloop.memory.text.analysis import (
    ROWS_MAX,
    TERMS_MAX,
    Question,
    question,
    rarest,
    said_as,
    spoken,
)

POOL = 200  # the best that a leg hands on
PHRASE_MAX = 2_000  # passages read to see whether they hold a phrase
SORTED_MAX = 1_500  # scores that are sorted whole; of more, first the best are picked out

_TERMS = """
SELECT p.passage, p.terms FROM json_each(?) j JOIN memory_passages p ON p.passage = j.value
"""


class Found(NamedTuple):
    """What a leg found: rows, best first, with scores and with similarities from 0 to 1."""

    rows: Rows
    scores: NDArray[np.float64]
    similarity: NDArray[np.float64]
    guessed: tuple[str, ...] = ()  # terms that nothing holds, in place of which others were sought

    def above(self, least: float) -> "Found":
        """What is similar enough."""
        if least <= 0:
            return self
        good = self.similarity >= least
        return Found(self.rows[good], self.scores[good], self.similarity[good])


NOTHING = Found(np.empty(0, np.int64), np.empty(0), np.empty(0))


def by_words(view: SearchView, text: str, source: TermSource) -> Found:
    """The passages that fit a question by its words."""
    asked = _asked(view, text, source)
    terms: Sequence[str] = asked.terms
    sizes = view.match_counts(terms, source)
    none = [term for term, size in zip(terms, sizes, strict=True) if not size]
    if len(sizes) > TERMS_MAX or sum(sizes) > ROWS_MAX:
        wanted = rarest(asked, dict(zip(terms, sizes, strict=True))).terms
        # A term that nothing holds weighs as much as one that only hidden items hold; one that is
        # too common to be looked for weighs nothing.
        terms = [term for term in terms if term in none or term in wanted]
    # Of an identifier the parts are looked for as well: as a whole it is no word of the question.
    slips = [term for term in none[:TERMS_MAX] if said_as((term,), text)]
    guesses = view.corrections(slips, source) if slips else {}
    if guesses:
        terms = [term for term in terms if term not in guesses]
    held = [*view.matches(terms, source), *chain(*guesses.values())]
    if asked.phrases:
        stand = [_holding(source, view, phrase) for phrase in asked.phrases]
        held += score_terms(view, stand)
    found = _scored(view, held)
    return found._replace(guessed=tuple(guesses)) if guesses else found


def _asked(view: SearchView, text: str, source: TermSource) -> Question:
    """What a question looks for: in its language, or in all of what it looks at, if none tells."""
    languages = spoken(text)
    if languages is None:
        languages = view.languages(source)
    return question(text, languages)


def by_meaning(view: SearchView, space: VectorSpace, query: Floats) -> Found:
    """The passages nearest in meaning, each taken together with what was said before it."""
    look = space.looking(query)
    nearest = look.nearest(POOL, view)
    rows = distinct(view.size, nearest, view.after(nearest))[1:]
    rows, cosines = look.cosines(rows, view)
    best = best_first(cosines)
    scores = cosines.take(best).astype(np.float64)
    return Found(rows.take(best), scores, _within(scores))


def _within(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Scores, highest first, as similarities from 0 to 1."""
    if len(scores) and scores.item(0) <= 1 and scores.item(-1) >= 0:  # as nearly always
        return scores
    return np.minimum(np.maximum(scores, 0.0), 1.0)


def _scored(view: SearchView, held: Sequence[TermMatch]) -> Found:
    """BM25 over what holds each of several terms."""
    sizes = [len(holding.rows) for holding in held]
    if not any(sizes):
        return NOTHING
    where, gained, worth = zip(*held, strict=True)
    rows, at = _spots(view, np.concatenate(where))
    scores: Any = np.bincount(at, np.concatenate(gained))
    best = _best(scores, min(POOL, int(np.count_nonzero(scores))))
    coverage: Any = np.bincount(at, np.array(worth).repeat(sizes)).take(best)
    coverage /= sum(worth)
    return Found(rows.take(best), scores.take(best), coverage)


def _spots(view: SearchView, every: Rows) -> tuple[Rows, Rows]:
    """Rows in order, and where each of `every` stands there: all rows, unless these are many."""
    if view.precomputed:
        return view.rows, every
    there = np.zeros(view.size, np.bool_)
    there[every] = True
    rows: Rows = there.nonzero()[0]
    places = np.empty(view.size, np.int64)  # what stands at other rows is never looked at
    places[rows] = np.arange(len(rows))
    return rows, places.take(every)


def _holding(source: TermSource, view: SearchView, phrase: Sequence[str]) -> Posting:
    """The passages that hold a phrase, among those that hold all its words."""
    first, *others = source.lookup(phrase)
    rows = first.rows[passing(first.rows, view.allowed)]
    for posting in others:
        rows = np.intersect1d(rows, posting.rows, assume_unique=True)
    passages = view.table.passage.all[rows[:PHRASE_MAX]].tolist()
    wanted = msgspec.json.encode(passages).decode()
    texts: dict[int, str] = dict(source.reader.rows(_TERMS, (wanted,)))
    words = " ".join(phrase)
    counts = np.array([_occurrences(texts.get(number, ""), words) for number in passages])
    found = np.flatnonzero(counts)
    return Posting(rows[found], counts[found].astype(np.float64))


def _occurrences(terms: str, phrase: str) -> int:
    """How often a phrase stands in a row of terms; neighbours share their space."""
    text, needle = f" {terms} ", f" {phrase} "
    count, start = 0, text.find(needle)
    while start >= 0:
        count += 1
        start = text.find(needle, start + len(needle) - 1)
    return count


def _best(scores: NDArray[np.float64], count: int) -> Rows:
    """The places of the highest scores, best first; among equals the older passage is first."""
    if len(scores) <= SORTED_MAX:
        return best_first(scores)[:count]
    best = largest(scores, count)
    return best[best_first(scores[best])][:count]
