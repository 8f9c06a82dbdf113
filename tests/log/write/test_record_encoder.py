"""Encoding one event and many gives the same rows, the same chain and the same errors."""

import math
from itertools import pairwise
from pathlib import Path

import pytest
from tests.log.samples import Counted, Said

from everloop.errors import Invalid
from everloop.log import Draft, Event, Log
from everloop.log.integrity.verify import verify_log
from everloop.log.model.limits import Limits
from everloop.log.model.record import Record, expected_digest
from everloop.testing.deterministic import DeterministicPorts

MIXED: list[Event] = [Said("a"), Said("b"), Counted(1), Said("ü\n"), Counted(2.5), Counted(3)]


def record_content(record: Record) -> tuple[object, ...]:
    """The content of a record, without salt, digest and request id."""
    return record.position, record.version, record.kind, record.schema, record.data, record.because


def test_many_events_are_encoded_to_the_same_rows_as_one_at_a_time(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    together, apart = stage.open(tmp_path / "together.db"), stage.open(tmp_path / "apart.db")
    together.append("s", MIXED, actor="user")
    for happened in MIXED:
        apart.append("s", [happened], actor="user")
    assert list(map(record_content, together.records())) == list(
        map(record_content, apart.records())
    )
    assert verify_log(together).ok
    assert verify_log(apart).ok
    together.close()
    apart.close()


def test_each_of_many_records_is_chained_to_the_one_before_it(log: Log) -> None:
    log.append("s", [Said("first")], actor="user")
    log.append("s", MIXED, actor="user")
    records = list(log.records())
    for before, record in pairwise(records):
        assert expected_digest(before.digest, record) == record.digest


def test_facts_of_a_receipt_are_those_that_are_read_back(log: Log) -> None:
    receipt = log.append("s", [Said("x"), *MIXED], actor="user")
    assert list(log.read("s")) == list(receipt.facts)
    assert receipt.version == len(receipt.facts)


def test_every_record_of_a_large_append_has_its_own_salt(log: Log) -> None:
    log.append("s", [Said("same")] * 200, actor="user")
    assert len({record.salt for record in log.records()}) == 200


def test_an_event_that_json_cannot_represent_is_named_and_nothing_is_written(log: Log) -> None:
    with pytest.raises(Invalid, match=r"sample\.counted would not read back"):
        log.append("s", [Said("a"), Counted(1), Counted(math.nan), Said("b")], actor="user")
    with pytest.raises(Invalid, match=r"sample\.said cannot be written as JSON"):
        log.append("s", [Said("a"), Said("\ud800")], actor="user")
    assert log.head == 0


def test_an_undeclared_event_among_many_is_named(log: Log) -> None:
    class Stray(Event, frozen=True):
        pass

    with pytest.raises(Invalid, match="Stray is not a declared event"):
        log.append("s", [Said("a"), Stray(), Said("b")], actor="user")
    assert log.head == 0


@pytest.mark.parametrize("events", [[Counted(1), Said("x" * 99)], [Said("x" * 99)]])
def test_an_event_that_is_too_large_is_named(
    stage: DeterministicPorts, tmp_path: Path, events: list[Event]
) -> None:
    log = stage.open(tmp_path / "small.db", limits=Limits(event_bytes_max=50))
    with pytest.raises(Invalid, match=r"sample\.said is larger than 50 bytes"):
        log.append("s", events, actor="user")
    assert log.head == 0
    log.close()


def test_each_of_many_records_keeps_its_own_sources(log: Log) -> None:
    log.append("other", [Said("a"), Said("b")], actor="user")
    drafts = [Draft(Said("c"), (1,)), Draft(Said("d")), Draft(Said("e"), (2,), beside=(0, 1))]
    log.append("s", drafts, actor="user")
    assert [fact.because for fact in log.read("s")] == [(1,), (), (2, 3, 4)]
    assert [record.because for record in log.records(after=2)] == ["[1]", None, "[2,3,4]"]


def test_a_stream_continues_on_the_branch_to_which_any_writer_switched_its_tree(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    here, there = stage.open(tmp_path / "everloop.db"), stage.open(tmp_path / "everloop.db")
    here.append("s", [Said("a")], actor="user")
    there.rewind(0, name="other", actor="user")
    assert here.append("s", [Said("b")], actor="user").branch == "other"
    here.switch_branch("main", actor="user")
    assert here.append("s", [Said("c")], actor="user").version == 2
    assert there.append("s", [Said("d")], actor="user").branch == "main"
    here.close()
    there.close()


def test_a_stream_goes_to_the_tree_that_was_created_for_it(log: Log) -> None:
    assert log.append("world:a", [Said("before")], actor="user").branch == "main"
    log.create_tree("world:a", actor="user")
    assert log.append("world:a", [Said("after")], actor="user").branch == "world:a"
