"""The part of a text that a question is about."""

from everloop.memory.browse.snippet import snippet

FILLING = "Nothing of note was said about the weather that day. "


def test_it_begins_where_the_text_does_if_the_words_stand_there() -> None:
    shown = snippet("The humidity target is 45 percent.", "humidity target")
    assert shown.text == "The humidity target is 45 percent."
    assert [shown.text[first:last] for first, last in shown.matches] == ["humidity", "target"]


def test_it_shows_where_most_of_the_words_stand_together() -> None:
    text = f"The target moved. {FILLING * 10}The humidity target is 45 percent. {FILLING * 3}"
    shown = snippet(text, "humidity target", width=80)
    assert "humidity target is 45 percent" in shown.text
    assert shown.text.startswith("…")


def test_a_match_far_into_a_long_text_is_shown() -> None:
    text = f"{FILLING * 2_000}\n\nThe spare key hangs behind the plane shelf.\n\n{FILLING * 100}"
    shown = snippet(text, "where is the spare key?")
    assert "spare key hangs behind" in shown.text
    assert "spare" in [shown.text[first:last] for first, last in shown.matches]


def test_without_a_match_it_is_the_beginning() -> None:
    shown = snippet(FILLING * 100, "sourdough", width=60)
    assert (shown.text, shown.matches) == (f"{(FILLING * 100)[:60]}…", ())


def test_of_nothing_but_white_space_nothing_is_shown() -> None:
    assert snippet(" \n" * 1_000, "sourdough").text == ""


def test_marks_lie_within_what_is_shown() -> None:
    text = f"{FILLING * 30}key " * 3
    shown = snippet(text, "key weather", width=100)
    assert shown.matches
    assert all(0 <= first < last <= len(shown.text) for first, last in shown.matches)


def test_a_word_with_something_invisible_in_it_is_marked() -> None:
    shown = snippet("The dish\u00adwasher leaks", "dishwasher")
    assert [shown.text[first:last] for first, last in shown.matches] == ["dish\u00adwasher"]
