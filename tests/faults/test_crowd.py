"""Many processes on one file: no loss, no duplicate, no gap, no disorder, no silent conflict."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tests.faults import crowding, programme
from tests.faults.crowding import Manner, Order, Outcome
from tests.faults.places import scratch_folder


@pytest.fixture
def folder() -> Iterator[str]:
    with scratch_folder() as scratch:
        yield str(scratch)


def crowd(order: Order) -> Outcome:
    return programme.run(crowding.__name__, order, Outcome)


@pytest.mark.parametrize("appends", [2_000, pytest.param(5_000, marks=pytest.mark.soak)])
@pytest.mark.promise("P-LOG-9")
def test_eight_processes_append_to_five_streams_and_every_append_is_recorded_once(
    folder: str, seed: int, appends: int
) -> None:
    outcome = crowd(Order(folder, seed, processes=8, appends=appends))
    assert outcome.problems == []
    assert outcome.appended == 8 * appends
    assert outcome.conflicts > 0, "nobody was in anybody's way"


def test_control_an_ignored_conflict_is_detected(folder: str, seed: int) -> None:
    order = Order(folder, seed, processes=4, appends=200, manner=Manner.SWALLOWS)
    assert any(problem.startswith("lost") for problem in crowd(order).problems)


def test_processes_that_create_the_same_log_at_once_all_succeed(folder: str, seed: int) -> None:
    for number in range(6):
        fresh = Path(folder) / str(number)
        fresh.mkdir()
        outcome = crowd(Order(str(fresh), seed, processes=8, appends=1))
        assert (outcome.appended, outcome.problems) == (8, [])
