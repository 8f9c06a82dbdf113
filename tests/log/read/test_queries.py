"""Queries about the log: newest facts, the details of a fact, branches, views."""

from collections.abc import Generator
from pathlib import Path
from typing import TypeVar

import pytest

from everloop.errors import NotFound
from everloop.log import Draft, Log, Query
from everloop.log.model.facts import NoteWritten
from everloop.log.read.queries import (
    BranchList,
    ExplainFact,
    FactsAtPositions,
    NewestFacts,
    ViewList,
)
from everloop.testing.deterministic import DeterministicPorts

T = TypeVar("T")


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    """An empty log with deterministic ports."""
    opened = DeterministicPorts().open(tmp_path / "log.db")
    yield opened
    opened.close()


def note(log: Log, text: str, *because: int, branch: str | None = None, stream: str = "n") -> int:
    """Append a note and return its position."""
    draft = Draft(NoteWritten(text), because)
    return log.append(stream, [draft], actor="user", branch=branch).position


def ask(log: Log, query: Query[T], branch: str | None = None) -> T:
    """The result of a query, read from a branch."""
    with log.reading(branch=branch) as reader:
        return query.answer(reader)


def verdicts(log: Log, branch: str | None = None) -> list[str]:
    """The verdict of every fact, in order."""
    return [one.verdict for one in ask(log, NewestFacts(limit=99), branch)]


def test_newest_facts_are_in_log_order_and_limited(log: Log) -> None:
    for text in "abcd":
        note(log, text)
    found = ask(log, NewestFacts(limit=2, before=4))
    assert [one.record.position for one in found] == [2, 3]


def test_a_page_continues_where_the_one_before_ended(log: Log) -> None:
    for text in "abcd":
        note(log, text)
    found = ask(log, NewestFacts(limit=9, after=1, before=4))
    assert [one.record.position for one in found] == [2, 3]


def test_facts_derived_from_a_retracted_fact_are_retracted(log: Log) -> None:
    note(log, "source")
    note(log, "derived", 1)
    note(log, "unrelated")
    log.retract([1], reason="wrong", actor="user")
    assert verdicts(log) == ["retracted", "retracted", "counts", "counts"]
    log.retract([4], reason="right after all", actor="user")
    assert verdicts(log) == ["counts", "counts", "counts", "retracted", "counts"]


def test_a_purged_fact_has_the_verdict_purged(log: Log) -> None:
    note(log, "secret")
    log.purge([1], reason="private", actor="user")
    assert verdicts(log) == ["purged", "counts"]


def test_a_fact_on_another_branch_has_the_verdict_elsewhere(log: Log) -> None:
    note(log, "shared")
    log.fork(name="other", actor="user")
    note(log, "only there", branch="other")
    note(log, "only here")
    assert verdicts(log) == ["counts", "counts", "elsewhere", "counts"]
    assert verdicts(log, "other") == ["counts", "counts", "counts", "elsewhere"]


def test_a_retraction_on_another_branch_hides_nothing_here(log: Log) -> None:
    note(log, "shared")
    log.rewind(1, name="again", actor="user")
    log.retract([1], reason="here only", actor="user")
    assert verdicts(log)[0] == "retracted"
    assert verdicts(log, "main")[0] == "counts"


def test_branch_facts_count_on_every_branch(log: Log) -> None:
    note(log, "shared")
    log.rewind(0, name="again", actor="user")
    assert verdicts(log) == ["elsewhere", "counts", "counts"]


def test_a_listing_can_be_limited_to_facts_that_count(log: Log) -> None:
    note(log, "wrong")
    note(log, "right")
    log.retract([1], reason="wrong", actor="user")
    found = ask(log, NewestFacts(limit=1, before=3, counting=True))
    assert [one.record.position for one in found] == [2]


def test_facts_can_be_read_by_position(log: Log) -> None:
    for text in "abc":
        note(log, text)
    found = ask(log, FactsAtPositions((3, 1, 99)))
    assert [one.record.position for one in found] == [1, 3]


def test_fact_details_have_its_sources_and_dependants(log: Log) -> None:
    note(log, "first")
    note(log, "second", stream="m")
    note(log, "both", 1, 2)
    note(log, "more", 3)
    log.retract([2], reason="wrong", actor="user")
    story = ask(log, ExplainFact(3))
    assert story.fact.verdict == "retracted"
    assert [one.record.position for one in story.sources] == [1, 2]
    assert [one.record.position for one in story.dependants] == [4]
    assert [one.record.position for one in story.hidden_by] == [5]
    assert ask(log, ExplainFact(1)).dependants_count == 2


def test_details_of_a_missing_fact_are_not_found(log: Log) -> None:
    with pytest.raises(NotFound):
        ask(log, ExplainFact(1))


def test_each_branch_shows_its_fork_position_and_number_of_facts(log: Log) -> None:
    note(log, "shared")
    log.fork(name="other", actor="user")
    log.switch_branch("other", actor="user")
    note(log, "there")
    main, other = ask(log, BranchList())
    assert (main.name, main.parent, main.facts, main.newest, main.standing) == (
        "main", None, 1, 1, False,
    )  # fmt: skip
    assert (other.name, other.parent, other.at, other.facts, other.newest, other.standing) == (
        "other", "main", 1, 1, 4, True,
    )  # fmt: skip


def test_a_new_tree_has_its_own_root_branch(log: Log) -> None:
    log.create_tree("world:a", actor="user")
    _, planted = ask(log, BranchList())
    assert (planted.name, planted.root, planted.parent) == ("world:a", "world:a", None)


def test_views_show_their_position(log: Log) -> None:
    note(log, "one")
    assert [(view.name, view.position) for view in ask(log, ViewList())] == [("lineage", 1)]
