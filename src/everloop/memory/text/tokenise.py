"""Runs of text without spaces, taken apart: words, whole identifiers, and names. Pure.

Words are given by their stems, which hold only ASCII letters, digits and characters beyond ASCII.
What is given has no accents any more.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from everloop.memory.text.language import ENGLISH, TELLING, elided

WHOLE_LENGTH_MAX: Final = 64
SINGLE_KEPT: Final = 50_000  # runs of text that need not be taken apart again
APART_KEPT: Final = 10_000  # others, which hold more than a word
NAME_MARK: Final = "·"

_PICTURES: Final = (
    "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
CHUNK = re.compile(rf"\w+(?:(?:[-_./\\:@'\u2019+&]|::|->)\w+)*(?:\+\+|#)?|[{_PICTURES}]")
_SEPARATOR = re.compile(r"[^\w]+|_+")
# Between "HTTP" and "Server", but not within "PDFs".
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
# LH1234 and 5kg, but neither 2nd nor what is a letter and a digit: those are words of their own.
_WITH_NUMBER = re.compile(r"([^\W\d_]{2,})(\d+)|(\d+)((?!(?:st|nd|rd|th)$)[^\W\d_]{2,})")
_OF_ABBREVIATIONS = re.compile(r"(?<=[A-Z]{2})s$")  # what makes many of a PDF
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
# Scripts written without spaces, and Hangul, whose particles stick to the word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
# PyStemmer: C, no types; the cache is ours, below. Latin letters say nothing about the language, so
# each word has its English stem; `tongues.py` adds others where a text tells more.
_Stemmer: Any = import_module("Stemmer").Stemmer
_LATIN: Any = _Stemmer("english", 0)
_SCRIPTS: Final = (
    ("\u0370", "\u03ff", "greek"),
    ("\u0400", "\u052f", "russian"),
    ("\u0530", "\u058f", "armenian"),
    ("\u0600", "\u06ff", "arabic"),
    ("\u0900", "\u097f", "hindi"),
    ("\u0b80", "\u0bff", "tamil"),
)


class Token(NamedTuple):
    """One run of text without spaces, taken apart."""

    words: tuple[str, ...]
    said: tuple[str, ...] = ()  # what the words are the stems of; nothing where they are no stems
    wholes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    owns: bool = False


@lru_cache(maxsize=50_000)
def tokens_of(chunk: str) -> tuple[Token, ...]:
    """A chunk taken apart. Most are met again and again, so what was made of them is kept."""
    plain = chunk.isdigit() or (chunk.isalpha() and chunk.islower())
    if plain and chunk.isascii():  # as most are
        return (Token((stem(chunk),), (chunk,)),)
    return tuple(_chunk(chunk))


def tokens_in(text: str) -> list[Token]:
    """A text taken apart, chunk by chunk."""
    return [token for chunk in CHUNK.findall(text) for token in tokens_of(chunk)]


# Runs of text between spaces that hold one word and no mark, as most do, with that word; none that
# tells another language than English. A plain map, for thousands of them are looked up where an
# item comes, and each stays where it is.
single: dict[str, str] = {}


class Apart(NamedTuple):
    """What stands between two spaces, taken apart."""

    words: tuple[str, ...]
    marks: tuple[str, ...]
    foreign: bool  # whether one of the words tells another language than English


def taken_apart(run: str) -> Apart:
    """What stands between two spaces, taken apart."""
    return _kept_apart(run) if len(run) <= WHOLE_LENGTH_MAX else _apart(run)


def _apart(run: str) -> Apart:
    tokens = tokens_in(run)
    words = tuple(word for token in tokens for word in token.words)
    marks = tuple(mark for token in tokens for mark in (*token.wholes, *token.names))
    foreign = any(not TELLING.isdisjoint(token.said) for token in tokens) or bool(elided(run))
    if len(words) == 1 and not marks and not foreign:
        if len(single) >= SINGLE_KEPT:
            single.clear()
        single[run] = words[0]
    return Apart(words, marks, foreign)


_kept_apart = lru_cache(maxsize=APART_KEPT)(_apart)


def _chunk(chunk: str) -> Iterator[Token]:
    """A chunk's spaced part as one token, each run of an unspaced script as another."""
    if chunk.isascii():
        yield _spaced(chunk)
        return
    if len(chunk) == 1 and not chunk.isalnum():
        yield Token((chunk,))  # a picture
        return
    for run in _UNSPACED.findall(chunk):
        pairs = tuple(run[i : i + 2] for i in range(len(run) - 1))
        yield Token(pairs or (run,), wholes=tuple(run) if pairs else ())
    for spaced in filter(None, _UNSPACED.split(chunk)):
        yield _spaced(spaced)


def _spaced(chunk: str) -> Token:
    bare = _POSSESSIVE.sub("", chunk)
    segments = [segment for segment in _SEPARATOR.split(_spelt_out(bare)) if segment]
    parts = [part for segment in segments for part in _parts(segment)]
    said = tuple(_OF_ABBREVIATIONS.sub("", part).casefold() for part in parts)
    return Token(
        words=tuple(map(stem, said)),
        said=said,
        wholes=tuple(dict.fromkeys(_wholes(segments, parts))),
        names=tuple(_names(parts)),
        owns=bare != chunk,
    )


def _parts(segment: str) -> list[str]:
    """The words of an identifier without separators; a number beside letters is one of them."""
    parts: list[str] = []
    for part in _CAMEL.split(segment):
        numbered = _WITH_NUMBER.fullmatch(part)
        parts += filter(None, numbered.groups()) if numbered else [part]
    return parts


def _wholes(segments: Sequence[str], parts: Sequence[str]) -> Iterable[str]:
    """The identifier as one term, each of its segments that has parts of its own, and "PDFs".

    Separators vanish: `snake_case`, `snakeCase` and `snake-case` are one term. It has its stem, as
    it has where somebody types it in small letters.
    """
    if len(parts) > 1 and len(whole := "".join(parts)) <= WHOLE_LENGTH_MAX:
        yield stem(whole.casefold())
    yield from (stem(part.casefold()) for part in parts if _OF_ABBREVIATIONS.search(part))
    if len(segments) > 1:
        compound = (segment for segment in segments if len(_parts(segment)) > 1)
        yield from (stem(segment.casefold()) for segment in compound)


def _names(parts: Sequence[str]) -> Iterable[str]:
    """Stop words spelt like a name: "Will", but not "will", "WILL" or "I"."""
    for part in parts:
        if part.istitle() and len(part) > 1 and part.casefold() in ENGLISH:
            yield NAME_MARK + part.casefold()


def _spelt_out(chunk: str) -> str:
    """Languages whose names end in signs: C++ becomes Cplusplus, C# becomes Csharp."""
    return chunk.replace("++", "plusplus").replace("#", "sharp")


def stem(word: str) -> str:
    """A word without its endings, in the language that its script is most often of."""
    stemmer = _LATIN if word < "\u0370" else _stemmer_of(word[0])
    found: str = stemmer.stemWord(word)
    return found


@lru_cache(maxsize=1_000)
def _stemmer_of(letter: str) -> Any:
    """The stemmer of the language that is most often written in the script of a letter."""
    written = (language for first, last, language in _SCRIPTS if first <= letter <= last)
    language = next(written, None)
    return _Stemmer(language, 0) if language else _LATIN
