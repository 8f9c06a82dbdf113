"""Recalled passages: a prompt has the sentences of a memory that the cue is about."""

import pytest

from everloop.memory.token_counts import estimate_tokens
from everloop.worlds.prompt.recalled_passage import recalled_passage

MARKET = "They strolled over the market and bought two pears from a farmer whom Ada knew."
KEY = "Robin said where the key to the lighthouse is."
FERN = "It lies under the third fern."
STORM = "Then a storm came up, and everyone ran to the harbour to look after the boats there."
DAY = f"{MARKET} {KEY} {FERN} {STORM}"


def passage(text: str, cue: str, tokens_max: int = 25) -> str:
    return recalled_passage(text, cue, tokens_max, estimate_tokens)


def test_a_short_memory_is_recalled_whole() -> None:
    assert passage(f"{KEY} {FERN}", "Do you like storms?") == f"{KEY} {FERN}"


@pytest.mark.parametrize(
    ("cue", "expected"),
    [
        ("Where was the key of the lighthouse?", f"{KEY} {FERN}"),
        ("What became of the boats in those storms?", STORM),
        ("What do you think of opera?", MARKET),
    ],
)
def test_a_long_memory_is_recalled_by_the_sentences_that_the_cue_is_about(
    cue: str, expected: str
) -> None:
    assert passage(DAY, cue) == expected


def test_a_cue_is_understood_in_other_languages() -> None:
    text = "Am Morgen gingen sie über den Markt. Die Schlüssel liegen unter dem dritten Farn."
    cue = "Wo hast du denn gestern noch den Schlüssel hingelegt?"
    assert "Farn" in passage(text, cue, 15)
    assert "Markt" not in passage(text, cue, 15)


def test_a_sentence_that_is_too_long_is_cut_around_the_words_of_the_cue() -> None:
    words = "and then they walked on " * 20
    found = passage(f"First {words}to the lighthouse, {words}home.", "The lighthouse?")
    assert "lighthouse" in found
    assert estimate_tokens(found) <= 30
