"""Front matter: the block of fields between two `---` lines at the start of a Markdown page. Pure.

Splits it off without changing a character. It does not know what the fields say: pages of memory
items use a small part of YAML (`page.py`), skills, packs and notes all of it
(`adapters/files/front_matter.py`).
"""

import re
from typing import Final

from everloop.errors import Invalid

FENCE: Final = "---"

_OPENING = re.compile(r"\ufeff?---[^\S\n]*(?:\n|\Z)")
_BLOCK = re.compile(
    r"\ufeff?---[^\S\n]*\n(?P<fields>.*?)^---[^\S\n]*(?:\n|\Z)", re.DOTALL | re.MULTILINE
)


def split_page(page: str) -> tuple[str, str]:
    """The front matter with its fences, and the rest of the page; both verbatim.

    The front matter is empty if the page does not begin with any.

    Raises:
        Invalid: the front matter is not closed.
    """
    if not _OPENING.match(page):
        return "", page
    found = _BLOCK.match(page)
    if not found:
        raise Invalid(
            "line 1: the front matter has no end", hint="Close it with a line of three hyphens."
        )
    return page[: found.end()], page[found.end() :]


def field_lines(front_matter: str) -> str:
    """The lines between the fences, verbatim; empty if there are no fences."""
    found = _BLOCK.match(front_matter)
    return found["fields"] if found else ""
