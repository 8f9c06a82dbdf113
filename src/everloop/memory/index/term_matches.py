"""Where terms stand among the rows that a question looks at, with what was said before.

A list of the index is narrowed to what may be seen before anything is counted; what stands in the
passage before counts half. A cache, kept with its outlook: what is true of a term there stays true.
"""

import threading
from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log1p
from typing import Any, NamedTuple
from weakref import WeakSet

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.postings import NOWHERE, Posting
from everloop.memory.index.row_sets import Rows, passing
from everloop.memory.index.search_view import Outlook

BEFORE_WEIGHT = 0.5  # of the words said before
KEPT_ROWS_MAX = 2_000_000  # of all terms of all outlooks together; each takes 16 bytes
SATURATION, LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25

Lookup = Callable[[Sequence[str]], Sequence[Posting]]


class Holding(NamedTuple):
    """What holds a term, itself or in what was said before, and what the term is worth."""

    rows: Rows  # in order
    scores: NDArray[np.float64]  # what each gains by it
    worth: float  # more if fewer of the items that the asker may see hold it


class Holdings:
    """What is kept of outlooks, and how much that is together."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._outlooks = WeakSet[Outlook]()

    def sizes(self, outlook: Outlook, terms: Sequence[str], lookup: Lookup) -> list[int]:
        """How many rows hold each of these terms themselves."""
        known = outlook.sizes
        missing = [term for term in terms if term not in known]
        if missing:
            rows, sizes = _joined([posting.rows for posting in lookup(missing)])
            good = np.bincount(
                np.arange(len(sizes)).repeat(sizes), passing(rows, outlook.allowed), len(sizes)
            )
            known = outlook.sizes = known | dict(zip(missing, map(int, good), strict=True))
        return [known[term] for term in terms]

    def of(self, outlook: Outlook, terms: Sequence[str], lookup: Lookup) -> list[Holding]:
        """What holds each of these terms."""
        known: dict[str, Holding] = outlook.kept
        missing = [term for term in terms if term not in known]
        if missing:
            found = held_by(outlook, lookup(missing))
            self._make_room(outlook)
            known = {term: known[term] for term in terms if term in known}
            known |= dict(zip(missing, found, strict=True))
            outlook.kept.update(known)
            outlook.kept_rows += sum(len(holding.rows) for holding in found)
        return [known[term] for term in terms]

    def _make_room(self, outlook: Outlook) -> None:
        """Forget what is kept of all outlooks, if it has become too much."""
        with self._lock:
            self._outlooks.add(outlook)
            if sum(each.kept_rows for each in self._outlooks) > KEPT_ROWS_MAX:
                for each in self._outlooks:
                    # Anew, for others may be looking at the old ones.
                    each.kept, each.sizes, each.nearly, each.kept_rows = {}, {}, {}, 0


def held_by(outlook: Outlook, postings: Sequence[Posting]) -> list[Holding]:
    """What holds each of several terms, by where these stand."""
    places, counts = _stands(outlook, postings)
    order = np.argsort(places, kind="stable")  # two parts, each nearly in order
    places, counts = places.take(order), counts.take(order)
    again = (places[1:] == places[:-1]).nonzero()[0]  # the row itself, and the one before it
    counts[again] += counts[again + 1]
    keep = np.ones(len(places), np.bool_)
    keep[again + 1] = False
    places, counts = places[keep], counts[keep]
    bounds: list[int] = np.searchsorted(
        places, np.arange(len(postings) + 1) * outlook.size
    ).tolist()
    rows = places % outlook.size
    long = outlook.lengths(rows) / outlook.mean_length
    damping = 1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * long) / counts
    return [
        Holding(rows[low:high], worth / damping[low:high], worth)
        for low, high in pairwise(bounds)
        for worth in (_worth(high - low, outlook.items),)
    ]


def _worth(size: int, items: int) -> float:
    return (SATURATION + 1) * log1p((max(items, size) - size + 0.5) / (size + 0.5))


def _stands(outlook: Outlook, postings: Sequence[Posting]) -> tuple[Rows, NDArray[np.float64]]:
    """Where terms stand, as far as the asker may see it: rows, each term's after the one's before.

    First where they stand themselves, then where they stand in what was said before; how often.
    """
    rows, sizes = _joined([posting.rows for posting in postings])
    counts, _ = _joined([posting.counts for posting in postings])
    shift = np.repeat(np.arange(len(sizes)) * outlook.size, sizes)
    good = passing(rows, outlook.allowed)
    if not good.all():
        rows, counts, shift = rows[good], counts[good], shift[good]
    places, times = [rows + shift], [counts]
    for takers, givers in outlook.followed(rows):
        places.append(takers + shift.take(givers))
        times.append(BEFORE_WEIGHT * counts.take(givers))
    return np.concatenate(places), np.concatenate(times)


def _joined(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[int]]:
    """Arrays as one, and how long each of them was."""
    return np.concatenate([NOWHERE.rows, *parts]), [len(part) for part in parts]
