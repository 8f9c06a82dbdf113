"""BM25: scores the visible passages that contain a term, from the term's posting list.

A posting list is reduced to the visible rows before anything is counted, so hidden passages change
neither document frequencies nor scores. A term in the passage right before counts half. Pure
arithmetic: `search_view.py` caches the results.
"""

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import log1p
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from everloop.memory.index.postings import EMPTY_POSTING_LIST, PostingList
from everloop.memory.index.row_sets import Rows, mask_rows
from everloop.memory.index.visible_rows import VisibleRows

BEFORE_WEIGHT = 0.5  # of a term that occurs in the passage before
SATURATION, LENGTH_SHARE = 1.2, 0.75  # k1 and b of BM25

Lookup = Callable[[Sequence[str]], Sequence[PostingList]]


class TermMatch(NamedTuple):
    """The rows that match a term, themselves or in the passage before, with their BM25 scores."""

    rows: Rows  # in order
    scores: NDArray[np.float64]  # what each row gains by the term
    weight: float  # inverse document frequency: more if fewer visible items contain the term


def count_visible(view: VisibleRows, postings: Sequence[PostingList]) -> list[int]:
    """How many visible rows each posting list has."""
    rows, sizes = _join([posting.rows for posting in postings])
    good = np.bincount(
        np.arange(len(sizes)).repeat(sizes), mask_rows(rows, view.allowed), len(sizes)
    )
    return [int(count) for count in good]


def score_terms(view: VisibleRows, postings: Sequence[PostingList]) -> list[TermMatch]:
    """The matches of several terms among the visible rows, one for each posting list."""
    keys, counts = _visible_occurrences(view, postings)
    order = np.argsort(keys, kind="stable")  # two parts, each nearly in order
    keys, counts = keys.take(order), counts.take(order)
    again = (keys[1:] == keys[:-1]).nonzero()[0]  # both the row itself and the one before match
    counts[again] += counts[again + 1]
    keep = np.ones(len(keys), np.bool_)
    keep[again + 1] = False
    keys, counts = keys[keep], counts[keep]
    bounds: list[int] = np.searchsorted(keys, np.arange(len(postings) + 1) * view.size).tolist()
    rows = keys % view.size
    relative_length = view.lengths(rows) / view.mean_length
    damping = 1 + SATURATION * (1 - LENGTH_SHARE + LENGTH_SHARE * relative_length) / counts
    return [
        TermMatch(rows[low:high], weight / damping[low:high], weight)
        for low, high in pairwise(bounds)
        for weight in (_term_weight(high - low, view.item_count),)
    ]


def _term_weight(size: int, items: int) -> float:
    return (SATURATION + 1) * log1p((max(items, size) - size + 0.5) / (size + 0.5))


def _visible_occurrences(
    view: VisibleRows, postings: Sequence[PostingList]
) -> tuple[Rows, NDArray[np.float64]]:
    """The visible occurrences of terms, and how often each counts.

    An occurrence is the row number plus the term's index times the size of the view, so that one
    sort orders all terms. First come the rows that contain a term, then those that follow one.
    """
    rows, sizes = _join([posting.rows for posting in postings])
    counts, _ = _join([posting.counts for posting in postings])
    shift = np.repeat(np.arange(len(sizes)) * view.size, sizes)
    good = mask_rows(rows, view.allowed)
    if not good.all():
        rows, counts, shift = rows[good], counts[good], shift[good]
    keys, times = [rows + shift], [counts]
    for takers, givers in view.followers(rows):
        keys.append(takers + shift.take(givers))
        times.append(BEFORE_WEIGHT * counts.take(givers))
    return np.concatenate(keys), np.concatenate(times)


def _join(parts: Sequence[NDArray[Any]]) -> tuple[NDArray[Any], list[int]]:
    """The arrays as one, and the length of each of them."""
    return np.concatenate([EMPTY_POSTING_LIST.rows, *parts]), [len(part) for part in parts]
