"""The two legs of recall: words and meaning. Each gives scores to passages the asker may see.

What is hidden is left out before anything is counted: how rare a term is, how long passages are,
which item was said before, all of it is made only from what passed. So nothing that is hidden can
be felt in a ranking.
"""

from collections.abc import Callable, Sequence
from math import log1p
from typing import Any, NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.postings import NOWHERE, Posting
from everloop.memory.roster import Mask, Roster, Rows, distinct, passing, places
from everloop.memory.vectors import Floats, VectorSpace
from everloop.memory.words import Question, rarest

POOL = 200  # the best that a leg hands on
PHRASE_MAX = 2_000  # passages read to see whether they hold a phrase
BEFORE_WEIGHT = 0.5  # of the words said before
SORTED_MAX = 1_000  # scores that are sorted whole; of more, first the best are picked out
SATURATION, LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25

Lookup = Callable[[Sequence[str]], Sequence[Posting]]

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


class _Stands(NamedTuple):
    """Where the terms of a question stand: each place is a term, a row, and how often."""

    terms: Rows
    rows: Rows
    counts: NDArray[np.float64]

    def only(self, chosen: Mask) -> "_Stands":
        return _Stands(self.terms[chosen], self.rows[chosen], self.counts[chosen])


def by_words(
    reader: Reader, roster: Roster, allowed: Mask, asked: Question, lookup: Lookup, items: int
) -> Found:
    """The passages that fit a question by its words. `items` is how many the asker may see."""
    found = _standing(lookup(asked.terms), allowed)
    sizes: list[int] = np.bincount(found.terms, minlength=len(asked.terms)).tolist()
    wanted = rarest(asked, dict(zip(asked.terms, sizes, strict=True)))
    # A term that nothing holds weighs as much as one that only hidden items hold; one that is too
    # common to be looked for weighs nothing.
    kept = [not size or term in wanted.terms for term, size in zip(asked.terms, sizes, strict=True)]
    if not all(kept):
        found = found.only(np.array(kept)[found.terms])
    if wanted.phrases:
        held = [_holding(reader, roster, phrase, lookup, allowed) for phrase in wanted.phrases]
        found = _joined(found, _standing(held, allowed), len(kept))
        kept += [True] * len(held)
    if not len(found.rows):
        return NOTHING
    rows, before, counts = _counts(roster, allowed, found, len(kept))
    there = (counts > 0).astype(np.float64)
    worth = [_worth(count, items) for count in there.sum(axis=1).tolist()]
    rarity = np.array(worth) * kept
    score = _scores(counts, rarity, _lengths(roster, rows, before))
    best = _best(score, POOL)
    coverage = (rarity @ there).take(best) / rarity.sum()
    return Found(rows.take(best), score.take(best), coverage)


def by_meaning(roster: Roster, allowed: Mask, space: VectorSpace, query: Floats) -> Found:
    """The passages nearest in meaning, each taken together with what was said before it."""
    look = space.looking(query)
    nearest = look.nearest(POOL, allowed)
    rows = distinct(len(allowed), nearest, roster.after(nearest, allowed))
    rows, cosines = look.cosines(rows, roster.before(rows, allowed))
    best = _best(cosines, len(rows))
    scores = cosines.take(best).astype(np.float64)
    return Found(rows.take(best), scores, np.minimum(np.maximum(scores, 0.0), 1.0))


def _standing(postings: Sequence[Posting], allowed: Mask) -> _Stands:
    """Where several terms stand, as far as the asker may see it."""
    sizes = [len(posting.rows) for posting in postings]
    found = _Stands(
        np.arange(len(sizes)).repeat(sizes),
        np.concatenate([NOWHERE.rows, *(posting.rows for posting in postings)]),
        np.concatenate([NOWHERE.counts, *(posting.counts for posting in postings)]),
    )
    good = passing(found.rows, allowed)
    return found if good.all() else found.only(good)


def _joined(found: _Stands, more: _Stands, terms: int) -> _Stands:
    """Places together; the terms of the second are numbered after those of the first."""
    return _Stands(
        np.concatenate((found.terms, more.terms + terms)),
        np.concatenate((found.rows, more.rows)),
        np.concatenate((found.counts, more.counts)),
    )


def _counts(
    roster: Roster, allowed: Mask, found: _Stands, terms: int
) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Passages, what was said before each, and how often each term stands in them.

    What stands in the one before counts half.
    """
    size = len(allowed)
    rows = distinct(size, found.rows, roster.followers(found.rows, allowed))
    where = places(size, rows)
    counts = np.zeros((terms, len(rows)))
    counts[found.terms, where.take(found.rows)] = found.counts
    before = roster.before(rows, allowed)
    at = rows.searchsorted(before)
    said = (rows.take(at, mode="clip") == before).nonzero()[0]
    counts[:, said] += BEFORE_WEIGHT * counts[:, at.take(said)]
    return rows, before, counts


def _lengths(roster: Roster, rows: Rows, before: Rows) -> NDArray[np.float64]:
    """How long each passage is with the one before it, compared with the average."""
    lengths = roster.length.all.take(rows) + roster.length.all.take(before)
    average: float = lengths.sum().item() / len(rows)
    compared: NDArray[np.float64] = lengths / max(1.0, average)
    return compared


def _worth(holding: float, items: int) -> float:
    """What a term is worth: more if fewer of the items that the asker may see hold it."""
    return log1p((max(items, holding) - holding + 0.5) / (holding + 0.5))


def _scores(
    counts: NDArray[np.float64], rarity: NDArray[np.float64], lengths: NDArray[np.float64]
) -> NDArray[np.float64]:
    """BM25."""
    damping = SATURATION * (1 - LENGTH_SHARE) + SATURATION * LENGTH_SHARE * lengths
    score: NDArray[np.float64] = ((SATURATION + 1) * rarity) @ (counts / (counts + damping))
    return score


def _holding(
    reader: Reader, roster: Roster, phrase: Sequence[str], lookup: Lookup, allowed: Mask
) -> Posting:
    """The passages that hold a phrase, among those that hold all its words."""
    first, *others = lookup(phrase)
    rows = first.rows[passing(first.rows, allowed)]
    for posting in others:
        rows = np.intersect1d(rows, posting.rows, assume_unique=True)
    passages = roster.passage.all[rows[:PHRASE_MAX]].tolist()
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


def _best(scores: NDArray[Any], count: int) -> Rows:
    """The places of the highest scores, best first; among equals the older passage is first."""
    if len(scores) <= SORTED_MAX:
        return np.argsort(-scores, kind="stable")[:count]
    least = np.partition(scores, len(scores) - count)[len(scores) - count]
    best: Rows = (scores >= least).nonzero()[0]
    return best[np.argsort(-scores[best], kind="stable")][:count]
