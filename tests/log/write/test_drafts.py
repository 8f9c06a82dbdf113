"""Drafts derived from other drafts of one append, and lasting events that survive a rewording."""

from pathlib import Path
from typing import ClassVar

import pytest
from tests.log.samples import Said

from everloop.log import Draft, Event, Log, event
from everloop.log.integrity.verify import verify_log
from everloop.testing.deterministic import DeterministicPorts


@event("sample.reworded")
class Reworded(Event, frozen=True):
    """Something was reworded."""

    supersedes: ClassVar[bool] = True

    text: str


@event("sample.linked")
class Linked(Event, frozen=True):
    """Something is linked to a fact and survives a rewording of it."""

    lasting: ClassVar[bool] = True

    to: str


def visible_kinds(log: Log, stream: str) -> list[str]:
    """The kinds of a stream's facts that count."""
    return [fact.event.wire for fact in log.read(stream)]


def test_a_draft_can_be_derived_from_another_draft_of_the_same_append(log: Log) -> None:
    log.append("other", [Said("before")], actor="user")
    first, second = Draft(Said("a")), Draft(Said("b"), (1,), beside=(0,))
    receipt = log.append("s", [first, second, Draft(Said("c"), beside=(0, 1))], actor="user")
    assert [fact.because for fact in receipt.facts] == [(), (1, 2), (2, 3)]
    assert [fact.because for fact in log.read("s")] == [(), (1, 2), (2, 3)]


def test_retracting_a_fact_retracts_what_was_derived_in_the_same_append(log: Log) -> None:
    log.append("s", [Draft(Said("a")), Draft(Said("b"), beside=(0,)), Draft(Said("c"))], actor="u")
    log.retract([1], reason="slip", actor="user")
    assert [fact.position for fact in log.read("s")] == [3]


@pytest.mark.parametrize("place", [0, 1, -1])
def test_a_draft_can_be_derived_only_from_an_earlier_draft(log: Log, place: int) -> None:
    with pytest.raises(AssertionError, match="earlier draft"):
        log.append("s", [Draft(Said("a"), beside=(place,)), Draft(Said("b"))], actor="user")
    assert log.head == 0


def test_the_digest_covers_sources_in_the_same_append(
    stage: DeterministicPorts, tmp_path: Path
) -> None:
    log = stage.open(tmp_path / "everloop.db")
    log.append("s", [Draft(Said("a")), Draft(Said("b"), beside=(0,))], actor="user")
    assert verify_log(log).ok
    log.close()


def test_a_lasting_event_survives_a_rewording_of_its_source_but_not_a_retraction(
    log: Log,
) -> None:
    log.append("thing", [Said("words")], actor="user")
    log.append("other", [Draft(Linked("thing"), (1,)), Draft(Said("derived"), (1,))], actor="user")
    log.append("thing", [Draft(Reworded("other words"), (1,))], actor="user")
    assert visible_kinds(log, "other") == ["sample.linked"]
    log.retract([1], reason="slip", actor="user")
    assert visible_kinds(log, "other") == []
