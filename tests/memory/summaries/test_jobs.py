"""Consolidations that a crash interrupted are found in the log and finished."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.memory.fixtures import ENGINE, USER, Notebook, joined

from everloop.errors import ModelFailed
from everloop.log import Command, Context, Receipt
from everloop.memory.model.commands import DemoteItem, KeepSummary, RateItem, ReviseItem
from everloop.memory.summaries.compress import Compressor, ConsolidationResult, SummaryText
from everloop.memory.summaries.jobs import open_consolidations
from everloop.memory.summaries.staleness import stale_windows
from everloop.testing.bus import FunctionBus
from everloop.thread.background import StaleSummariesTask


@pytest.fixture
def notes(tmp_path: Path) -> Generator[Notebook]:
    """A notebook with three items by an agent."""
    notebook = Notebook(tmp_path)
    notebook.say("ash", "birch", "cedar")
    yield notebook
    notebook.close()


class Killed(BaseException):
    """Simulates `kill -9`: nothing after it is executed."""


def killing(notes: Notebook, kind: type[Command], after: int) -> Compressor:
    """A compressor that dies at the next command of a kind, after a number of them."""
    left = [after]

    def do(command: Command, *, by: Context) -> Receipt:
        if isinstance(command, kind):
            left[0] -= 1
            if left[0] < 0:
                raise Killed
        return notes.engine.do(command, by=by)

    return Compressor(notes.log, FunctionBus(do), joined)


def finish(notes: Notebook) -> None:
    """Finish all open consolidations, and check that none is left."""
    for _ in range(2):
        with notes.reading() as reader:
            left = open_consolidations(reader)
        for asked in left:
            notes.compressor.finish(asked, notes.recalled)
    with notes.reading() as reader:
        assert open_consolidations(reader) == []


@pytest.mark.parametrize(("kind", "after"), [(KeepSummary, 0), (DemoteItem, 0), (DemoteItem, 1)])
def test_an_interrupted_consolidation_is_finished_in_the_background(
    notes: Notebook, kind: type[Command], after: int
) -> None:
    with pytest.raises(Killed):
        killing(notes, kind, after).consolidate(["ash", "birch"], notes.recalled, by=ENGINE)
    assert {"ash", "birch"} & notes.listed()
    finish(notes)
    (summary,) = notes.listed() - {"cedar"}
    assert notes.engine.memory.find("user", summary).derived_from == ("ash", "birch")


def test_an_interrupted_consolidation_that_is_refused_is_not_retried_for_ever(
    notes: Notebook,
) -> None:
    notes.do(RateItem("birch", 3), USER)
    notes.say("maple", by=USER)
    with pytest.raises(Killed):
        killing(notes, DemoteItem, 0).consolidate(
            ["ash", "birch", "maple"], notes.recalled, by=ENGINE
        )
    finish(notes)
    head = notes.log.head
    assert {"birch", "maple"} <= notes.listed()
    assert "ash" not in notes.listed()
    finish(notes)
    assert notes.log.head == head


def test_an_interrupted_consolidation_is_finished_in_its_actors_name(
    notes: Notebook,
) -> None:
    notes.say("maple", by=USER)
    with pytest.raises(Killed):
        killing(notes, DemoteItem, 0).consolidate(["ash", "maple"], notes.recalled, by=USER)
    finish(notes)
    assert notes.listed().isdisjoint(("ash", "maple"))


def test_a_consolidation_whose_summary_was_retracted_is_not_finished(notes: Notebook) -> None:
    with pytest.raises(Killed):
        killing(notes, DemoteItem, 1).consolidate(["ash", "birch"], notes.recalled, by=ENGINE)
    (summary,) = notes.listed() - {"birch", "cedar"}
    notes.log.retract(
        [notes.engine.memory.find("user", summary).position], reason="no", actor="user"
    )
    finish(notes)
    assert notes.listed() == {"ash", "birch", "cedar"}


def test_a_source_that_was_restored_before_finishing_is_not_demoted_again(notes: Notebook) -> None:
    with pytest.raises(Killed):
        killing(notes, DemoteItem, 1).consolidate(["ash", "birch"], notes.recalled, by=ENGINE)
    notes.log.retract([notes.log.head], reason="I want it", actor="user")
    finish(notes)
    assert "ash" in notes.listed()
    assert "birch" not in notes.listed()


def test_compressing_alone_requests_no_consolidation(notes: Notebook) -> None:
    notes.compressor.compress(["ash", "birch"])
    finish(notes)
    assert {"ash", "birch"} <= notes.listed()


def test_a_failed_consolidation_is_reported_and_not_retried(notes: Notebook) -> None:
    broken = Compressor(notes.log, notes.engine, lambda _one, _two: SummaryText("", ""))
    with pytest.raises(ModelFailed):
        broken.consolidate(["ash", "birch"], notes.recalled, by=ENGINE)
    done = notes.compressor.consolidate(["ash"], lambda _one, _two: [], by=ENGINE)
    assert isinstance(done, ConsolidationResult)
    assert not done.verified
    with notes.reading() as reader:
        assert open_consolidations(reader) == []


def test_a_renewal_interrupted_before_the_demotions_is_finished(
    notes: Notebook,
) -> None:
    notes.compressor.consolidate(["ash", "birch"], notes.recalled, by=ENGINE)
    notes.do(ReviseItem("ash", text="ash was felled."))
    with notes.reading() as reader:
        (stale,) = stale_windows(reader, notes.who(reader))
    with pytest.raises(Killed):
        killing(notes, DemoteItem, 0).renew(stale, notes.recalled)
    assert {"ash", "birch"} <= notes.listed()
    renewing = StaleSummariesTask(notes.log, notes.engine, notes.engine.memory)
    renewing.renew()
    assert notes.listed().isdisjoint(("ash", "birch"))
    head = notes.log.head
    renewing.renew()
    assert notes.log.head == head
