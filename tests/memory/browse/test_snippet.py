"""Search snippets."""

from everloop.memory.browse.snippet import snippet

FILLING = "Nothing of note was said about the weather that day. "


def test_a_snippet_starts_at_the_beginning_if_the_match_is_there() -> None:
    shown = snippet("The humidity target is 45 percent.", "humidity target")
    assert shown.text == "The humidity target is 45 percent."
    assert [shown.text[first:last] for first, last in shown.matches] == ["humidity", "target"]


def test_a_snippet_shows_where_most_terms_occur_together() -> None:
    text = f"The target moved. {FILLING * 10}The humidity target is 45 percent. {FILLING * 3}"
    shown = snippet(text, "humidity target", width=80)
    assert "humidity target is 45 percent" in shown.text
    assert shown.text.startswith("…")


def test_a_match_far_into_a_long_text_is_shown() -> None:
    text = f"{FILLING * 2_000}\n\nThe spare key hangs behind the plane shelf.\n\n{FILLING * 100}"
    shown = snippet(text, "where is the spare key?")
    assert "spare key hangs behind" in shown.text
    assert "spare" in [shown.text[first:last] for first, last in shown.matches]


def test_a_snippet_without_a_match_is_the_beginning() -> None:
    shown = snippet(FILLING * 100, "sourdough", width=60)
    assert (shown.text, shown.matches) == (f"{(FILLING * 100)[:60]}…", ())


def test_a_blank_text_has_an_empty_snippet() -> None:
    assert snippet(" \n" * 1_000, "sourdough").text == ""


def test_matches_lie_within_the_snippet() -> None:
    text = f"{FILLING * 30}key " * 3
    shown = snippet(text, "key weather", width=100)
    assert shown.matches
    assert all(0 <= first < last <= len(shown.text) for first, last in shown.matches)


def test_a_word_with_an_invisible_character_is_matched() -> None:
    shown = snippet("The dish\u00adwasher leaks", "dishwasher")
    assert [shown.text[first:last] for first, last in shown.matches] == ["dish\u00adwasher"]
