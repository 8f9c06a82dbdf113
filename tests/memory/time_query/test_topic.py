"""The topic of a question: its words without those that only say when."""

from datetime import UTC, datetime

import pytest

from everloop.memory.time_query.parse import parse_time_hints
from everloop.memory.time_query.topic import strip_time_words

NOW = datetime(2026, 11, 17, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "about"),
    [
        ("what did I first say about the garden", "what did I about the garden"),
        ("what is the last thing I noted about tea", "what is the thing I about tea"),
        ("Was habe ich zuerst über den Garten gesagt?", "Was habe ich über den Garten?"),
        ("what did I say about the roof last week", "what did I about the roof"),
        ("what did I say about the boat", "what did I about the boat"),
        ("did you ever mention Anna", "did you ever Anna"),
        ("what does Anna say about me", "what does Anna say about me"),
        ("what happened last Tuesday", "what last Tuesday"),
        ("what happened with the roof last Tuesday", "what happened with the roof last Tuesday"),
        # Whoever tells of these says so.
        ("when did Joanna first watch it", "when did Joanna first watch it"),
        ("what did she see last year", "what did she see last year"),
        ("what did John's first boss say", "what did John's first boss say"),
        ("what happened", "what happened"),
        ("what happened yesterday?", "what yesterday?"),
    ],
)
def test_words_that_only_say_when_are_removed(text: str, about: str) -> None:
    assert (
        " ".join(strip_time_words(text, parse_time_hints(text, NOW)).split()).replace(" ?", "?")
        == about
    )


def test_a_question_with_only_a_time_keeps_its_words() -> None:
    text = "and the messages of last week?"
    assert "last week" not in strip_time_words(text, parse_time_hints(text, NOW))
    assert strip_time_words("yesterday", parse_time_hints("yesterday", NOW)) == "yesterday"
