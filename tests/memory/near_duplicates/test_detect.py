"""Near-duplicate candidates: every possible near duplicate is compared, and little else."""

from collections.abc import Generator
from itertools import product
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.memory.test_ghosts import Diary

from everloop.errors import Invalid
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, RememberItem, RetireItem, ReviseItem
from everloop.memory.near_duplicates.detect import comparison_terms
from everloop.memory.near_duplicates.signatures import TermSignatures
from everloop.memory.service import MemoryService

WHERE = list(enumerate(product(("key", "bill", "manual"), ("car", "boat", "oven", "piano"))))
WORDS = st.sampled_from([f"{first}{second}" for first in "abcdef" for second in "mnopq"])


@pytest.fixture
def diary(tmp_path: Path) -> Generator[Diary]:
    """An empty diary."""
    diary = Diary(tmp_path / "diary")
    yield diary
    diary.log.close()


@given(st.lists(st.lists(WORDS, max_size=40), max_size=40), st.data())
def test_signatures_never_miss_a_text_that_contains_the_terms(
    texts: list[list[str]], data: st.DataObject
) -> None:
    sketches, taken = TermSignatures(), 0
    while taken < len(texts):
        some = data.draw(st.integers(1, len(texts) - taken))
        sketches.extend(texts[taken : taken + some])
        taken += some
    asked = data.draw(st.lists(WORDS, unique=True))
    exactly = [len(set(asked) & set(text)) for text in texts]
    assert all(
        may >= does for may, does in zip(sketches.shared_counts(asked), exactly, strict=True)
    )


def test_signatures_have_few_false_positives() -> None:
    texts = [[f"word{number}" for number in range(at, at + 20)] for at in range(0, 200_000, 20)]
    sketches = TermSignatures()
    sketches.extend(texts)
    asked = ["word7", *(f"word{number}" for number in range(300_000, 300_009))]
    shared = sketches.shared_counts(asked)
    assert shared[0] >= 1
    assert (shared >= 1).sum() < 250
    assert (shared >= 2).sum() < 5


def test_signatures_count_more_terms_than_fit_into_a_byte() -> None:
    sketches, words = TermSignatures(), [f"word{number}" for number in range(300)]
    sketches.extend([words, []])
    assert sketches.shared_counts(words).tolist() == [300, 0]
    assert sketches.shared_counts([]).tolist() == [0, 0]


def test_items_of_one_pattern_are_not_taken_for_each_other(diary: Diary) -> None:
    new = [f"The code of locker {n} in the hall is {7 * n + 1000}." for n in range(1, 200)]
    kept = [diary.keeper.remember(RememberItem("", text), by=Context()) for text in new]
    assert all(each.new and not each.contradicts for each in kept)
    again = [diary.keeper.remember(RememberItem("", new[n]), by=Context()) for n in (3, 77, 150)]
    assert [each.item_id for each in again] == [kept[n].item_id for n in (3, 77, 150)]
    other = RememberItem("", "The code of locker 78 in the hall is 999.")
    assert diary.keeper.remember(other, by=Context()).contradicts == (kept[77].item_id,)


def test_hidden_items_do_not_mask_a_visible_near_duplicate(diary: Diary) -> None:
    diary.engine.do(GrantAudience("guest", ("user",)))
    text = "The spare key of the cellar hangs behind the clock"
    seen = diary.keeper.remember(RememberItem("", text, witnesses=("guest",)), by=Context())
    for n in range(60):  # each nearer than the one that the guest may see
        hidden = f"{text} in the kitchen on hook {n}"
        diary.engine.do(RememberItem(f"hidden-{n}", hidden, witnesses=("host",)))
    guest = Context(actor="guest")
    again = RememberItem("", f"{text}.", witnesses=("guest",))
    assert diary.keeper.remember(again, by=guest).item_id == seen.item_id


@pytest.mark.parametrize("scope", ["user", "project:x"])
def test_many_hidden_duplicates_do_not_mask_a_contradiction(diary: Diary, scope: str) -> None:
    text = "The code of the alarm at the front door is"
    diary.engine.do(GrantAudience("guest", ("user",)))
    seen = diary.keeper.remember(RememberItem("", f"{text} 1", witnesses=("guest",)), by=Context())
    for n in range(60):
        hidden = RememberItem(f"h{n}", f"{text} {n + 100}", scope=scope, witnesses=("host",))
        diary.engine.do(hidden)
    new = RememberItem("", f"{text} 4711", witnesses=("guest",))
    assert diary.keeper.remember(new, by=Context(actor="guest")).contradicts == (seen.item_id,)


def test_many_retired_duplicates_do_not_mask_a_contradiction(diary: Diary) -> None:
    text = "The code of the alarm at the front door is"
    seen = diary.keeper.remember(RememberItem("", f"{text} 1"), by=Context())
    for n in range(60):
        diary.engine.do(RememberItem(f"old{n}", f"{text} {n + 100}"))
        diary.engine.do(RetireItem(f"old{n}", "over"))
    new = RememberItem("", f"{text} 4711")
    assert diary.keeper.remember(new, by=Context()).contradicts == (seen.item_id,)


def test_the_old_text_of_a_revised_item_is_not_compared(diary: Diary) -> None:
    first = diary.keeper.remember(RememberItem("", "The keys hang behind the clock"), by=Context())
    diary.engine.do(ReviseItem(first.item_id, text="Nobody knows where anything is"))
    again = RememberItem("", "The keys hang behind the clock")
    assert diary.keeper.remember(again, by=Context()).new


def test_an_item_moved_to_another_audience_is_compared_there(diary: Diary) -> None:
    text = "The keys hang behind the clock"
    first = diary.keeper.remember(RememberItem("", text), by=Context())
    diary.engine.do(ReviseItem(first.item_id, witnesses=("ann", "bob")))
    assert diary.keeper.remember(RememberItem("", text), by=Context()).new
    again = RememberItem("", text, witnesses=("bob", "ann"))
    assert diary.keeper.remember(again, by=Context()).item_id == first.item_id


def test_a_purged_item_is_not_compared(diary: Diary) -> None:
    text = "The keys hang behind the clock"
    first = diary.keeper.remember(RememberItem("", text), by=Context())
    diary.log.purge([first.position], reason="private", actor="user")
    second = diary.keeper.remember(RememberItem("", text), by=Context())
    assert second.new
    assert diary.keeper.remember(RememberItem("", text), by=Context()).item_id == second.item_id


def test_a_repeated_long_text_is_detected(diary: Diary) -> None:
    lines = [f"Step {n}: turn the {chr(97 + n % 26)}{n} valve by {n} degrees." for n in range(200)]
    text = "\n\n".join(lines)
    first = diary.keeper.remember(RememberItem("", text), by=Context())
    assert diary.keeper.remember(RememberItem("", text), by=Context()).item_id == first.item_id


@pytest.mark.parametrize("text", [" ", " \n" * 3_000])
def test_a_text_without_words_is_rejected_with_a_reason(diary: Diary, text: str) -> None:
    assert comparison_terms(text) == ()
    with pytest.raises(Invalid):
        diary.keeper.remember(RememberItem("", text), by=Context())


def test_facts_added_by_this_process_equal_facts_read_from_the_log(diary: Diary) -> None:
    """Of all that it wrote, in turns with another one that reads everything."""
    other = MemoryService(diary.log, diary.engine, diary.stage.clock, diary.stage.ids)
    keepers = (diary.keeper, diary.keeper, other, diary.keeper, other, other)
    texts = [f"The {word} of the {thing} is kept in drawer {n}" for n, (word, thing) in WHERE]
    texts += [f"{'A long way to say it. ' * 80}\n\n{text}" for text in texts[:3]]
    for n, text in enumerate(texts):
        assert keepers[n % len(keepers)].remember(RememberItem("", text), by=Context()).new
        if n % 5 == 0:
            diary.engine.do(RememberItem(f"aside-{n}", f"Aside {n}", kind="message"))
    for text in texts:
        assert not diary.keeper.remember(RememberItem("", text), by=Context()).new
        assert not other.remember(RememberItem("", text), by=Context()).new
