"""Escaping of control characters in stored text."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.interfaces.cli.output.escape import escape_controls, one_line

ACTING = {"Cc", "Cs", "Zl", "Zp"}


@pytest.mark.parametrize(
    ("stored", "shown"),
    [
        ("plain words", "plain words"),
        ("Grüße, 世界, 👩‍👩‍👧", "Grüße, 世界, 👩‍👩‍👧"),
        ("two\r\nlines\n", "two\nlines\n"),
        ("\x1b[31mred", "␛[31mred"),
        ("bell\x07 delete\x7f", "bell␇ delete␡"),
        ("\x9b2J", "\\u009b2J"),
        ("left\u202eright", "left\\u202eright"),
        ("tag\U000e0041", "tag\\U000e0041"),
        ("half \ud800", "half \\ud800"),
        ("a\tb", "a    b"),
    ],
)
def test_control_characters_are_shown_as_visible_characters(stored: str, shown: str) -> None:
    assert escape_controls(stored) == shown


@pytest.mark.promise("P-CLI-4")
@given(st.text(st.characters(exclude_categories=())))
def test_no_escaped_text_contains_a_control_character(stored: str) -> None:
    shown = escape_controls(stored).replace("\n", "")
    assert not {unicodedata.category(character) for character in shown} & ACTING
    shown.encode()  # half a character would fail here


@given(st.text(st.characters(exclude_categories=())), st.integers(1, 40))
def test_one_line_returns_one_line_of_at_most_the_width(stored: str, width: int) -> None:
    shown = one_line(stored, width)
    assert len(shown.splitlines()) <= 1
    assert len(shown) <= width
