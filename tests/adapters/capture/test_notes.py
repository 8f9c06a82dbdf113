"""Rules in Markdown: list items, sections, and pages of a memory folder."""

import pytest

from everloop.adapters.capture.notes import (
    decode_page,
    guidance_entries,
    learnings_entries,
    list_item_entries,
)
from everloop.errors import Invalid

PAGE = """# Shop

Some words about the project.

## Style
- Use two spaces for indentation, never tabs
- Keep functions short:
  - at most thirty lines
  and no nesting beyond three levels
* [the guide](https://example.test/guide)
- pnpm

```sh
- this is code and no rule at all
```

| - a | table is no list of rules |

## Tests
1. Run `make test` before every commit
2) Never mock the database
<!-- - an old rule that nobody wants -->
"""


def test_each_list_item_is_an_entry_with_its_headings() -> None:
    found = list_item_entries(PAGE, scope="project:shop")
    assert [entry.description for entry in found] == [
        "Use two spaces for indentation, never tabs",
        "Keep functions short:",
        "Run `make test` before every commit",
        "Never mock the database",
    ]
    assert found[0].body == "Shop › Style\n\nUse two spaces for indentation, never tabs"  # noqa: RUF001
    assert "- at most thirty lines\nand no nesting" in found[1].body


def test_learnings_are_list_items_and_sections() -> None:
    slow = "## Slow imports\nnumpy is slow.\n\nLoad it late.\n\n"
    page = f"# Learnings\n\n{slow}## Log\n- Flush before you rename a file\n"
    found = learnings_entries(page, scope="user")
    assert [(entry.description, entry.key) for entry in found] == [
        ("Flush before you rename a file", ""),
        ("Slow imports", "Slow imports"),
    ]
    assert found[1].body == "numpy is slow.\n\nLoad it late."


FEEDBACK = """---
name: no-mocks
description: Integration tests use a real database
type: feedback
---

Integration tests use a real database.
**Why:** mocks hid a broken migration.
"""


def test_a_page_of_guidance_is_one_entry() -> None:
    [entry] = guidance_entries(FEEDBACK, name="no_mocks.md", scope="project:shop")
    assert (entry.key, entry.description) == ("no-mocks", "Integration tests use a real database")
    assert entry.body.endswith("**Why:** mocks hid a broken migration.")


def test_the_type_of_a_page_may_be_under_metadata() -> None:
    page = "---\nname: a\nmetadata:\n  type: project\n---\nFrozen until Thursday.\n"
    assert guidance_entries(page, name="a.md", scope="user") == []


@pytest.mark.parametrize("kind", ["user", "project", "reference"])
def test_a_descriptive_page_is_skipped(kind: str) -> None:
    page = FEEDBACK.replace("type: feedback", f"type: {kind}")
    assert guidance_entries(page, name="x.md", scope="user") == []


def test_the_index_of_a_memory_folder_is_skipped() -> None:
    page = "- [No mocks](no_mocks.md): integration tests use a real database\n"
    assert guidance_entries(page, name="MEMORY.md", scope="user") == []


def test_a_page_without_front_matter_is_a_list() -> None:
    [entry] = guidance_entries("- Never mock the database\n", name="debugging.md", scope="user")
    assert entry.description == "Never mock the database"


def test_invalid_front_matter_is_rejected() -> None:
    with pytest.raises(Invalid, match="no end"):
        guidance_entries("---\nname: x\n", name="x.md", scope="user")


def test_a_page_that_is_not_utf8_is_rejected_with_its_line() -> None:
    with pytest.raises(Invalid, match="line 2: not UTF-8"):
        decode_page(b"fine\n\xff\n")


def test_line_ends_of_other_systems_are_read_the_same() -> None:
    windows = decode_page(b"\xef\xbb\xbf" + PAGE.replace("\n", "\r\n").encode())
    assert list_item_entries(windows, scope="user") == list_item_entries(PAGE, scope="user")
