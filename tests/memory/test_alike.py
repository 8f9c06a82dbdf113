"""Whether two texts say the same."""

import pytest

from everloop.memory.alike import likeness

SAID = "Anna is allergic to nuts."


@pytest.mark.parametrize(
    "again",
    [
        "anna is allergic to nuts",
        "Anna's allergic to nuts!",
        "Remember: Anna is allergic to nuts",
        "Please remember that Anna's allergic to nuts.",
        "By the way, Anna is allergic to nuts",
        "Don't forget: Anna is allergic to the nuts.",
    ],
)
def test_the_same_in_another_dress_is_a_repetition(again: str) -> None:
    assert likeness(SAID, again)[0] == "repeats"
    assert likeness(again, SAID)[0] == "repeats"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SAID, "Anna was allergic to nuts."),
        (SAID, "Anna will be allergic to nuts."),
        (SAID, "Anna is allergic to nuts and shellfish."),
        ("Anna loves Bob dearly.", "Bob loves Anna dearly."),
        ("The release went out.", "Remember the release."),
        ("Remember the milk.", "The milk."),
        ("I'm in the office.", "I was in the office."),
    ],
)
def test_what_says_something_else_is_no_repetition(one: str, other: str) -> None:
    assert likeness(one, other)[0] != "repeats"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (SAID, "Anna is not allergic to nuts."),
        (SAID, "Remember: Anna isn't allergic to nuts."),
        ("The train leaves at 9:40.", "The train leaves at 9:50."),
        ("We meet in Paris on Monday.", "We meet in Rome on Monday."),
    ],
)
def test_a_number_a_name_or_a_not_sets_two_texts_side_by_side(one: str, other: str) -> None:
    assert likeness(one, other)[0] == "contradicts"
