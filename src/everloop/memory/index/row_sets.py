"""Rows of a roster as arrays: which are allowed, which are there, in which order.

Row 0 stands for nothing, and every mask lets it through, so nobody need ask whether there is one.
"""

from typing import Any

import numpy as np
from numpy.typing import NDArray

Rows = NDArray[np.int64]
Mask = NDArray[np.bool_]

NONE = 0  # the row, and the group, that stands for nothing
SPARSE_FROM = 20_000  # rows there are, from which on a few of them are sooner sorted than marked

# Arrays, also the numbers among them: numpy takes an array in faster than a plain number.
_PLACE, _SCORE = np.array(2**14 - 1), np.array(-(2**14))
_PLACES: Rows = _SCORE + np.arange(2**14)
_ABOVE = np.array(2.0)
_NOTHING, _FIRST = np.array([NONE]), np.array([True])


def distinct(size: int, *parts: Rows) -> Rows:
    """The rows in order, each once, all below `size`; the first is the one for nothing."""
    if size > SPARSE_FROM:
        every: Rows = np.concatenate((_NOTHING, *parts))
        every.sort()
        once: Rows = every[np.concatenate((_FIRST, every[1:] != every[:-1]))]
        return once
    there = np.zeros(size, np.bool_)
    for rows in parts:
        there[rows] = True
    there[NONE] = True
    return there.nonzero()[0]


def best_first(scores: NDArray[Any]) -> Rows:
    """The places of scores above -2, highest first; among equals the lower place is first.

    Much faster than a stable sort: the place is put into the last bits of the score, and so one
    number is sorted. What differs in those bits alone counts as equal.
    """
    if len(scores) > len(_PLACES):
        return np.argsort(-scores, kind="stable")
    keys: Rows = np.add(scores, _ABOVE).view(np.int64)  # the bits of a number above 0 grow with it
    np.bitwise_and(keys, _SCORE, keys)
    np.subtract(_PLACES[: len(scores)], keys, keys)
    keys.sort()
    np.bitwise_and(keys, _PLACE, keys)
    return keys


def passing(rows: Rows, allowed: Mask) -> Mask:
    """Which of these rows are allowed. Those that came after the mask was made are not."""
    passed: Mask = allowed.take(rows, mode="clip")
    return passed
