"""Rows of a roster as arrays."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.memory.rows import best_first, distinct, places

Scores = st.lists(st.sampled_from([-0.5, 0.0, 0.25, 0.3, 0.7, 1.0, 12.5]), max_size=300)


@given(scores=Scores, dtype=st.sampled_from([np.float32, np.float64]))
def test_the_best_come_first_and_among_equals_the_lower_place(
    scores: list[float], dtype: type[np.floating]
) -> None:
    values = np.array(scores, dtype)
    assert best_first(values).tolist() == np.argsort(-values, kind="stable").tolist()


@pytest.mark.parametrize("size", [1, 2, 255, 256, 257, 70_000])
def test_scores_that_hardly_differ_are_told_apart(size: int) -> None:
    values = np.linspace(0.0, 1.0, size)
    assert best_first(values).tolist() == list(range(size))[::-1]


def test_the_row_for_nothing_is_always_there_and_stands_first() -> None:
    rows = distinct(9, np.array([7, 3]), np.array([3, 5]))
    assert rows.tolist() == [0, 3, 5, 7]
    assert places(9, rows).tolist() == [0, 0, 0, 1, 0, 2, 0, 3, 0]
