"""Row sets: arrays of row numbers of the passage table, boolean masks over them, and sorting.

Row 0 means "no row", and every mask allows it, so callers need no check whether there is a row.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

NO_ROW = 0  # the row, and the group, that means there is none
SPARSE_FROM = 20_000  # table size from which on sorting a few rows is faster than marking them

# Even the numbers are arrays: numpy handles an array faster than a plain number.
_PLACE, _SCORE = np.array(2**14 - 1), np.array(-(2**14))
_PLACES: Rows = _SCORE + np.arange(2**14)
_ABOVE = np.array(2.0)
_NOTHING, _FIRST = np.array([NO_ROW]), np.array([True])


def distinct_rows(size: int, *parts: Rows) -> Rows:
    """The distinct rows in order, all below `size`; the first is row 0, which means no row."""
    if size > SPARSE_FROM:
        every: Rows = np.concatenate((_NOTHING, *parts))
        every.sort()
        once: Rows = every[np.concatenate((_FIRST, every[1:] != every[:-1]))]
        return once
    there = np.zeros(size, np.bool_)
    for rows in parts:
        there[rows] = True
    there[NO_ROW] = True
    return there.nonzero()[0]


def contained(rows: Rows, among: Rows) -> Mask:
    """Which of the rows, in order and at least one, are `among` others."""
    size: int = rows.item(-1) + 1
    if size > SPARSE_FROM:
        return np.isin(rows, among)
    there = np.zeros(size, np.bool_)
    there[among[among < size]] = True
    return there.take(rows)


def spread(rows: Rows, some: Rows, values: NDArray[np.float64], other: float) -> Any:
    """The values of some rows for each of `rows`, which are in order; `other` for the rest."""
    size: int = rows.item(-1) + 1
    if size > SPARSE_FROM:
        found = np.full(len(rows), other)
        found[np.searchsorted(rows, some)] = values
        return found
    by_row = np.full(size, other)
    by_row[some] = values
    return by_row.take(rows)


def descending_order(scores: NDArray[Any]) -> Rows:
    """The indices that sort scores above -2 in descending order; among equals the lower is first.

    Much faster than a stable sort: the index is put into the last bits of the score, and so one
    number is sorted. Scores that differ in those bits alone count as equal.
    """
    if len(scores) > len(_PLACES):
        return np.argsort(-scores, kind="stable")
    keys: Rows = np.add(scores, _ABOVE).view(np.int64)  # the bits of a number above 0 grow with it
    np.bitwise_and(keys, _SCORE, keys)
    np.subtract(_PLACES[: len(scores)], keys, keys)
    keys.sort()
    np.bitwise_and(keys, _PLACE, keys)
    return keys


def mask_rows(rows: Rows, allowed: Mask) -> Mask:
    """A mask of the allowed ones among these rows. Rows newer than the mask are not allowed."""
    passed: Mask = allowed.take(rows, mode="clip")
    return passed
