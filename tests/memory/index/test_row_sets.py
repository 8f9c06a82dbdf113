"""Row sets: sorting, distinct rows, and the smallest and largest of many values."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.memory.index.quantisation import largest_indices, smallest_indices
from everloop.memory.index.row_sets import SPARSE_FROM, descending_order, distinct_rows

Scores = st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.3, 0.7, 1.0, 12.5]), max_size=300)


@given(scores=Scores, dtype=st.sampled_from([np.float32, np.float64]))
def test_the_best_scores_come_first_and_ties_keep_their_order(
    scores: list[float], dtype: type[np.floating]
) -> None:
    values = np.array(scores, dtype)
    assert descending_order(values).tolist() == np.argsort(-values, kind="stable").tolist()


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 70_000])
def test_scores_that_hardly_differ_are_distinguished(size: int) -> None:
    values = np.linspace(0.0, 1.0, size)
    assert descending_order(values).tolist() == list(range(size))[::-1]


@pytest.mark.parametrize("size", [9, SPARSE_FROM + 1])
def test_row_zero_is_always_included_and_comes_first(size: int) -> None:
    rows = distinct_rows(size, np.array([7, 3]), np.array([3, 5]), np.array([0]))
    assert rows.tolist() == [0, 3, 5, 7]
    assert distinct_rows(size).tolist() == [0]


@pytest.mark.parametrize("size", [300, 5_000, 60_000])
@pytest.mark.parametrize("count", [1, 200, 299])
def test_largest_returns_the_largest_values(size: int, count: int) -> None:
    chance = np.random.default_rng(size)
    for values in (chance.random(size), chance.integers(0, 9, size) / 8, np.arange(size) % 2 / 2):
        least = np.sort(values)[size - count]
        assert largest_indices(values, count).tolist() == (values >= least).nonzero()[0].tolist()


@pytest.mark.parametrize("size", [300, 60_000])
@pytest.mark.parametrize("dtype", [np.uint8, np.uint16])
def test_smallest_returns_enough_values_and_misses_none(
    size: int, dtype: type[np.unsignedinteger]
) -> None:
    values = np.random.default_rng(size).integers(0, 190, size).astype(dtype)
    values[::7] = 255
    for count in (1, 20, 250):
        found = smallest_indices(values, count)
        assert len(found) >= count
        assert found.tolist() == (values <= values[found].max()).nonzero()[0].tolist()
