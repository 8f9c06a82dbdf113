"""Front matter is split off a page verbatim."""

import pytest

from everloop.errors import Invalid
from everloop.memory.markdown.front_matter import field_lines, split_page


@pytest.mark.parametrize(
    ("page", "front_matter", "body"),
    [
        ("---\nid: x\n---\nText.\n", "---\nid: x\n---\n", "Text.\n"),
        ("---\r\nid: x\r\n---\r\nText.", "---\r\nid: x\r\n---\r\n", "Text."),
        ("\ufeff--- \nid: x\n---", "\ufeff--- \nid: x\n---", ""),
        ("---\n---\n", "---\n---\n", ""),
        ("Text.\n---\nMore.\n---\n", "", "Text.\n---\nMore.\n---\n"),
        ("---- \nid: x\n---\n", "", "---- \nid: x\n---\n"),
    ],
)
def test_a_page_is_split_into_front_matter_and_body(
    page: str, front_matter: str, body: str
) -> None:
    assert split_page(page) == (front_matter, body)


@pytest.mark.parametrize("page", ["---", "---\n", "---\nid: x\n", "---\nid: x\n --- \n"])
def test_front_matter_that_is_not_closed_is_invalid(page: str) -> None:
    with pytest.raises(Invalid, match="line 1: the front matter has no end"):
        split_page(page)


def test_the_fields_are_the_lines_between_the_fences() -> None:
    assert field_lines("---\nid: x\nkind: note\n---\n") == "id: x\nkind: note\n"
    assert field_lines("") == ""
