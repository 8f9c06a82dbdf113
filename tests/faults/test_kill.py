"""Writers are killed at random moments; no acknowledged append is lost or repeated."""

from pathlib import Path

import pytest
from tests.faults import killing, programme
from tests.faults.killing import Manner, Order, Outcome


def kill_writers(order: Order) -> Outcome:
    return programme.run(killing.__name__, order, Outcome)


@pytest.mark.parametrize("kills", [500, *[pytest.param(2_500, marks=pytest.mark.soak)] * 20])
@pytest.mark.promise("P-LOG-2")
def test_killed_writers_lose_no_acknowledged_append(tmp_path: Path, seed: int, kills: int) -> None:
    outcome = kill_writers(Order(str(tmp_path), seed, kills))
    assert outcome.problems == []
    assert (outcome.lost, outcome.duplicated, outcome.torn) == (0, 0, 0)
    assert outcome.kills == kills
    assert outcome.acknowledged > 0
    assert outcome.repeated > 0, "no kill came between a commit and its acknowledgement"


def test_control_a_writer_that_acknowledges_too_early_is_detected(
    tmp_path: Path, seed: int
) -> None:
    assert kill_writers(Order(str(tmp_path), seed, 100, manner=Manner.TOO_EARLY)).lost > 0


def test_control_a_writer_that_retries_with_another_id_is_detected(
    tmp_path: Path, seed: int
) -> None:
    assert kill_writers(Order(str(tmp_path), seed, 100, manner=Manner.FORGETFUL)).duplicated > 0
