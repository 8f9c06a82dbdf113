"""Extractive summaries: informative sentences, verbatim, within the budget."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.memory.model.events import SUMMARY, Origin
from everloop.memory.projections.queries import Item
from everloop.memory.summaries.compress import Refusal, SummaryText, validate_summary
from everloop.memory.summaries.extractive import (
    extract_summary,
    extractive_summariser,
    information_score,
    split_into_sentences,
)
from everloop.memory.token_counts import ESTIMATE, TokenCounter

MORNING = datetime(2026, 5, 17, 9, tzinfo=UTC)
TALK = (
    "Ann: Good morning! How was the train?",
    "Ben: Fine, thanks. We decided to move the release to 12 June because Kai is ill until Friday.",
    "Ann: Okay!",
    "Ann: The invoice from Hetzner was 41.50 euros, and it is in reports/invoice_may.pdf now.",
    "Ben: Nice. The weather was lovely, and everybody was in a very good mood the whole time.",
)


def item(text: str, number: int = 0, kind: str = "fact", title: str = "") -> Item:
    """An item with a text."""
    at = MORNING + timedelta(minutes=number)
    return Item(
        position=number + 1,
        version=number + 1,
        item_id=f"m{number}",
        title=title or text[:40],
        text=text,
        kind=kind,
        scope="user",
        author="agent:x",
        origin=Origin(),
        learned_via="told",
        happened_at=at,
        recorded_at=at,
        holds_until=None,
        follows="",
    )


def window(texts: Sequence[str], kind: str = "fact") -> list[Item]:
    """Items with these texts, a minute apart."""
    return [item(text, number, kind) for number, text in enumerate(texts)]


def gist(items: Sequence[Item], budget: int) -> SummaryText:
    """A summary, and no refusal."""
    made = extract_summary(items, budget)
    assert isinstance(made, SummaryText)
    return made


def test_names_numbers_dates_paths_and_decisions_are_kept_and_chatter_is_not() -> None:
    text = gist(window(TALK, "message"), 70).text
    for kept in ("12 June", "Kai", "decided", "41.50", "Hetzner", "reports/invoice_may.pdf"):
        assert kept in text
    assert "Okay" not in text
    assert "weather" not in text


def test_every_sentence_is_verbatim_from_a_source() -> None:
    lines = gist(window(TALK), 300).text.splitlines()
    assert lines
    for line in lines:
        assert line.removeprefix("2026-05-17: ") in " ".join(TALK)


def test_a_day_is_named_once_and_in_the_users_time_zone() -> None:
    late = [item("Kim sold 3 boats.", 0), item("Lee bought 2 of them.", 15 * 60)]
    assert gist(late, 99).text.splitlines() == [
        "2026-05-17: Kim sold 3 boats.",
        "2026-05-18: Lee bought 2 of them.",
    ]
    made = extractive_summariser(zone=timezone(timedelta(hours=-10)))(late, 99)
    assert isinstance(made, SummaryText)
    assert made.text.splitlines() == [
        "2026-05-16: Kim sold 3 boats.",
        "2026-05-17: Lee bought 2 of them.",
    ]


def test_a_later_sentence_of_a_message_keeps_its_speaker() -> None:
    said = "Ann: Hi. The server in Oslo has 64 GB of memory."
    assert "Ann: The server in Oslo" in gist([item(said, kind="message")], 22).text


def test_every_item_gets_a_sentence_before_any_gets_two() -> None:
    long = "Kai moved to Oslo in 2021. Kai bought boat 7 in 2022. Kai sold boat 7 in 2023."
    texts = [long, "The cat is grey.", "Rain came at noon.", "Bread was cheap."]
    text = gist(window(texts), 60).text
    assert all(word in text for word in ("Kai", "cat", "Rain", "Bread"))


def test_a_sentence_without_new_terms_is_not_repeated() -> None:
    again = ["The wiki moved to Hetzner in May."] * 3 + ["The cat sleeps."]
    assert gist(window(again), 200).text.count("Hetzner") == 1


def test_a_window_of_one_word_is_kept_as_it_is() -> None:
    assert gist([item("It is.")], 30).text == "2026-05-17: It is."


def test_it_refuses_empty_items_and_too_small_budgets() -> None:
    assert extract_summary([item("…"), item("\n")], 100) == Refusal("there is nothing to say")
    small = extract_summary(window(TALK), 5)
    assert small == Refusal("not one sentence fits into 5 tokens")


def test_the_title_names_the_most_informative_items_and_counts_the_rest() -> None:
    titles = [item(f"Fact {n} is {n}.", n, title=f"Fact {n} " + "x" * 60) for n in range(9)]
    title = gist(titles, 400).title
    assert title.endswith("(and 7 more)")
    assert len(title) <= 200
    assert gist(titles[:1], 99).title == titles[0].title


def test_a_long_title_is_cut() -> None:
    assert len(gist([item("One two three.", title="t" * 280)], 99).title) == 200


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("Dr. Smith paid 3.50 euros. He left.", ["Dr. Smith paid 3.50 euros.", "He left."]),
        ("- one. Two!\n2) three", ["one.", "Two!", "three"]),
        ("今天很好。我们去公园。", ["今天很好。", "我们去公园。"]),
        ('He said "no." Then e.g. J. R. agreed', ['He said "no."', "Then e.g. J. R. agreed"]),
        ("See Fig.", ["See Fig."]),
        ("", []),
    ],
)
def test_sentences_are_split_at_their_ends_and_not_at_abbreviations(
    text: str, found: list[str]
) -> None:
    assert list(split_into_sentences(text)) == found


def test_a_sentence_without_an_end_is_cut_at_a_space() -> None:
    parts = list(split_into_sentences("word " * 200))
    assert max(map(len, parts)) <= 320
    assert " ".join(parts).split() == ["word"] * 200
    assert max(map(len, split_into_sentences("x" * 1_000))) == 320


def test_names_numbers_and_dates_raise_the_information_score() -> None:
    plain = information_score("everybody was happy about it")
    for text in ("we met in Oslo", "it cost 41", "it is due on friday", "see app/core.py"):
        assert information_score(text) > plain
    assert information_score("Thanks a lot!") < plain


WORDS = TokenCounter("words", lambda text: len(text.split()))
TEXTS = st.lists(st.text("abcAB12 .!?\n:é漢。-", max_size=120), min_size=1, max_size=8)


@given(TEXTS, st.integers(1, 120), st.sampled_from([ESTIMATE, WORDS]))
def test_a_summary_is_always_within_its_budget(
    texts: list[str], budget: int, tokens: TokenCounter
) -> None:
    items = window(texts, "message")
    made = extract_summary(items, budget, tokens=tokens)
    assert made == extract_summary(items, budget, tokens=tokens)
    if isinstance(made, SummaryText):
        validate_summary(made, budget, tokens)


LINES = st.tuples(
    st.sampled_from(["", "2026-05-16: ", "2026-05-18: "]), st.text("ab .", max_size=9)
)
DATED = st.lists(st.lists(LINES, min_size=1, max_size=4), min_size=1, max_size=5)


@given(DATED, st.integers(1, 90), st.sampled_from([ESTIMATE, WORDS]), st.integers(0, 2))
def test_a_summary_of_summaries_is_within_its_budget_too(
    texts: list[list[tuple[str, str]]], budget: int, tokens: TokenCounter, facts: int
) -> None:
    items = window(["\n".join(map("".join, lines)) for lines in texts], SUMMARY)
    items += window(["a fact."] * facts)
    made = extract_summary(items, budget, tokens=tokens)
    if isinstance(made, SummaryText):
        validate_summary(made, budget, tokens)


def test_a_summary_of_summaries_names_each_day_once_and_no_other() -> None:
    low = "2026-05-16: Cleo came from Rome.\n2026-05-17: Ann moved to Oslo.\nBen sold the boat."
    items = [*window([low], SUMMARY), item("Dan bought it.", 1)]
    assert gist(items, 200).text == (
        "2026-05-16: Cleo came from Rome.\n"
        "2026-05-17: Ann moved to Oslo. Ben sold the boat.\n"
        "Dan bought it."
    )


def test_a_very_long_line_of_initials_is_split_in_linear_time() -> None:
    assert "".join(split_into_sentences("A. " * 60_000)).count("A.") == 60_000
