"""Where terms stand among the rows that a question looks at, with what was said before.

A list of the index is narrowed to what may be seen before anything is counted; what stands in the
passage before counts half. A cache, kept with its outlook: what is true of a term there stays true.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from everloop.memory.outlook import Outlook
from everloop.memory.postings import NOWHERE, Posting
from everloop.memory.rows import Mask, Rows, distinct, passing, places

BEFORE_WEIGHT = 0.5  # of the words said before
KEPT_ROWS_MAX = 100_000  # of all terms of an outlook together

Lookup = Callable[[Sequence[str]], Sequence[Posting]]


class Holding(NamedTuple):
    """The rows that hold a term, themselves or in what was said before, and how often."""

    rows: Rows
    counts: NDArray[np.float64]
    themselves: int  # how many of them


class _Stands(NamedTuple):
    """Where terms stand: each place is a term, a row, and how often."""

    terms: Rows
    rows: Rows
    counts: NDArray[np.float64]


def holdings(outlook: Outlook, terms: Sequence[str], lookup: Lookup) -> list[Holding]:
    """What holds each of these terms."""
    known: dict[str, Holding] = outlook.kept
    missing = [term for term in terms if term not in known]
    if missing:
        if outlook.kept_rows > KEPT_ROWS_MAX:  # begun anew: others may be looking at these
            known = outlook.kept = {term: known[term] for term in terms if term in known}
            outlook.kept_rows = 0
        found = held_by(outlook, lookup(missing))
        known.update(zip(missing, found, strict=True))
        outlook.kept_rows += sum(len(holding.rows) for holding in found)
    return [known[term] for term in terms]


def held_by(outlook: Outlook, postings: Sequence[Posting]) -> list[Holding]:
    """What holds each of several terms, by where these stand."""
    found = _standing(postings, outlook.allowed)
    if not len(found.rows):
        return [Holding(*NOWHERE, 0)] * len(postings)
    sizes: list[int] = np.bincount(found.terms, minlength=len(postings)).tolist()
    rows, counts = _counts(outlook, found, len(postings))
    there = [row.nonzero()[0] for row in counts]
    return [
        Holding(rows.take(at), row.take(at), size)
        for at, row, size in zip(there, counts, sizes, strict=True)
    ]


def _standing(postings: Sequence[Posting], allowed: Mask) -> _Stands:
    """Where several terms stand, as far as the asker may see it."""
    sizes = [len(posting.rows) for posting in postings]
    terms = np.arange(len(sizes)).repeat(sizes)
    rows = np.concatenate([NOWHERE.rows, *(posting.rows for posting in postings)])
    counts = np.concatenate([NOWHERE.counts, *(posting.counts for posting in postings)])
    good = passing(rows, allowed)
    return _Stands(terms[good], rows[good], counts[good])


def _counts(outlook: Outlook, found: _Stands, terms: int) -> tuple[Rows, NDArray[np.float64]]:
    """Passages, and how often each term stands in them; the first place stands for nothing."""
    rows = distinct(outlook.size, found.rows, outlook.followers(found.rows))
    where = places(outlook.size, rows)
    counts = np.zeros((terms, len(rows)))
    counts[found.terms, where.take(found.rows)] = found.counts
    said = counts.take(where.take(outlook.before(rows)), axis=1)
    said *= BEFORE_WEIGHT
    counts += said
    return rows, counts
