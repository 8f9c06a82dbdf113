"""Batches for a warehouse, and the payloads that must be erased before each."""

from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.log import Draft, Log
from everloop.log.model.facts import NoteWritten
from everloop.log.transfer.warehouse import SinkLimits, next_batch, purged_positions_before
from everloop.testing.deterministic import DeterministicPorts


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    """Four notes, the last derived from the first; then the first is purged."""
    opened = DeterministicPorts().open(tmp_path / "log.db")
    opened.append("notes", [NoteWritten("x" * 100) for _ in range(3)], actor="user")
    opened.append("notes", [Draft(NoteWritten("y"), (1,))], actor="user")
    opened.purge([1], reason="privacy", actor="user")
    yield opened
    opened.close()


def _places(log: Log, after: int, limits: SinkLimits) -> list[int]:
    return [record.position for record in next_batch(log, after, log.head, limits)]


def test_a_batch_is_bounded_by_rows(log: Log) -> None:
    assert _places(log, 0, SinkLimits(rows_max=2)) == [1, 2]
    assert _places(log, 4, SinkLimits(rows_max=2)) == [5]
    assert _places(log, 5, SinkLimits()) == []


def test_a_batch_is_bounded_by_bytes_and_holds_at_least_one_record(log: Log) -> None:
    assert _places(log, 1, SinkLimits(bytes_max=150)) == [2]
    assert _places(log, 1, SinkLimits(bytes_max=1)) == [2]
    assert _places(log, 1, SinkLimits(bytes_max=300)) == [2, 3, 4, 5]


def test_a_batch_ends_at_the_given_position(log: Log) -> None:
    assert [record.position for record in next_batch(log, 1, 3, SinkLimits())] == [2, 3]


def test_a_purge_in_a_batch_lists_the_purged_positions_before_it(log: Log) -> None:
    records = list(log.records())
    assert purged_positions_before(records) == []
    assert purged_positions_before(records[1:]) == [1]
    assert purged_positions_before(records[4:]) == [1, 4]
    assert purged_positions_before(records[:4]) == []


def test_payloads_purged_within_a_batch_are_empty(log: Log) -> None:
    erased = [record.data is None for record in next_batch(log, 0, log.head, SinkLimits())]
    assert erased == [True, False, False, True, False]
