"""Markdown as speech: what is spoken, what was heard of it, and digits that are spoken."""

from itertools import pairwise

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from everloop.interfaces.voice.heard_text import contains, heard_part
from everloop.interfaces.voice.pin_entry import PinEntry, spoken_digits
from everloop.interfaces.voice.speakable_text import CODE, SpeakableText, speakable_whole


@pytest.mark.promise("P-VOICE-2")
@pytest.mark.parametrize(
    ("markdown", "spoken"),
    [
        ("**Bold** and *soft* and __both__ and _one_.", "Bold and soft and both and one."),
        ("# Heading\nText.", "Heading Text."),
        ("- one\n* two\n+ three\n- [x] four", "one two three four"),
        ("1. First step.\n2. Second.", "1. First step. 2. Second."),
        ("> Quoted.\n>> Twice.", "Quoted. Twice."),
        ("See [the page](https://a.example/b?c=d) now.", "See the page now."),
        ("See [Mr. Fox](https://a.example) now.", "See Mr. Fox now."),
        ("An ![image of a cat](cat.png) here.", "An image of a cat here."),
        ("Look at https://a.example/b_c_d please.", "Look at a link please."),
        ("Run `make test` first.", "Run make test first."),
        ("Then:\n```python\nprint('x')\n```\nDone.", f"Then: {CODE} Done."),
        ("```\nnever closed\n**x**", CODE),
        ("| a | b |\n|---|:--|\n| 1 | 2 |", "a, b 1, 2"),
        ("Above\n\n---\n\nBelow", "Above Below"),
        ("It is <b>so</b>.[^1]", "It is so."),
        ("2 * 3 = 6 and snake_case stays.", "2 * 3 = 6 and snake_case stays."),
        (r"A \*star\*.", "A *star*."),
        ("~~Old~~ new.", "Old new."),
        ("", ""),
        ("***\n", ""),
    ],
)
def test_markdown_is_spoken_as_plain_text(markdown: str, spoken: str) -> None:
    assert speakable_whole(markdown) == spoken


def test_a_sentence_is_spoken_as_soon_as_it_ends() -> None:
    text = SpeakableText()
    assert text.feed("It is **warm") == []
    assert text.feed("**. And") == ["It is warm. "]
    assert text.feed(" dry") == []
    assert text.flush() == ["And dry "]


def test_an_endless_sentence_is_spoken_in_parts() -> None:
    text = SpeakableText()
    assert len(text.feed("word " * 250)) == 2


@settings(max_examples=60)
@given(st.text(alphabet="ab.*_`[]()#>|\n -1!", max_size=80), st.lists(st.integers(0, 80)))
def test_what_is_spoken_does_not_depend_on_the_pieces(markdown: str, cuts: list[int]) -> None:
    edges = sorted({0, len(markdown), *(cut for cut in cuts if cut < len(markdown))})
    text, spoken = SpeakableText(), ""
    for start, end in pairwise(edges):
        spoken += "".join(text.feed(markdown[start:end]))
    spoken += "".join(text.flush())
    assert spoken.strip() == speakable_whole(markdown)


@pytest.mark.promise("P-VOICE-4")
@pytest.mark.parametrize(
    ("utterance", "heard"),
    [
        ("One two.", "One two."),
        ("one  TWO", "One two."),
        ("Three", "One two. Three"),
        ("two. Three fo", "One two. Three fo"),
        ("", ""),
        ("  ... ", ""),
        ("Nothing of it", "Nothing of it"),
        ("One two. Three four!", "One two. Three four!"),
    ],
)
def test_what_was_heard_ends_with_the_last_utterance(utterance: str, heard: str) -> None:
    assert heard_part("One two. Three four! Five.", utterance) == heard


@settings(max_examples=60)
@given(st.text(alphabet="ab .,", max_size=40), st.text(alphabet="ab .,", max_size=20))
def test_never_more_was_heard_than_was_said(said: str, utterance: str) -> None:
    assert len(heard_part(said, utterance)) <= len(said)


def test_an_utterance_is_found_by_its_words() -> None:
    assert contains("Hello, World!", "hello world")
    assert not contains("Hello.", "goodbye")


def test_keys_are_collected_until_the_hash_key() -> None:
    entry = PinEntry()
    assert [entry.press(key) for key in "12*34x#"] == [None] * 6 + ["34"]
    assert entry.press("#") is None
    assert [entry.press("7") for _ in range(12)][-1] == "7" * 12


@pytest.mark.parametrize(
    ("said", "digits"),
    [
        ("8 0 2 6 5 3", "802653"),
        ("It's eight oh two, 65 three.", "802653"),
        ("Hello there", ""),
    ],
)
def test_spoken_digits_are_understood(said: str, digits: str) -> None:
    assert spoken_digits(said) == digits
