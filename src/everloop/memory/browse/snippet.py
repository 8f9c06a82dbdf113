"""Search snippets: the part of a text that matches a query best, with the matches marked. Pure."""

import re
from collections.abc import Sequence
from itertools import pairwise
from typing import Final

import msgspec

from everloop.memory.text.analysis import (
    ALTERNATIVE,
    analyse,
    detect_question_languages,
    detect_text_languages,
    parse_question,
)
from everloop.memory.text.language import Languages
from everloop.memory.text.passages import split_passages
from everloop.memory.text.spelling import SpellingIndex, may_be_misspelt

LEAD_CHARACTERS: Final = 40  # characters shown before the first match

_WORD = re.compile(r"\w[\w\u00ad\u200b\u2060\ufeff]*")  # may contain invisible characters
_SPACE = re.compile(r"\s+")


class Snippet(msgspec.Struct, frozen=True):
    """A piece of text on one line, with the spans of the matched words."""

    text: str
    matches: tuple[tuple[int, int], ...]

    def parts(self) -> list[tuple[str, bool]]:
        """The text in pieces, each with whether it is a match."""
        bounds = (0, *(at for match in self.matches for at in match), len(self.text))
        pieces = (self.text[first:last] for first, last in pairwise(bounds))
        return [(piece, bool(number % 2)) for number, piece in enumerate(pieces) if piece]


def snippet(text: str, asked: str, width: int = 240) -> Snippet:
    """Cut a snippet where the most query terms occur together, or at the beginning of the text."""
    known = detect_question_languages(asked)
    languages = detect_text_languages(text) if known is None else known
    terms = parse_question(asked, languages).terms
    wanted = _with_spellings(
        text, frozenset(one for term in terms for one in term.split(ALTERNATIVE))
    )
    flat = _SPACE.sub(" ", _passage(text, wanted)).strip()
    hits = [
        (word.span(), held)
        for word in _WORD.finditer(flat)
        if (held := _matching(word[0], wanted, languages))
    ]
    start = _start(flat, _densest(hits, width)) if hits else 0
    lead = "…" if start else ""
    shift = start - len(lead)
    more = "…" if start + width < len(flat) else ""
    shown = f"{lead}{flat[start : start + width]}{more}"
    spans = [(first - shift, last - shift) for (first, last), _ in hits if first >= start]
    return Snippet(shown, tuple(span for span in spans if span[1] <= len(shown)))


def _with_spellings(text: str, wanted: frozenset[str]) -> frozenset[str]:
    """The query terms; for those that the text lacks, also its terms with a similar spelling."""
    words = frozenset(analyse(text).words)
    lacking = [term for term in wanted - words if may_be_misspelt(term)]
    if not lacking:
        return wanted
    spelling = SpellingIndex(words)
    return wanted.union(*(spelling.similar_words(term) for term in lacking))


def _passage(text: str, wanted: frozenset[str]) -> str:
    """The passage with the most query terms; the first of several."""
    found = split_passages(text)
    if len(found) < 2:  # as most texts are
        return "".join(found)
    return max(found, key=lambda passage: len(_matching(passage, wanted)))


def _matching(
    text: str, wanted: frozenset[str], languages: Languages | None = None
) -> frozenset[str]:
    terms = analyse(text, languages)
    return wanted.intersection(terms.words) | wanted.intersection(terms.marks)


def _densest(hits: Sequence[tuple[tuple[int, int], frozenset[str]]], width: int) -> int:
    """The start of the window with the most query terms; the first of several."""

    def seen(place: int) -> int:
        begin = hits[place][0][0]
        near = (held for (_, last), held in hits[place:] if last - begin <= width - LEAD_CHARACTERS)
        return len(frozenset[str]().union(*near))

    return hits[max(range(len(hits)), key=seen)][0][0]


def _start(flat: str, first: int) -> int:
    """The word at which to begin, so that the first match is near the beginning."""
    if first <= 2 * LEAD_CHARACTERS:
        return 0
    return flat.find(" ", first - LEAD_CHARACTERS, first) + 1 or first
