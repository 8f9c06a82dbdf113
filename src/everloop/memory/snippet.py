"""The part of a text that a question is about, and the words in it that were looked for. Pure."""

import re
from typing import Final

import msgspec

from everloop.memory.words import analyse, question

READ_MAX: Final = 20_000  # characters; a match beyond them is found by recall, but not shown
LEAD: Final = 40  # characters shown before the first match

_WORD = re.compile(r"\w+")
_SPACE = re.compile(r"\s+")


class Snippet(msgspec.Struct, frozen=True):
    """A piece of text on one line, and where in it the words stand that were looked for."""

    text: str
    matches: tuple[tuple[int, int], ...]


def snippet(text: str, asked: str, width: int = 240) -> Snippet:
    """What to show of a text: from shortly before the first match, or from its beginning."""
    flat = _SPACE.sub(" ", text[:READ_MAX]).strip()
    wanted = frozenset(question(asked).terms)
    found = [word.span() for word in _WORD.finditer(flat) if _matches(word.group(), wanted)]
    start = _start(flat, found[0][0]) if found else 0
    lead = "…" if start else ""
    shift = start - len(lead)
    shown = f"{lead}{flat[start : start + width]}"
    matches = [(first - shift, last - shift) for first, last in found if last - shift <= len(shown)]
    return Snippet(shown, tuple(matches))


def _matches(word: str, wanted: frozenset[str]) -> bool:
    terms = analyse(word)
    return not wanted.isdisjoint(terms.words) or not wanted.isdisjoint(terms.marks)


def _start(flat: str, first: int) -> int:
    """Where to begin, so that the first match is soon to be seen; at a word."""
    if first <= 2 * LEAD:
        return 0
    return flat.find(" ", first - LEAD, first) + 1 or first
