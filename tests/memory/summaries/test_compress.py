"""Compression: one summary for many items, for the same audience, and reversible."""

from collections.abc import Generator, Sequence
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.memory.fixtures import AGENT, ENGINE, USER, Notebook, joined

from everloop.errors import Conflict, Invalid, ModelFailed, NotFound, Unavailable
from everloop.log import Command, Context
from everloop.memory.model.commands import (
    GrantAudience,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
)
from everloop.memory.model.events import CompressionRefused, Origin
from everloop.memory.projections.queries import Item
from everloop.memory.retrieval.results import SearchQuery
from everloop.memory.summaries.compress import (
    CompressionResult,
    Compressor,
    ConsolidationResult,
    Refusal,
    Summariser,
    SummaryText,
)
from everloop.memory.summaries.extractive import extractive_summariser
from everloop.memory.summaries.zoom import DEPTH_MAX, chase, count_levels, zoom


@pytest.fixture
def notes(tmp_path: Path) -> Generator[Notebook]:
    """A notebook with three items by an agent."""
    notebook = Notebook(tmp_path)
    notebook.say("ash", "birch", "cedar")
    yield notebook
    notebook.close()


def compress(notes: Notebook, *item_ids: str, principal: str = "user") -> CompressionResult:
    """Compress, and expect no refusal."""
    made = notes.compressor.compress(item_ids, principal=principal)
    assert isinstance(made, CompressionResult)
    return made


def consolidate(notes: Notebook, *item_ids: str, by: Context = ENGINE) -> ConsolidationResult:
    """Consolidate, and expect no refusal."""
    done = notes.compressor.consolidate(item_ids, notes.recalled, by=by)
    assert isinstance(done, ConsolidationResult)
    return done


def compressor_with(notes: Notebook, writer: Summariser) -> Compressor:
    """A compressor with another summariser."""
    return Compressor(notes.log, notes.engine, writer)


def seen(notes: Notebook, item_id: str, principal: str = "user") -> Item:
    """One item as a principal sees it."""
    return notes.engine.memory.find(principal, item_id)


# -- compress --------------------------------------------------------------------------------------


def test_a_window_is_compressed_into_one_item_that_lists_its_sources(notes: Notebook) -> None:
    made = compress(notes, "cedar", "ash", "ash", "birch")
    summary = seen(notes, made.summary_id)
    assert made.summary_id.startswith("mem-c-")
    assert (summary.kind, summary.derived_from, summary.author) == (
        "summary",
        ("ash", "birch", "cedar"),
        "engine",
    )
    assert notes.listed() == {"ash", "birch", "cedar", made.summary_id}


def test_l128_a_summary_keeps_scope_witnesses_and_origin(notes: Notebook) -> None:
    origin = Origin(host="laptop", session="1f2e3d4c", model="m", folder="tools")
    notes.say("x", "y", scope="project:p", witnesses=("ann", "ben"), origin=origin)
    summary = seen(notes, compress(notes, "x", "y").summary_id)
    assert (summary.scope, summary.witnesses, summary.origin) == (
        "project:p",
        ("ann", "ben"),
        origin,
    )


def test_where_the_sources_differ_the_summary_claims_no_origin(notes: Notebook) -> None:
    notes.say("x", origin=Origin(host="laptop"), learned_via="saw")
    summary = seen(notes, compress(notes, "ash", "x").summary_id)
    assert (summary.origin, summary.learned_via) == (Origin(), "inferred")


def test_a_summary_happened_when_the_last_of_its_sources_did(notes: Notebook) -> None:
    notes.say("x", happened_at="2025-03-01T12:00:00+00:00")
    notes.say("y", happened_at="2025-03-04T12:00:00+00:00")
    made = compress(notes, "y", "x")
    assert made.sources == ("x", "y")
    assert seen(notes, made.summary_id).happened_at.isoformat() == "2025-03-04T12:00:00+00:00"


def test_a_summary_is_valid_as_long_as_any_of_its_sources(notes: Notebook) -> None:
    notes.say("x", durability="2026-02-01T00:00:00+00:00")
    notes.say("y", durability="2026-03-01T00:00:00+00:00")
    both = seen(notes, compress(notes, "x", "y").summary_id)
    assert both.holds_until is not None
    assert both.holds_until.month == 3
    assert seen(notes, compress(notes, "x", "ash").summary_id).holds_until is None


@pytest.mark.parametrize(
    "other", [{"scope": "global"}, {"witnesses": ("ann",)}, {"scope": "team:t"}]
)
def test_items_of_different_audiences_are_not_compressed(
    notes: Notebook, other: dict[str, object]
) -> None:
    notes.say("x", **other)  # type: ignore[arg-type]
    with pytest.raises(Invalid, match="same audience"):
        compress(notes, "ash", "x")


@pytest.mark.parametrize("item_ids", [(), tuple(f"i{number}" for number in range(65))])
def test_a_window_has_1_to_64_items(notes: Notebook, item_ids: tuple[str, ...]) -> None:
    with pytest.raises(Invalid, match="1 to 64 sources"):
        compress(notes, *item_ids)


def test_every_source_must_exist_for_the_asker(notes: Notebook) -> None:
    notes.say("secret", scope="project:p")
    notes.do(GrantAudience("agent:x", ("user",)), USER)
    for unknown in ("secret", "nothing"):
        with pytest.raises(NotFound, match=f"no item '{unknown}'"):
            compress(notes, "ash", unknown, principal="agent:x")


def test_a_retired_item_is_not_summarised(notes: Notebook) -> None:
    notes.retire("ash")
    with pytest.raises(Invalid, match="'ash' was retired"):
        compress(notes, "ash", "birch")


def test_the_same_window_gets_the_same_summary_until_an_item_changes(notes: Notebook) -> None:
    first = compress(notes, "ash", "birch")
    again = compress(notes, "birch", "ash")
    assert (again.summary_id, again.new) == (first.summary_id, False)
    notes.do(ReviseItem("ash", text="ash changed."))
    assert compress(notes, "ash", "birch").new


@pytest.mark.parametrize(
    "change",
    [ReviseItem("ash", text="ash changed."), ReviseItem("ash", scope="team:t"), RetireItem("ash")],
)
def test_a_summary_is_refused_if_a_source_changed_while_it_was_written(
    notes: Notebook, change: Command
) -> None:
    def slow(items: Sequence[Item], budget: int) -> SummaryText | Refusal:
        notes.do(change)
        return joined(items, budget)

    with pytest.raises(Conflict, match="'ash' changed"):
        compressor_with(notes, slow).compress(["ash", "birch"])
    assert not any(item_id.startswith("mem-c-") for item_id in notes.listed())


def test_two_concurrent_compressions_of_one_window_give_one_summary(
    notes: Notebook,
) -> None:
    def slow(items: Sequence[Item], budget: int) -> SummaryText | Refusal:
        compress(notes, "birch", "ash")
        return joined(items, budget)

    late = compressor_with(notes, slow).compress(["ash", "birch"])
    assert isinstance(late, CompressionResult)
    assert (late.new, late.sources) == (False, ("ash", "birch"))
    assert notes.listed() == {"ash", "birch", "cedar", late.summary_id}


def test_a_hidden_summary_does_not_prevent_a_visible_one(
    notes: Notebook,
) -> None:
    hidden = compress(notes, "ash", "birch").summary_id
    notes.do(ReviseItem(hidden, scope="project:p"))
    notes.do(GrantAudience("agent:x", ("user",)), USER)
    own = compress(notes, "ash", "birch", principal="agent:x")
    assert own.new
    assert seen(notes, own.summary_id, "agent:x").scope == "user"


def test_a_refusal_is_recorded_and_nothing_else_happens(notes: Notebook) -> None:
    def refuse(items: Sequence[Item], budget: int) -> Refusal:
        return Refusal(f"{len(items)} items, {budget} tokens: no")

    refused = compressor_with(notes, refuse).compress(["ash", "birch"], budget=7)
    assert refused == Refusal("2 items, 7 tokens: no")
    (fact,) = notes.log.read(notes.log.record(notes.log.head).stream)
    assert fact.event == CompressionRefused(("ash", "birch"), "2 items, 7 tokens: no")
    assert fact.because == (1, 2)
    assert notes.listed() == {"ash", "birch", "cedar"}


def test_a_refusal_is_recorded_once_per_budget_until_an_item_changes(
    notes: Notebook,
) -> None:
    refusing = compressor_with(notes, lambda _one, budget: Refusal(f"{budget} tokens: no"))
    for budget, more in ((1, 1), (1, 0), (500, 1), (500, 0), (1, 0)):
        head = notes.log.head
        refusing.compress(["ash", "birch"], budget=budget)
        assert notes.log.head - head == more
    notes.do(ReviseItem("ash", text="ash changed."))
    head = notes.log.head
    refusing.compress(["ash", "birch"], budget=1)
    assert notes.log.head == head + 1


@pytest.mark.parametrize(
    ("title", "text"),
    [("", "x"), ("t" * 201, "x"), ("t", " "), ("t", "x" * 4_001), ("t", "word " * 30)],
)
def test_an_invalid_summary_is_not_stored(notes: Notebook, title: str, text: str) -> None:
    with pytest.raises(ModelFailed):
        compressor_with(notes, lambda _one, _two: SummaryText(title, text)).compress(
            ["ash"], budget=20
        )
    assert notes.listed() == {"ash", "birch", "cedar"}


def test_an_item_that_is_its_own_source_is_not_compressed(notes: Notebook) -> None:
    notes.do(RememberItem("x", "x", derived_from=("y",)))
    notes.do(RememberItem("y", "y", derived_from=("x",)))
    with pytest.raises(Invalid, match="a source of itself"):
        compress(notes, "x", "ash")


def test_two_paths_to_one_source_are_not_a_cycle(notes: Notebook) -> None:
    left, right = compress(notes, "ash", "birch"), compress(notes, "birch", "cedar")
    top = compress(notes, left.summary_id, right.summary_id)
    with notes.reading() as reader:
        found = zoom(reader, notes.who(reader), top.summary_id)
    assert sorted(one.item.item_id for one in found if one.is_source) == ["ash", "birch", "cedar"]


def test_compressions_are_at_most_16_deep(notes: Notebook) -> None:
    newest = "ash"
    for _ in range(DEPTH_MAX):
        newest = compress(notes, newest).summary_id
    with pytest.raises(Invalid, match="16 levels deep"):
        compress(notes, newest)


def test_a_chain_deeper_than_the_limit_is_an_error() -> None:
    chain = {str(number): [str(number + 1)] for number in range(30)}
    with pytest.raises(Invalid, match="more than 16"):
        count_levels(chain, "0", {})


# -- consolidate -----------------------------------------------------------------------------------


def test_verified_sources_are_demoted_and_stay_reachable(notes: Notebook) -> None:
    done = consolidate(notes, "ash", "birch")
    assert (done.verified, done.demoted, done.kept_immune) == (True, ("ash", "birch"), ())
    assert notes.listed() == {"cedar", done.summary_id}
    assert seen(notes, "ash").retired
    with notes.reading() as reader:
        found = zoom(reader, notes.who(reader), done.summary_id)
    assert [one.item.item_id for one in found] == [done.summary_id, "ash", "birch"]


def test_sources_that_a_user_cites_wrote_or_pinned_are_kept(notes: Notebook) -> None:
    notes.say("maple", by=USER)
    notes.cite("ash")
    notes.do(RateItem("birch", 3), USER)
    done = consolidate(notes, "ash", "birch", "cedar", "maple")
    assert done.verified
    assert set(done.kept_immune) == {"ash", "birch", "maple"}
    assert done.demoted == ("cedar",)


def test_the_user_may_consolidate_what_the_user_wrote(notes: Notebook) -> None:
    notes.say("maple", by=USER)
    assert consolidate(notes, "maple", "ash", by=USER).demoted == ("ash", "maple")


def test_one_missed_source_prevents_all_demotions(notes: Notebook) -> None:
    def recalled(text: str, k: int) -> list[str]:
        return notes.recalled(text, k) if "birch" not in text.split() else ["ash"]

    done = notes.compressor.consolidate(["ash", "birch"], recalled, by=ENGINE)
    assert isinstance(done, ConsolidationResult)
    assert (done.verified, done.missed, done.demoted) == (False, ("birch",), ())
    assert notes.listed() == {"ash", "birch", "cedar", done.summary_id}


def test_a_failing_search_prevents_all_demotions(notes: Notebook) -> None:
    def recalled(text: str, k: int) -> list[str]:
        raise Unavailable(f"no index for {text!r} and {k}")

    done = notes.compressor.consolidate(["ash", "birch"], recalled, by=ENGINE)
    assert isinstance(done, ConsolidationResult)
    assert (done.verified, done.demoted) == (False, ())


@pytest.mark.parametrize("recall_k", [0, -1])
def test_verifying_by_no_hits_at_all_fails_closed(notes: Notebook, recall_k: int) -> None:
    done = notes.compressor.consolidate(["ash"], notes.recalled, by=ENGINE, recall_k=recall_k)
    assert isinstance(done, ConsolidationResult)
    assert (done.verified, done.demoted) == (False, ())


def test_a_summary_below_the_top_k_does_not_count_as_found(notes: Notebook) -> None:
    done = notes.compressor.consolidate(
        ["ash"], lambda text, _: [*"xyz", *notes.recalled(text, 9)], by=ENGINE, recall_k=2
    )
    assert isinstance(done, ConsolidationResult)
    assert not done.verified


def test_consolidating_again_continues_an_interrupted_consolidation(notes: Notebook) -> None:
    first = notes.compressor.consolidate(["ash", "birch"], lambda _one, _two: [], by=ENGINE)
    again = consolidate(notes, "ash", "birch")
    assert isinstance(first, ConsolidationResult)
    assert (again.summary_id, again.demoted) == (first.summary_id, ("ash", "birch"))
    assert consolidate(notes, "ash", "birch") == again


def test_sources_of_a_retired_summary_are_demoted_for_the_next_one(
    notes: Notebook,
) -> None:
    first = consolidate(notes, "ash", "birch")
    notes.retire(first.summary_id)
    assert {"ash", "birch"} <= notes.listed()
    again = consolidate(notes, "ash", "birch")
    assert again.summary_id != first.summary_id
    assert again.demoted == ("ash", "birch")
    assert notes.listed().isdisjoint(("ash", "birch"))


def test_a_refusal_demotes_nothing(notes: Notebook) -> None:
    compressor = compressor_with(notes, lambda _one, _two: Refusal("no"))
    assert compressor.consolidate(["ash"], notes.recalled, by=AGENT_AS_OWNER) == Refusal("no")


AGENT_AS_OWNER = Context(actor="user", session="1f2e3d4c")


def test_an_agent_consolidates_only_what_it_sees(notes: Notebook) -> None:
    with pytest.raises(NotFound):
        notes.compressor.consolidate(["ash"], notes.recalled, by=AGENT)
    notes.do(GrantAudience("agent:x", ("user",)), USER)
    assert consolidate(notes, "ash", "birch", by=AGENT).demoted == ("ash", "birch")


def test_an_extractive_summary_is_found_by_the_titles_of_its_sources(notes: Notebook) -> None:
    notes.do(RememberItem("x", "We decided to host the wiki on Hetzner. It costs 4 euros."))
    notes.do(RememberItem("y", "Anna's birthday is on 3 May. She likes lilac and black tea."))
    compressor = compressor_with(notes, extractive_summariser())
    done = compressor.consolidate(["x", "y"], notes.recalled, by=ENGINE, budget=80)
    assert isinstance(done, ConsolidationResult)
    assert (done.verified, done.demoted) == (True, ("x", "y"))


def test_an_extractive_summary_is_verified_by_the_real_search(notes: Notebook) -> None:
    texts = [
        "We decided to host the wiki on Hetzner, because it costs 4 euros a month.",
        "Anna's birthday is on 3 May. She likes lilac and black tea.",
        "The release of version 2.1 moved to 12 June. Kai is ill until then.",
        "Backups run at 02:30 with restic. The key is in the safe.",
    ]
    names = [f"fact{number}" for number in range(len(texts))]
    for name, text in zip(names, texts, strict=True):
        notes.do(RememberItem(name, text))

    def recalled(text: str, k: int) -> list[str]:
        answer = notes.engine.memory.recall("user", SearchQuery(text, limit=k, mode="text"))
        return [hit.item.item_id for hit in answer.hits]

    done = compressor_with(notes, extractive_summariser()).consolidate(
        names, recalled, by=ENGINE, budget=120
    )
    assert isinstance(done, ConsolidationResult)
    assert (done.verified, done.demoted) == (True, tuple(names))
    assert recalled("where is the wiki hosted?", 1) == [done.summary_id]


# -- chase, zoom -----------------------------------------------------------------------------------


def test_chasing_leads_to_the_newest_summary(notes: Notebook) -> None:
    first = consolidate(notes, "ash", "birch").summary_id
    second = consolidate(notes, first, "cedar").summary_id
    with notes.reading() as reader:
        who = notes.who(reader)
        assert [chase(reader, who, item).item_id for item in ("ash", "cedar", second)] == [
            second
        ] * 3


def test_chasing_prefers_the_newest_summary_and_skips_retired_ones(
    notes: Notebook,
) -> None:
    old, new = (
        compress(notes, "ash", "birch").summary_id,
        compress(notes, "ash", "cedar").summary_id,
    )
    with notes.reading() as reader:
        assert chase(reader, notes.who(reader), "ash").item_id == new
    notes.retire(new)
    with notes.reading() as reader:
        assert chase(reader, notes.who(reader), "ash").item_id == old


def test_chasing_a_cycle_ends(notes: Notebook) -> None:
    notes.do(RememberItem("x", "x", derived_from=("y",)))
    notes.do(RememberItem("y", "y", derived_from=("x",)))
    with notes.reading() as reader:
        assert chase(reader, notes.who(reader), "x").item_id in {"x", "y"}
        assert len(zoom(reader, notes.who(reader), "x")) == 2


def test_chasing_and_zooming_end_after_16_steps(notes: Notebook) -> None:
    notes.do(RememberItem("link0", "zero"))
    for number in range(1, 20):
        notes.do(RememberItem(f"link{number}", "more", derived_from=(f"link{number - 1}",)))
    with notes.reading() as reader:
        assert chase(reader, notes.who(reader), "link0").item_id == "link16"
        assert len(zoom(reader, notes.who(reader), "link19")) == 17


def test_chasing_and_zooming_reveal_nothing_hidden(notes: Notebook) -> None:
    summary = compress(notes, "ash", "birch").summary_id
    notes.do(ReviseItem(summary, scope="project:p"))
    notes.do(GrantAudience("agent:x", ("user",)), USER)
    notes.do(GrantAudience("agent:y", ("project:p",)), USER)
    with notes.reading() as reader:
        assert chase(reader, notes.who(reader, "agent:x"), "ash").item_id == "ash"
        below = zoom(reader, notes.who(reader, "agent:y"), summary)
        assert [one.item.item_id for one in below] == [summary]
        with pytest.raises(NotFound):
            zoom(reader, notes.who(reader, "stranger"), summary)


@settings(max_examples=12, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.lists(st.integers(0, 9), min_size=1, max_size=4), min_size=1, max_size=6))
def test_zooming_into_a_summary_gives_its_sources(
    tmp_path_factory: pytest.TempPathFactory, windows: list[list[int]]
) -> None:
    notes = Notebook(tmp_path_factory.mktemp("zoom"))
    known = [f"leaf{number}" for number in range(4)]
    notes.say(*known)
    below = {name: {name} for name in known}
    for chosen in windows:
        window = [known[number % len(known)] for number in chosen]
        summary = compress(notes, *window).summary_id
        below[summary] = set().union(*(below[name] for name in window))
        known.append(summary)
        with notes.reading() as reader:
            found = zoom(reader, notes.who(reader), summary)
        assert {one.item.item_id for one in found if one.is_source} == below[summary]
        assert {one.item.item_id for one in found if one.depth == 1} == set(window)
    notes.close()
