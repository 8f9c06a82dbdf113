"""The two legs of recall: words and meaning. Each gives scores to passages the asker may see.

What is hidden is left out before anything is counted: how rare a term is, how long passages are,
which item was said before, all of it is made only from what passed. So nothing that is hidden can
be felt in a ranking.
"""

from collections.abc import Sequence
from math import log1p
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.holdings import Holding, Lookup, held_by, holdings
from everloop.memory.measures import Floats, largest
from everloop.memory.outlook import Outlook
from everloop.memory.postings import Posting
from everloop.memory.rows import Rows, best_first, distinct, passing
from everloop.memory.vectors import VectorSpace
from everloop.memory.words import ROWS_MAX, TERMS_MAX, Question, rarest

POOL = 200  # the best that a leg hands on
PHRASE_MAX = 2_000  # passages read to see whether they hold a phrase
SORTED_MAX = 1_000  # scores that are sorted whole; of more, first the best are picked out
SATURATION, LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25

_TERMS = """
SELECT p.passage, p.terms FROM json_each(?) j JOIN memory_passages p ON p.passage = j.value
"""


class Found(NamedTuple):
    """What a leg found: rows, best first, with scores and with similarities from 0 to 1."""

    rows: Rows
    scores: NDArray[np.float64]
    similarity: NDArray[np.float64]

    def above(self, least: float) -> "Found":
        """What is similar enough."""
        if least <= 0:
            return self
        good = self.similarity >= least
        return Found(self.rows[good], self.scores[good], self.similarity[good])


NOTHING = Found(np.empty(0, np.int64), np.empty(0), np.empty(0))


def by_words(
    reader: Reader, outlook: Outlook, asked: Question, lookup: Lookup, items: int
) -> Found:
    """The passages that fit a question by its words. `items` is how many the asker may see."""
    held = holdings(outlook, asked.terms, lookup)
    sizes = [holding.themselves for holding in held]
    if len(sizes) > TERMS_MAX or sum(sizes) > ROWS_MAX:
        wanted = rarest(asked, dict(zip(asked.terms, sizes, strict=True))).terms
        # A term that nothing holds weighs as much as one that only hidden items hold; one that is
        # too common to be looked for weighs nothing.
        both = zip(held, asked.terms, strict=True)
        held = [one for one, term in both if not one.themselves or term in wanted]
    if asked.phrases:
        stand = [_holding(reader, outlook, phrase, lookup) for phrase in asked.phrases]
        held += held_by(outlook, stand)
    return _scored(outlook, held, items)


def by_meaning(outlook: Outlook, space: VectorSpace, query: Floats) -> Found:
    """The passages nearest in meaning, each taken together with what was said before it."""
    look = space.looking(query)
    nearest = look.nearest(POOL, outlook.allowed)
    rows = distinct(outlook.size, nearest, outlook.after(nearest))[1:]
    rows, cosines = look.cosines(rows, outlook.before(rows))
    best = best_first(cosines)
    scores = cosines.take(best).astype(np.float64)
    return Found(rows.take(best), scores, np.minimum(np.maximum(scores, 0.0), 1.0))


def _scored(outlook: Outlook, held: Sequence[Holding], items: int) -> Found:
    """BM25 over what holds each of several terms."""
    sizes = [len(holding.rows) for holding in held]
    if not any(sizes):
        return NOTHING
    every = np.concatenate([holding.rows for holding in held])
    counts = np.concatenate([holding.counts for holding in held])
    rows = distinct(outlook.size, every)[1:]
    rarity = _worth(sizes, items)
    worth = np.array(rarity).repeat(sizes)
    damping = _damping(outlook, every, rows)
    damping += counts
    counts *= worth
    counts /= damping
    score: Any = np.bincount(every, counts).take(rows)
    score *= SATURATION + 1
    best = _best(score, POOL)
    found = rows.take(best)
    coverage: Any = np.bincount(every, worth).take(found)
    coverage /= sum(rarity)
    return Found(found, score.take(best), coverage)


def _damping(outlook: Outlook, every: Rows, rows: Rows) -> NDArray[np.float64]:
    """What each count is damped by: more if its passage is longer than the average of `rows`."""
    average = max(1.0, float(np.add.reduce(outlook.lengths(rows))) / len(rows))
    damping = outlook.lengths(every)
    damping *= SATURATION * LENGTH_SHARE / average
    damping += SATURATION * (1 - LENGTH_SHARE)
    return damping


def _worth(sizes: Sequence[int], items: int) -> list[float]:
    """What terms are worth: more if fewer of the items that the asker may see hold them."""
    return [log1p((max(items, size) - size + 0.5) / (size + 0.5)) for size in sizes]


def _holding(reader: Reader, outlook: Outlook, phrase: Sequence[str], lookup: Lookup) -> Posting:
    """The passages that hold a phrase, among those that hold all its words."""
    first, *others = lookup(phrase)
    rows = first.rows[passing(first.rows, outlook.allowed)]
    for posting in others:
        rows = np.intersect1d(rows, posting.rows, assume_unique=True)
    passages = outlook.roster.passage.all[rows[:PHRASE_MAX]].tolist()
    texts: dict[int, str] = dict(reader.rows(_TERMS, (msgspec.json.encode(passages).decode(),)))
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
