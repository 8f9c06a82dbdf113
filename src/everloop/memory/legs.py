"""The two legs of recall: words and meaning. Each gives scores to passages the asker may see.

What is hidden is left out before anything is counted: how rare a term is, how long passages are,
which item was said before, all of it is made only from what passed. So nothing that is hidden can
be felt in a ranking.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import msgspec
import numpy as np
from numpy.typing import NDArray

from everloop.log import Reader
from everloop.memory.postings import NOWHERE, Posting
from everloop.memory.roster import NONE, Mask, Roster, Rows, distinct
from everloop.memory.vectors import Floats, VectorSpace
from everloop.memory.words import Question, rarest

POOL = 200  # the best that a leg hands on
PHRASE_MAX = 2_000  # passages read to see whether they hold a phrase
BEFORE_WEIGHT = 0.5  # of the words said before
SATURATION, LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25

Lookup = Callable[[str], Posting]

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
    reader: Reader, roster: Roster, allowed: Mask, asked: Question, lookup: Lookup, items: int
) -> Found:
    """The passages that fit a question by its words. `items` is how many the asker may see."""
    held = {term: _permitted(lookup(term), allowed) for term in asked.terms}
    wanted = rarest(asked, {term: len(posting.rows) for term, posting in held.items()})
    postings = [held[term] for term in wanted.terms]
    for phrase in wanted.phrases:
        known = [_permitted(lookup(word), allowed) for word in phrase]
        postings.append(_holding(reader, roster, " ".join(phrase), known))
    rows, before, counts = _counts(roster, allowed, postings)
    if not len(rows):
        return NOTHING
    rarity = _worth(np.count_nonzero(counts, axis=1), items)
    score, covered = _scores(counts, rarity, _lengths(roster, rows, before))
    # A term that nothing holds weighs as much as one that only hidden items hold.
    absent = sum(1 for posting in held.values() if not len(posting.rows))
    coverage = covered / (rarity.sum() + absent * _worth(np.zeros(1, np.int64), items)[0])
    best = _best(score, rows, POOL)
    best = best[score[best] > 0]
    return Found(rows[best], score[best], coverage[best])


def by_meaning(roster: Roster, allowed: Mask, space: VectorSpace, query: Floats) -> Found:
    """The passages nearest in meaning, each taken together with what was said before it."""
    look = space.looking(query)
    nearest = look.nearest(POOL, allowed)
    after = roster.after(nearest, allowed)
    rows = distinct(np.concatenate((nearest, after[after != NONE])))
    rows, cosines = look.cosines(rows, roster.before(rows, allowed))
    best = _best(cosines, rows, len(rows))
    scores = cosines[best].astype(np.float64)
    return Found(rows[best], scores, np.clip(scores, 0.0, 1.0))


def _permitted(posting: Posting, allowed: Mask) -> Posting:
    upto = np.searchsorted(posting.rows, len(allowed))  # what came later is for later readers
    rows = posting.rows[:upto]
    good = allowed[rows]
    return Posting(rows[good], posting.counts[:upto][good])


def _counts(
    roster: Roster, allowed: Mask, postings: Sequence[Posting]
) -> tuple[Rows, Rows, NDArray[np.float64]]:
    """Passages, what was said before each, and how often each term stands in them.

    What stands in the one before counts half.
    """
    own = distinct(np.concatenate([NOWHERE.rows, *(posting.rows for posting in postings)]))
    rows = distinct(np.concatenate((own, roster.followers(own, allowed))))
    counts = np.zeros((len(postings), len(rows)))
    for place, posting in enumerate(postings):
        counts[place, np.searchsorted(rows, posting.rows)] = posting.counts
    before = roster.before(rows, allowed)
    places = np.minimum(np.searchsorted(rows, before), max(0, len(rows) - 1))
    said = np.flatnonzero(rows[places] == before) if len(rows) else before
    counts[:, said] += BEFORE_WEIGHT * counts[:, places[said]]
    return rows, before, counts


def _lengths(roster: Roster, rows: Rows, before: Rows) -> NDArray[np.float64]:
    """How long each passage is with the one before it, compared with the average."""
    lengths = roster.length.all[rows].astype(np.float64)
    said = before != NONE
    lengths[said] += roster.length.all[before[said]]
    return lengths / max(1.0, float(lengths.mean()))


def _worth(holding: NDArray[np.int64], items: int) -> NDArray[np.float64]:
    """What a term is worth: more if fewer of the items that the asker may see hold it."""
    among = np.maximum(items, holding)
    worth: NDArray[np.float64] = np.log1p((among - holding + 0.5) / (holding + 0.5))
    return worth


def _scores(
    counts: NDArray[np.float64], rarity: NDArray[np.float64], lengths: NDArray[np.float64]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
    """BM25, and how much of the question is covered."""
    damping = SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * lengths)
    score = (SATURATION + 1) * (rarity @ (counts / (counts + damping)))
    return score, rarity @ (counts > 0)


def _holding(reader: Reader, roster: Roster, phrase: str, words: Sequence[Posting]) -> Posting:
    """The passages that hold a phrase, among those that hold all its words."""
    rows = words[0].rows
    for posting in words[1:]:
        rows = np.intersect1d(rows, posting.rows, assume_unique=True)
    passages = roster.passage.all[rows[:PHRASE_MAX]].tolist()
    texts: dict[int, str] = dict(reader.rows(_TERMS, (msgspec.json.encode(passages).decode(),)))
    counts = np.array([_occurrences(texts.get(number, ""), phrase) for number in passages])
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


def _best(scores: NDArray[np.floating], rows: Rows, count: int) -> NDArray[np.int64]:
    """The places of the highest scores, best first; among equals the older passage is first."""
    places = np.arange(len(rows))
    if len(rows) > count:
        least = np.partition(scores, len(rows) - count)[len(rows) - count]
        places = np.flatnonzero(scores >= least)
    order = np.lexsort((rows[places], -scores[places]))
    return places[order][:count]
