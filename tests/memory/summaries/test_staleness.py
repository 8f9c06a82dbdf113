"""Stale summaries: retractions and revisions hide them at every level, until they are replaced."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.log.postgres.nodes import eventually
from tests.memory.fixtures import AGENT, ENGINE, USER, Notebook

from everloop.app import Engine
from everloop.log import Reader
from everloop.log.integrity.rebuild import rebuild_projections
from everloop.log.sql_rows import Bindings, Row
from everloop.memory.model.commands import RememberItem, ReviseItem
from everloop.memory.model.events import Origin
from everloop.memory.projections.queries import count_items, load_viewer
from everloop.memory.settings import MemorySettings
from everloop.memory.summaries.compress import (
    CompressionResult,
    Compressor,
    ConsolidationResult,
    Refusal,
)
from everloop.memory.summaries.extractive import extractive_summariser
from everloop.memory.summaries.staleness import (
    StaleWindow,
    current_summary,
    find_stale_windows,
    stale_windows,
)
from everloop.memory.summaries.zoom import zoom
from everloop.settings import Settings
from everloop.testing.deterministic import DeterministicPorts
from everloop.thread.background import StaleSummariesTask

WORDS_ALONE = Settings(memory=MemorySettings(embedder="none"))


@pytest.fixture
def notes(tmp_path: Path) -> Generator[Notebook]:
    """A notebook with four items by an agent."""
    notebook = Notebook(tmp_path)
    notebook.say("ash", "birch", "cedar", "date")
    yield notebook
    notebook.close()


def consolidate(notes: Notebook, *item_ids: str) -> str:
    """Consolidate items; returns the id of the summary."""
    done = notes.compressor.consolidate(item_ids, notes.recalled, by=ENGINE)
    assert isinstance(done, ConsolidationResult)
    assert done.verified
    return done.summary_id


def stale(notes: Notebook, since: int = 0) -> list[StaleWindow]:
    """The stale windows."""
    with notes.reading() as reader:
        return stale_windows(reader, notes.who(reader), since=since)


def windows(notes: Notebook) -> list[tuple[str, ...]]:
    """The items of the stale windows."""
    return [window.item_ids for window in stale(notes)]


def renew_all(notes: Notebook) -> int:
    """Renew stale windows as the background does until none is left; returns how many."""
    rounds = 0
    while found := stale(notes):
        rounds += 1
        assert rounds < 20
        notes.compressor.renew(found[0], notes.recalled)
    return rounds


def position(notes: Notebook, item_id: str) -> int:
    """The position of an item."""
    with notes.reading() as reader:
        return notes.item(item_id, reader).position


def retract(notes: Notebook, item_id: str, actor: str = "user") -> int:
    """Retract an item."""
    at = position(notes, item_id)
    return notes.log.retract([at], reason="slip", actor=actor).position


def original_items(notes: Notebook, item_id: str) -> set[str]:
    """The original items below a summary."""
    with notes.reading() as reader:
        found = zoom(reader, notes.who(reader), item_id)
    return {one.item.item_id for one in found if one.is_source}


class CountingReader(Reader):
    """A reader that counts its queries."""

    def __init__(self, reader: Reader) -> None:
        self.__dict__.update(vars(reader))
        self.asked = 0

    def rows(self, sql: str, bindings: Bindings = ()) -> list[Row]:
        """All rows of a query."""
        self.asked += 1
        return super().rows(sql, bindings)


def test_retracting_a_source_hides_its_summaries_at_every_level(
    notes: Notebook,
) -> None:
    low = consolidate(notes, "ash", "birch")
    consolidate(notes, low, "cedar")
    retract(notes, "ash")
    assert notes.listed() == {"birch", "cedar", "date"}
    with notes.reading() as reader:
        assert count_items(reader, notes.who(reader)) == 3


def test_undoing_the_retraction_restores_everything(notes: Notebook) -> None:
    low = consolidate(notes, "ash", "birch")
    top = consolidate(notes, low, "cedar")
    retraction = retract(notes, "ash")
    notes.log.retract([retraction], reason="no slip", actor="user")
    assert notes.listed() == {top, "date"}
    assert stale(notes) == []


def test_undoing_a_retraction_hides_the_replacement_summary(notes: Notebook) -> None:
    low = consolidate(notes, "ash", "birch")
    top = consolidate(notes, low, "cedar")
    retraction = retract(notes, "ash")
    assert renew_all(notes) == 2
    (new,) = notes.listed() - {"date"}
    shown = notes.log.preview_retract([retraction])
    streams = {touched.stream for touched in shown.hides}, {one.stream for one in shown.restores}
    assert [f"memory:{new}" in some for some in streams] == [True, False]
    assert [f"memory:{top}" in some for some in streams] == [False, True]
    undone = notes.log.retract([retraction], reason="no slip", actor="user").position
    assert notes.listed() == {top, "date"}
    assert stale(notes) == []
    rebuild_projections(notes.log)
    assert notes.listed() == {top, "date"}
    notes.log.retract([undone], reason="a slip after all", actor="user")
    assert notes.listed() == {new, "date"}
    assert stale(notes) == []


def test_a_retracted_summary_restores_its_sources_and_is_not_replaced(
    notes: Notebook,
) -> None:
    summary = consolidate(notes, "ash", "birch")
    retract(notes, summary)
    assert notes.listed() == {"ash", "birch", "cedar", "date"}
    assert stale(notes) == []


def test_a_summary_that_the_engine_retracted_is_replaced(notes: Notebook) -> None:
    summary = consolidate(notes, "ash", "birch")
    retract(notes, summary, actor="engine")
    assert windows(notes) == [("ash", "birch")]


def test_a_lost_summary_is_found_and_replaced(
    notes: Notebook,
) -> None:
    summary = consolidate(notes, "ash", "birch", "cedar")
    retract(notes, "ash")
    (found,) = stale(notes)
    assert (found.item_ids, found.summary_id, found.why) == (
        ("birch", "cedar"),
        summary,
        "retracted",
    )
    assert renew_all(notes) == 1
    assert len(notes.listed()) == 2


def test_nested_summaries_are_rebuilt_from_the_lowest_level(notes: Notebook) -> None:
    left, right = consolidate(notes, "ash", "birch"), consolidate(notes, "cedar", "date")
    consolidate(notes, left, right)
    retract(notes, "ash")
    assert windows(notes) == [("birch",)]
    assert renew_all(notes) == 2
    (top,) = notes.listed()
    assert original_items(notes, top) == {"birch", "cedar", "date"}


def test_nested_summaries_that_share_a_source_are_renewed_at_constant_cost(
    notes: Notebook,
) -> None:
    low = notes.compressor.compress(["ash", "birch"])
    assert isinstance(low, CompressionResult)
    notes.compressor.compress(["ash", low.summary_id])
    for year in range(3):
        notes.do(ReviseItem("ash", text=f"ash was cut down in year {year}."))
        assert renew_all(notes) == 2
        assert len(notes.listed()) == 6
    retract(notes, "birch")
    assert renew_all(notes) == 2
    assert len(notes.listed()) == 5


def test_a_wider_summary_of_the_same_items_does_not_replace_a_lost_one(
    notes: Notebook,
) -> None:
    notes.compressor.compress(["ash", "cedar"])
    low = notes.compressor.compress(["ash"])
    assert isinstance(low, CompressionResult)
    notes.compressor.compress(["ash", "birch", low.summary_id])
    retract(notes, low.summary_id, actor="engine")
    assert windows(notes) == [("ash", "birch")]
    assert renew_all(notes) == 1


def test_a_summary_without_any_source_left_is_not_replaced(notes: Notebook) -> None:
    low = consolidate(notes, "ash")
    consolidate(notes, low)
    retract(notes, "ash")
    assert stale(notes) == []
    assert notes.listed() == {"birch", "cedar", "date"}


def test_a_revised_source_makes_its_summary_stale_and_it_is_replaced(notes: Notebook) -> None:
    old = consolidate(notes, "ash", "birch")
    notes.do(ReviseItem("ash", text="ash was cut down."))
    (found,) = stale(notes)
    assert (found.item_ids, found.why) == (("ash", "birch"), "revised")
    assert renew_all(notes) == 1
    (new,) = notes.listed() - {"cedar", "date"}
    assert new != old
    with notes.reading() as reader:
        assert "cut down" in notes.item(new, reader).text


def test_a_summary_of_an_older_version_is_stale_even_if_recorded_later(notes: Notebook) -> None:
    before = position(notes, "ash"), position(notes, "birch")
    notes.do(ReviseItem("ash", scope="project:p"))
    late = RememberItem(
        "late", "Trees.", kind="summary", derived_from=("ash", "birch"), because=before
    )
    notes.do(late, ENGINE)
    since = notes.log.head - 1
    assert [one.item_ids for one in stale(notes, since)] == [("ash",), ("birch",)]
    renew_all(notes)
    assert "late" not in notes.listed()


def test_a_summary_without_dependencies_counts_as_current_when_recorded(
    notes: Notebook,
) -> None:
    notes.do(ReviseItem("ash", text="ash was cut down."))
    notes.do(RememberItem("brought", "Trees.", kind="summary", derived_from=("ash", "birch")))
    assert stale(notes) == []
    notes.do(ReviseItem("ash", text="ash grew again."))
    assert windows(notes) == [("ash", "birch")]


def test_a_revision_makes_summaries_at_every_level_stale(notes: Notebook) -> None:
    low = consolidate(notes, "ash", "birch")
    consolidate(notes, low, "cedar")
    notes.do(ReviseItem("ash", text="ash was cut down."))
    assert renew_all(notes) == 2
    (top,) = notes.listed() - {"date"}
    assert original_items(notes, top) == {"ash", "birch", "cedar"}
    with notes.reading() as reader:
        assert "cut down" in notes.item(top, reader).text


def test_a_stale_summary_that_a_user_cites_is_hidden_and_gets_a_successor(
    notes: Notebook,
) -> None:
    old = consolidate(notes, "ash", "birch")
    notes.cite(old)
    notes.do(ReviseItem("ash", text="ash was cut down."))
    assert renew_all(notes) == 1
    assert old not in notes.listed()
    assert len(notes.listed() - {"cedar", "date"}) == 1


def test_items_that_no_longer_share_an_audience_get_a_summary_each(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch")
    notes.do(ReviseItem("ash", scope="project:p"))
    assert windows(notes) == [("ash",), ("birch",)]
    assert renew_all(notes) == 2
    assert len(notes.listed() - {"cedar", "date"}) == 2


def test_a_refused_window_is_not_tried_until_an_item_changes(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch", "cedar")
    retract(notes, "ash")
    refusing = Compressor(notes.log, notes.engine, lambda _one, _two: Refusal("no"))
    assert isinstance(refusing.renew(stale(notes)[0], notes.recalled), Refusal)
    assert stale(notes) == []
    notes.do(ReviseItem("birch", text="birch grew."))
    assert windows(notes) == [("birch", "cedar")]


def test_a_refusal_at_a_small_budget_allows_a_larger_one(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch", "cedar")
    retract(notes, "ash")
    refusing = Compressor(notes.log, notes.engine, lambda _one, _two: Refusal("no"))
    refusing.compress(["birch", "cedar"], budget=1)
    assert windows(notes) == [("birch", "cedar")]


def test_the_items_of_a_refused_window_are_used_in_the_one_above(
    notes: Notebook,
) -> None:
    low = consolidate(notes, "ash", "birch")
    consolidate(notes, low, "cedar")
    retract(notes, "ash")
    refusing = Compressor(notes.log, notes.engine, lambda _one, _two: Refusal("no"))
    refusing.renew(stale(notes)[0], notes.recalled)
    assert windows(notes) == [("birch", "cedar")]
    assert renew_all(notes) == 1


def test_only_changes_after_a_position_are_looked_up(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch")
    before = retract(notes, "ash")
    assert stale(notes, since=before) == []
    assert stale(notes, since=before - 1)


def test_summaries_lost_before_a_position_are_not_looked_up_again(notes: Notebook) -> None:
    low = consolidate(notes, "ash", "birch")
    consolidate(notes, low, "cedar")
    asked = list[int]()
    for year in range(5):
        settled = notes.log.head
        notes.do(ReviseItem("ash", text=f"ash was cut down in year {year}."))
        with notes.reading() as reader:
            counting = CountingReader(reader)
            found = stale_windows(counting, notes.who(reader), since=settled)
        assert [one.item_ids for one in found] == [("ash", "birch")]
        asked.append(counting.asked)
        renew_all(notes)
    assert asked == asked[:1] * 5


def test_a_window_refused_before_a_position_is_stale_when_an_item_changes(
    notes: Notebook,
) -> None:
    consolidate(notes, "ash", "birch", "cedar")
    retract(notes, "ash")
    refusing = Compressor(notes.log, notes.engine, lambda _one, _two: Refusal("no"))
    refusing.renew(stale(notes)[0], notes.recalled)
    settled = notes.log.head
    notes.do(ReviseItem("birch", text="birch grew."))
    assert [one.item_ids for one in stale(notes, settled)] == [("birch", "cedar")]


def test_a_restored_window_is_stale_whenever_its_summary_was_lost(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch", "cedar")
    first = retract(notes, "ash")
    retract(notes, "birch")
    renew_all(notes)
    settled = notes.log.head
    notes.log.retract([first], reason="no slip", actor="user")
    assert [one.item_ids for one in stale(notes, settled)] == [("ash", "cedar")]


def test_a_window_that_waits_for_another_hosts_summary_is_reported(notes: Notebook) -> None:
    first = position(notes, "ash")
    week = RememberItem(
        "week", "Trees.", kind="summary", origin=Origin(host="p"), derived_from=("ash",),
        because=(first,),
    )  # fmt: skip
    notes.do(week, ENGINE)
    consolidate(notes, "week", "birch")
    notes.do(ReviseItem("ash", text="ash was felled."))
    with notes.reading() as reader:
        found = find_stale_windows(reader, notes.who(reader), but_by="p")
    assert (found.windows, found.waits) == ([], True)


def test_a_retired_summary_is_not_replaced(notes: Notebook) -> None:
    summary = consolidate(notes, "ash", "birch")
    notes.retire(summary, USER)
    notes.do(ReviseItem("ash", text="ash was cut down."))
    assert stale(notes) == []


def test_the_current_summary_of_a_window_is_found(notes: Notebook) -> None:
    summary = consolidate(notes, "ash", "birch")
    with notes.reading() as reader:
        who = notes.who(reader)
        assert current_summary(reader, who, ["cedar", "date"]) is None
        found = current_summary(reader, who, ["ash", "birch"])
        assert found is not None
        assert found.item_id == summary
        assert current_summary(reader, who, []) is None
        assert current_summary(reader, notes.who(reader, "stranger"), ["ash", "birch"]) is None
    notes.do(ReviseItem("ash", text="ash was cut down."))
    with notes.reading() as reader:
        assert current_summary(reader, notes.who(reader), ["birch", "ash"]) is None


def test_on_a_branch_where_a_summary_was_never_made_its_sources_count(notes: Notebook) -> None:
    before = notes.log.head
    consolidate(notes, "ash", "birch")
    notes.log.rewind(before, actor="user")
    assert notes.listed() == {"ash", "birch", "cedar", "date"}
    assert stale(notes) == []


@settings(max_examples=10, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(
    st.lists(st.sets(st.integers(0, 11), min_size=1, max_size=4), min_size=1, max_size=5),
    st.lists(st.tuples(st.booleans(), st.integers(0, 5)), min_size=1, max_size=3),
)
def test_after_any_change_the_background_leaves_nothing_stale_and_loses_no_source(
    tmp_path_factory: pytest.TempPathFactory,
    built: list[set[int]],
    changed: list[tuple[bool, int]],
) -> None:
    notes = Notebook(tmp_path_factory.mktemp("stale"))
    leaves = [f"leaf{number}" for number in range(6)]
    notes.say(*leaves)
    for chosen in built:
        here = sorted(notes.listed())
        consolidate(notes, *{here[number % len(here)] for number in chosen})
    for taken_back, number in changed:
        if taken_back and leaves[number]:
            retract(notes, leaves[number])
            leaves[number] = ""
        elif leaves[number]:
            notes.do(ReviseItem(leaves[number], text=f"{leaves[number]} at {notes.log.head}."))
        renew_all(notes)
        assert stale(notes) == []
        held = set[str]().union(*(original_items(notes, item) for item in notes.listed()))
        assert held == set(filter(None, leaves))
    notes.close()


def test_renewing_an_already_renewed_window_changes_nothing(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch")
    notes.do(ReviseItem("ash", text="ash was cut down."))
    (found,) = stale(notes)
    first = notes.compressor.renew(found, notes.recalled)
    head = notes.log.head
    assert notes.compressor.renew(found, notes.recalled) == first
    assert notes.log.head == head


def test_summaries_of_one_host_are_left_to_that_host(notes: Notebook) -> None:
    first = position(notes, "ash")
    week = RememberItem(
        "week",
        "Trees.",
        kind="summary",
        origin=Origin(host="pyramid"),
        derived_from=("ash",),
        because=(first,),
    )
    notes.do(week, ENGINE)
    notes.do(ReviseItem("ash", text="ash was felled."))
    with notes.reading() as reader:
        found = [stale_windows(reader, notes.who(reader), but_by=host) for host in ("", "pyramid")]
    assert [len(some) for some in found] == [1, 0]


def test_lost_summaries_are_replaced_in_the_background(tmp_path: Path) -> None:
    names = ("ash", "birch", "cedar")
    with Engine.open(tmp_path, settings=WORDS_ALONE, ports=DeterministicPorts().ports) as engine:
        for name in names:
            text = f"The {name} in the garden is tall, and the {name} needs water in June."
            engine.do(RememberItem(name, text, title=f"The {name}"), by=AGENT)
        writer = Compressor(engine.log, engine, extractive_summariser())
        first = writer.compress(names)
        assert isinstance(first, CompressionResult)
        renewing = StaleSummariesTask(engine.log, engine, engine.memory)
        renewing.start()
        try:
            engine.do(
                ReviseItem("birch", text="The birch was felled in May, the garden is bright.")
            )
            eventually(lambda: bool(holders(engine, names)) and renewing.idle.is_set())
            assert "felled" in engine.memory.find("user", holders(engine, names)).text
            gone = engine.memory.find("user", "cedar").position
            engine.log.retract([gone], reason="wrong", actor="user")
            eventually(lambda: bool(holders(engine, names[:2])) and renewing.idle.is_set())
        finally:
            renewing.stop()
        summary = engine.memory.find("user", holders(engine, names[:2]))
        assert set(summary.derived_from) == {"ash", "birch"}
        assert "cedar" not in summary.text
        assert not engine.memory.find("user", "ash").retired  # it was not asked to step back


def test_the_background_continues_from_where_nothing_was_stale(notes: Notebook) -> None:
    renewing = StaleSummariesTask(notes.log, notes.engine, notes.engine.memory)
    low = notes.compressor.compress(["ash", "birch"])
    assert isinstance(low, CompressionResult)
    notes.compressor.compress([low.summary_id, "cedar"])
    assert renewing.renew() == 0
    assert renewing.settled == notes.log.head
    for year in range(2):
        notes.do(ReviseItem("ash", text=f"ash was cut down in year {year}."))
        assert renewing.renew() == 2
        assert renewing.settled == notes.log.head
    assert stale(notes) == []


def test_a_stopped_renewal_makes_no_more_searches_and_continues_next_time(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch", "cedar")
    notes.do(ReviseItem("ash", text="ash was felled."))
    asked = list[str]()

    def recalled(text: str, number: int) -> list[str]:
        asked.append(text)
        return notes.recalled(text, number)

    writer = notes.compressor.summarise
    stopping = Compressor(notes.log, notes.engine, writer, stopped=lambda: bool(asked))
    stopping.renew(stale(notes)[0], recalled)
    assert len(asked) == 1
    assert notes.listed() == {"ash", "birch", "cedar", "date"}
    assert renew_all(notes) == 1
    assert len(notes.listed()) == 2


def test_sources_demoted_for_a_summary_are_demoted_for_its_successor(notes: Notebook) -> None:
    first = consolidate(notes, "ash", "birch")
    notes.do(ReviseItem("ash", text="ash was felled."))
    assert renew_all(notes) == 1
    with notes.reading() as reader:
        now = current_summary(reader, notes.who(reader), ("ash", "birch"))
        assert now is not None
        assert now.item_id != first
        assert [notes.item(name, reader).retired for name in ("ash", "birch")] == [True, True]


def test_sources_demoted_by_the_user_are_demoted_for_each_successor(notes: Notebook) -> None:
    notes.say("elm", "fir", by=USER)
    notes.compressor.compress(["elm", "fir"])
    notes.do(ReviseItem("elm", text="elm fell ill."), USER)
    assert renew_all(notes) == 1
    notes.compressor.consolidate(["elm", "fir"], notes.recalled, by=USER)
    for year in range(3):
        notes.do(ReviseItem("elm", text=f"elm was cut down in year {year}."), USER)
        assert renew_all(notes) == 1
        assert not {"elm", "fir"} & notes.listed()


def test_a_restored_source_is_not_demoted_again(notes: Notebook) -> None:
    consolidate(notes, "ash", "birch")
    steps = [at for at in range(1, notes.log.head + 1) if _is_demotion(notes, at)]
    notes.log.retract(steps[:1], reason="I want it", actor="user")
    notes.do(ReviseItem("birch", text="birch was cut down."))
    assert renew_all(notes) == 1
    assert "ash" in notes.listed()
    assert "birch" not in notes.listed()


def _is_demotion(notes: Notebook, at: int) -> bool:
    return notes.log.record(at).kind == "memory.demoted"


@pytest.mark.parametrize("actor", ["user", "agent:x"])
def test_a_summary_that_the_user_retracted_is_not_replaced(notes: Notebook, actor: str) -> None:
    consolidate(notes, "ash", "birch")
    notes.do(ReviseItem("ash", text="ash was felled."))
    renew_all(notes)
    with notes.reading() as reader:
        now = current_summary(reader, notes.who(reader), ("ash", "birch"))
    assert now is not None
    notes.log.retract([now.position], reason="no", actor=actor)
    assert stale(notes) == []


def holders(engine: Engine, item_ids: tuple[str, ...]) -> str:
    """The current summary of exactly these items, if there is one."""
    with engine.reading() as reader:
        found = current_summary(reader, load_viewer(reader, "user"), item_ids)
    return found.item_id if found else ""
