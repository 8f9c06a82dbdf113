"""What something new is compared with: everything that may be like it, and little else."""

from collections.abc import Generator
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.test_ghosts import Diary

from everloop.errors import Invalid
from everloop.log import Context
from everloop.memory.commands import GrantAudience, RememberItem
from everloop.memory.noticing import SHARED, telling, terms_of

WORDS = st.sampled_from([f"{first}{second}" for first in "abcdef" for second in "mnopq"])
TERMS = st.lists(st.one_of(WORDS, st.sampled_from(["12", "2026"])), unique=True, min_size=1)


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    diary = Diary(tmp_path / "diary")
    yield diary
    diary.log.close()


@given(TERMS, TERMS, st.lists(st.integers(0, 500), min_size=32, max_size=32))
def test_what_shares_enough_holds_one_of_the_first_terms_however_rare_they_are(
    one: list[str], other: list[str], sizes: list[int]
) -> None:
    wanted = telling(one, sizes[: len(one)])
    topical = sum(not term[0].isdigit() for term in one)
    nowhere = {term for term, size in zip(one, sizes, strict=False) if not size}
    shared = len(set(one) & set(other) - nowhere)
    if shared >= max(1, SHARED * topical):
        assert shared >= wanted.least
        assert set(wanted.terms[: wanted.first]) & set(other) - nowhere


@given(TERMS, st.integers(20_001, 10**9))
def test_of_terms_that_stand_nearly_everywhere_only_one_is_looked_up(
    terms: list[str], size: int
) -> None:
    assert telling(terms, [size] * len(terms)).first == 1


def test_among_many_of_one_pattern_each_is_told_from_the_others(diary: Diary) -> None:
    new = [f"The code of locker {n} in the hall is {7 * n + 1000}." for n in range(1, 200)]
    kept = [diary.keeper.remember(RememberItem("", text), by=Context()) for text in new]
    assert all(each.new and not each.contradicts for each in kept)
    again = [diary.keeper.remember(RememberItem("", new[n]), by=Context()) for n in (3, 77, 150)]
    assert [each.item_id for each in again] == [kept[n].item_id for n in (3, 77, 150)]
    other = RememberItem("", "The code of locker 78 in the hall is 999.")
    assert diary.keeper.remember(other, by=Context()).contradicts == (kept[77].item_id,)


def test_what_is_hidden_keeps_nothing_that_may_be_seen_from_being_noticed(diary: Diary) -> None:
    diary.engine.do(GrantAudience("guest", ("user",)))
    text = "The spare key of the cellar hangs behind the clock"
    seen = diary.keeper.remember(RememberItem("", text, witnesses=("guest",)), by=Context())
    for n in range(60):  # each nearer than the one that the guest may see
        hidden = f"{text} in the kitchen on hook {n}"
        diary.engine.do(RememberItem(f"hidden-{n}", hidden, witnesses=("host",)))
    guest = Context(actor="guest")
    again = RememberItem("", f"{text}.", witnesses=("guest",))
    assert diary.keeper.remember(again, by=guest).item_id == seen.item_id


def test_a_number_that_nothing_holds_is_not_what_is_looked_up() -> None:
    wanted = telling(["alarm", "code", "4711", "door"], [21_000, 30_000, 0, 25_000])
    assert wanted.terms[: wanted.first] == ("alarm",)


@pytest.mark.parametrize("scope", ["user", "project:x"])
def test_however_many_hidden_items_say_the_same_what_contradicts_is_noticed(
    diary: Diary, monkeypatch: pytest.MonkeyPatch, scope: str
) -> None:
    monkeypatch.setattr("everloop.memory.noticing.PLACES_MAX", 50)
    text = "The code of the alarm at the front door is"
    diary.engine.do(GrantAudience("guest", ("user",)))
    seen = diary.keeper.remember(RememberItem("", f"{text} 1", witnesses=("guest",)), by=Context())
    for n in range(60):
        hidden = RememberItem(f"h{n}", f"{text} {n + 100}", scope=scope, witnesses=("host",))
        diary.engine.do(hidden)
    new = RememberItem("", f"{text} 4711", witnesses=("guest",))
    assert diary.keeper.remember(new, by=Context(actor="guest")).contradicts == (seen.item_id,)


def test_what_other_scopes_hold_keeps_nothing_from_being_noticed(
    diary: Diary, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A word may be rare where it matters, and common elsewhere."""
    monkeypatch.setattr("everloop.memory.noticing.PLACES_MAX", 50)
    for n in range(60):  # of these words "attic" is the rarest, but not in this scope
        some = RememberItem(f"o{n}", f"The boiler and cellar valve, {n}", scope="project:x")
        diary.engine.do(some)
    diary.engine.do(RememberItem("attic", "Nothing is kept in the attic"))
    seen = diary.keeper.remember(
        RememberItem("", "The boiler valve of the cellar is open"), by=Context()
    )
    new = RememberItem("", "The boiler valve of the cellar is shut, not the attic")
    assert diary.keeper.remember(new, by=Context()).contradicts == (seen.item_id,)


def test_a_long_text_that_is_said_again_is_noticed(diary: Diary) -> None:
    lines = [f"Step {n}: turn the {chr(97 + n % 26)}{n} valve by {n} degrees." for n in range(200)]
    text = "\n\n".join(lines)
    first = diary.keeper.remember(RememberItem("", text), by=Context())
    assert diary.keeper.remember(RememberItem("", text), by=Context()).item_id == first.item_id


@pytest.mark.parametrize("text", [" ", " \n" * 3_000])
def test_a_text_without_words_is_refused_in_words(diary: Diary, text: str) -> None:
    assert terms_of(text) == ()
    with pytest.raises(Invalid):
        diary.keeper.remember(RememberItem("", text), by=Context())
