"""Prompt assembly: within the budget, in a fixed order, with every piece in the ledger."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.fixtures import USER, Notebook

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log import Context
from everloop.memory.context import (
    TIERS,
    AssembledPrompt,
    PromptPiece,
    PromptSection,
    Tier,
    TokenBudget,
    assemble_prompt,
    by_priority,
    load_ledger,
)
from everloop.memory.model.commands import KeepContext
from everloop.memory.token_counts import ESTIMATE, TokenCounter

WORDS = TokenCounter("words", lambda text: len(text.split()))


def pieces(name: str, count: int, words: int = 9) -> tuple[PromptPiece, ...]:
    """Pieces of a number of words; with the line break, one token more."""
    return tuple(
        PromptPiece(f"{name}{number}", " ".join([f"{name}{number}"] * words), (number + 1,))
        for number in range(count)
    )


def section(name: str, tier: Tier, count: int = 2, **more: object) -> PromptSection:
    """A section of pieces that take ten tokens each; with the break after it, one more."""
    return PromptSection(name, tier, pieces(name, count), **more)  # type: ignore[arg-type]


def built(sections: list[PromptSection], soft: int, hard: int) -> AssembledPrompt:
    """A prompt, counted in words."""
    return assemble_prompt(sections, TokenBudget(soft, hard), principal="user", tokens=WORDS)


def keys(assembled: AssembledPrompt) -> list[str]:
    """The pieces that are in the prompt."""
    entries = [entry for one in assembled.ledger.sections for entry in one.entries]
    return [entry.key for entry in entries if not entry.left_out]


def why(assembled: AssembledPrompt) -> dict[str, str]:
    """The pieces that are not in the prompt, and why."""
    entries = [entry for one in assembled.ledger.sections for entry in one.entries]
    return {entry.key: entry.left_out for entry in entries if entry.left_out}


# C40, in the order of a world's prompt: what goes first is the previous scene, then the memories
# beyond the best two, then older dialogue; of what should be in, the digest goes first.
SCENE = [
    section("identity", "must"),
    section("edge", "must"),
    section("other_edges", "should", stays=3),
    section("threads", "should", stays=2),
    section("digest", "should", stays=1),
    section("previous_scene", "nice", stays=1),
    section("memories", "nice", stays=2),
    section("older", "nice", stays=3, elision="(earlier turns)", unbroken=True),
    section("turns", "must"),
]


def test_the_omission_order_is_fixed() -> None:
    went: list[str] = []
    for room in range(200, 62, -1):
        gone = why(built(SCENE, room, room))
        went += [key for key in gone if key not in went]
    assert went == [
        "previous_scene1",
        "previous_scene0",
        "memories1",
        "memories0",
        "older1",
        "older0",
        "digest1",
        "digest0",
        "threads1",
        "threads0",
        "other_edges1",
        "other_edges0",
    ]


def test_of_equal_sections_the_later_one_is_omitted_first() -> None:
    sections = [section("one", "nice"), section("two", "nice"), section("three", "should")]
    assert [one.name for one in by_priority(sections)] == ["three", "one", "two"]


def test_the_prompt_keeps_the_order_it_was_given() -> None:
    assembled = built(SCENE, 1_000, 1_000)
    assert [part.name for part in assembled.parts] == [one.name for one in SCENE]
    assert assembled.text.startswith("identity0 identity0")
    assert why(assembled) == {}


def test_within_a_section_the_last_piece_of_equal_priority_is_omitted_first() -> None:
    turns = tuple(PromptPiece(f"t{number}", "word " * 9, priority=number) for number in range(4))
    latest = built([PromptSection("turns", "nice", turns)], 21, 99)
    assert keys(latest) == ["t2", "t3"]
    first = built([section("memories", "nice", 4)], 21, 99)
    assert keys(first) == ["memories0", "memories1"]


def test_nice_fills_to_the_soft_budget_and_should_to_the_hard_one() -> None:
    sections = [section("needed", "should", 9), section("extra", "nice", 9)]
    assembled = built(sections, 50, 70)
    assert [key for key in keys(assembled) if key.startswith("extra")] == []
    assert why(assembled)["needed6"] == "hard budget"
    assert why(assembled)["extra0"] == "tier"
    assert assembled.ledger.tokens == 61


def test_a_section_keeps_to_its_own_budget() -> None:
    assembled = built([section("memories", "should", 4, tokens_max=25)], 99, 99)
    assert keys(assembled) == ["memories0", "memories1"]
    assert why(assembled) == {"memories2": "section budget", "memories3": "section budget"}


def test_a_piece_that_is_too_long_does_not_displace_shorter_ones() -> None:
    long = PromptPiece("long", "word " * 500)
    sections = [PromptSection("memories", "should", (*pieces("m", 1), long, *pieces("n", 1)))]
    assert keys(built(sections, 30, 30)) == ["m0", "n0"]


def test_an_unbroken_section_has_no_gaps_and_shows_where_it_was_cut() -> None:
    turns = [PromptPiece(f"t{number}", f"turn {number}", priority=number) for number in range(5)]
    turns[2] = PromptPiece("t2", "word " * 50, priority=2)
    dialogue = PromptSection("turns", "nice", tuple(turns), elision="(cut)", unbroken=True)
    assembled = built([dialogue], 20, 20)
    assert assembled.text == "(cut)\nturn 3\nturn 4"
    assert why(assembled) == {"t0": "soft budget", "t1": "soft budget", "t2": "soft budget"}


def test_when_nothing_of_a_section_fits_only_its_elision_is_shown() -> None:
    dialogue = PromptSection(
        "turns", "nice", pieces("t", 3, 50), heading="# Before", elision="(earlier turns)"
    )
    assert built([dialogue], 20, 20).text == "(earlier turns)"
    assert built([dialogue], 2, 2).parts == ()


def test_a_duplicate_piece_is_included_once() -> None:
    again = PromptSection("memories", "nice", (*pieces("turns", 1), *pieces("m", 1)))
    assembled = built([again, section("turns", "must")], 99, 99)
    assert why(assembled) == {"turns0": "duplicate"}
    assert assembled.text.count("turns0") == 9


def test_a_piece_omitted_from_one_section_may_be_in_another() -> None:
    shared = pieces("m", 2)
    sections = [
        PromptSection("best", "should", shared, tokens_max=11),
        PromptSection("more", "nice", shared),
    ]
    assembled = built(sections, 99, 99)
    assert keys(assembled) == ["m0", "m1"]
    entries = [[e.left_out for e in one.entries] for one in assembled.ledger.sections]
    assert entries == [["", "section budget"], ["duplicate", ""]]


def test_a_must_section_over_the_hard_budget_is_an_error_with_a_hint() -> None:
    with pytest.raises(Invalid, match="'identity' exceeds the limit") as problem:
        built([section("identity", "must", 5)], 50, 50)
    assert "hard budget" in problem.value.hint


def test_a_must_section_may_exceed_its_own_and_the_soft_budget() -> None:
    assembled = built([section("identity", "must", 5, tokens_max=5)], 20, 60)
    assert len(keys(assembled)) == 5


def test_an_empty_section_takes_no_room() -> None:
    empty = PromptSection("memories", "should", (), heading="# Memories")
    assembled = built([empty], 9, 9)
    assert (assembled.parts, assembled.ledger.tokens) == ((), 0)


@pytest.mark.parametrize("budget", [TokenBudget(9, 8), TokenBudget(-1, 8)])
def test_inconsistent_budgets_are_refused(budget: TokenBudget) -> None:
    with pytest.raises(Invalid, match="soft budget"):
        assemble_prompt([], budget, principal="user")


def test_two_sections_with_the_same_name_are_refused() -> None:
    with pytest.raises(Invalid, match="same name"):
        built([section("memories", "must"), section("memories", "nice")], 99, 99)


def test_an_estimate_says_that_it_is_one() -> None:
    estimated = assemble_prompt([section("identity", "must")], principal="user").ledger
    assert (estimated.counted_by, estimated.exact) == ("estimate", False)
    counted = built([section("identity", "must")], 99, 99).ledger
    assert (counted.counted_by, counted.exact) == ("words", True)


TEXTS = st.text("ab \n.é漢", min_size=1, max_size=60)
PIECES = st.lists(
    st.builds(
        PromptPiece,
        key=st.integers(0, 12).map(str),
        text=TEXTS,
        positions=st.lists(st.integers(1, 99), max_size=2).map(tuple),
        priority=st.integers(0, 2),
    ),
    max_size=6,
).map(tuple)
SECTIONS = st.lists(
    st.builds(
        PromptSection,
        name=st.integers(0, 99).map(str),
        tier=st.sampled_from(TIERS),
        pieces=PIECES,
        heading=st.sampled_from(["", "# Heading"]),
        tokens_max=st.integers(0, 40),
        stays=st.integers(0, 2),
        elision=st.sampled_from(["", "(left out)"]),
        unbroken=st.booleans(),
    ),
    max_size=6,
    unique_by=lambda section: section.name,
)


@given(SECTIONS, st.integers(0, 150), st.integers(0, 150))
def test_every_prompt_is_accountable(sections: list[PromptSection], soft: int, more: int) -> None:
    budget = TokenBudget(soft, soft + more)
    must = [piece for one in sections if one.tier == "must" for piece in one.pieces]
    try:
        assembled = assemble_prompt(sections, budget, principal="user")
    except Invalid:
        assert sum(ESTIMATE(piece.text) + 3 for piece in must) + 20 * len(sections) > budget.hard
        return
    entries = [entry for one in assembled.ledger.sections for entry in one.entries]
    offered = [piece for one in sections for piece in one.pieces]
    assert [(e.key, e.positions) for e in entries] == [(p.key, p.positions) for p in offered]
    inside = [entry.key for entry in entries if not entry.left_out]
    assert len(inside) == len(set(inside))
    assert {piece.key for piece in must} <= set(inside)
    assert assembled.ledger.tokens == sum(one.tokens for one in assembled.ledger.sections)
    assert ESTIMATE(assembled.text) <= assembled.ledger.tokens <= budget.hard
    assert all(e.left_out != "duplicate" or e.key in inside for e in entries if e.left_out)
    assert assembled == assemble_prompt(sections, budget, principal="user")


# -- kept ------------------------------------------------------------------------------------------


@pytest.fixture
def notes(tmp_path: Path) -> Generator[Notebook]:
    """An empty notebook."""
    notebook = Notebook(tmp_path)
    yield notebook
    notebook.close()


def test_a_ledger_can_be_opened_for_any_reply_and_contains_no_text(notes: Notebook) -> None:
    kept = assemble_prompt(SCENE, TokenBudget(150, 150), principal="agent:x", tokens=WORDS).ledger
    position = notes.do(KeepContext("c1", kept), USER).position
    with notes.reading() as reader:
        assert load_ledger(reader, notes.who(reader), position) == kept
    assert "identity0 identity0" not in (notes.log.record(position).data or "")


def test_a_ledger_is_visible_to_the_owner_and_to_its_principal(notes: Notebook) -> None:
    kept = assemble_prompt([section("turns", "must")], principal="agent:x").ledger
    position = notes.do(KeepContext("c1", kept), USER).position
    with notes.reading() as reader:
        assert load_ledger(reader, notes.who(reader, "agent:x"), position) == kept
        for principal, at in [("agent:y", position), ("user", 0), ("user", position + 1)]:
            with pytest.raises(NotFound, match="no ledger"):
                load_ledger(reader, notes.who(reader, principal), at)


def test_another_fact_does_not_open_as_a_ledger(notes: Notebook) -> None:
    position = notes.say("ash")
    with notes.reading() as reader, pytest.raises(NotFound):
        load_ledger(reader, notes.who(reader), position)


def test_a_ledger_is_stored_once_and_never_changed(notes: Notebook) -> None:
    kept = assemble_prompt([section("turns", "must")], principal="user").ledger
    notes.do(KeepContext("c1", kept), Context(actor="engine"))
    assert notes.do(KeepContext("c1", kept)).facts == ()
    other = assemble_prompt([section("other", "must")], principal="user").ledger
    with pytest.raises(Conflict):
        notes.do(KeepContext("c1", other))


def test_a_ledger_is_retracted_with_its_dependencies(notes: Notebook) -> None:
    turn = notes.say("ash")
    kept = assemble_prompt([section("turns", "must")], principal="user").ledger
    receipt = notes.do(KeepContext("c1", kept, because=(turn,)), USER)
    assert receipt.facts[0].because == (turn,)
    with notes.log.reading(as_of=turn) as reader, pytest.raises(NotFound):
        load_ledger(reader, notes.who(reader), receipt.position)
    notes.log.retract([turn], reason="slip", actor="user")
    with notes.reading() as reader, pytest.raises(NotFound):
        load_ledger(reader, notes.who(reader), receipt.position)
