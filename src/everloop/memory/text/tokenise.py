"""Tokenizer: splits runs of text without spaces into stemmed words, identifiers and names. Pure.

Expects text without accents. Words come out as stems (stemming by Snowball), which have only ASCII
letters, digits and characters beyond ASCII.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from importlib import import_module
from typing import Any, Final, NamedTuple

from everloop.memory.text.language import DISTINCTIVE_WORDS, ENGLISH_STOP_WORDS, find_elisions

WHOLE_LENGTH_MAX: Final = 64
SINGLE_WORDS_CACHED: Final = 50_000  # cached runs that are a single word
RUNS_CACHED: Final = 10_000  # cached runs that have more than one word
NAME_MARK: Final = "·"

_EMOJI: Final = (
    "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
CHUNK = re.compile(rf"\w+(?:(?:[-_./\\:@'\u2019+&]|::|->)\w+)*(?:\+\+|#)?|[{_EMOJI}]")
_SEPARATOR = re.compile(r"[^\w]+|_+")
# Between "HTTP" and "Server", but not within "PDFs".
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])(?![A-Z]s(?![a-z]))")
# LH1234 and 5kg, but neither 2nd nor one letter and a digit: those are single words.
_WITH_NUMBER = re.compile(r"([^\W\d_]{2,})(\d+)|(\d+)((?!(?:st|nd|rd|th)$)[^\W\d_]{2,})")
_PLURAL_OF_ABBREVIATION = re.compile(r"(?<=[A-Z]{2})s$")  # the plural of "PDF"
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
# Scripts written without spaces, and Hangul, whose particles are attached to the word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
# PyStemmer: C, no types; the cache is ours, below. Latin letters do not show the language, so each
# word gets its English stem; `language.py` adds others where the language is detected.
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
    """The tokens of one chunk: stems, original words, whole identifiers and names."""

    words: tuple[str, ...]
    said: tuple[str, ...] = ()  # the words before stemming; empty if they were not stemmed
    wholes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    owns: bool = False


@lru_cache(maxsize=50_000)
def tokenise_chunk(chunk: str) -> tuple[Token, ...]:
    """Tokenise a chunk. Cached, because most chunks occur again and again."""
    plain = chunk.isdigit() or (chunk.isalpha() and chunk.islower())
    if plain and chunk.isascii():  # as most are
        return (Token((stem(chunk),), (chunk,)),)
    return tuple(_tokenise_scripts(chunk))


def tokenise(text: str) -> list[Token]:
    """Tokenise a text, chunk by chunk."""
    return [token for chunk in CHUNK.findall(text) for token in tokenise_chunk(chunk)]


# Cache of the stems of runs that are one word without marks, as most are; none that shows another
# language than English. A plain dict without LRU order, because each new item needs thousands of
# lookups.
single_word_stems: dict[str, str] = {}


class RunTokens(NamedTuple):
    """The tokens of one run between two spaces."""

    words: tuple[str, ...]
    marks: tuple[str, ...]
    foreign: bool  # whether one of the words shows another language than English


def tokenise_run(run: str) -> RunTokens:
    """Tokenise a run between two spaces."""
    return _cached_run(run) if len(run) <= WHOLE_LENGTH_MAX else _tokenise_run(run)


def _tokenise_run(run: str) -> RunTokens:
    tokens = tokenise(run)
    words = tuple(word for token in tokens for word in token.words)
    marks = tuple(mark for token in tokens for mark in (*token.wholes, *token.names))
    foreign = any(not DISTINCTIVE_WORDS.isdisjoint(token.said) for token in tokens) or bool(
        find_elisions(run)
    )
    if len(words) == 1 and not marks and not foreign:
        if len(single_word_stems) >= SINGLE_WORDS_CACHED:
            single_word_stems.clear()
        single_word_stems[run] = words[0]
    return RunTokens(words, marks, foreign)


_cached_run = lru_cache(maxsize=RUNS_CACHED)(_tokenise_run)


def _tokenise_scripts(chunk: str) -> Iterator[Token]:
    """One token for the spaced part of a chunk, and one for each run of an unspaced script."""
    if chunk.isascii():
        yield _tokenise_spaced(chunk)
        return
    if len(chunk) == 1 and not chunk.isalnum():
        yield Token((chunk,))  # an emoji
        return
    for run in _UNSPACED.findall(chunk):
        pairs = tuple(run[i : i + 2] for i in range(len(run) - 1))
        yield Token(pairs or (run,), wholes=tuple(run) if pairs else ())
    for spaced in filter(None, _UNSPACED.split(chunk)):
        yield _tokenise_spaced(spaced)


def _tokenise_spaced(chunk: str) -> Token:
    bare = _POSSESSIVE.sub("", chunk)
    segments = [segment for segment in _SEPARATOR.split(_write_out_signs(bare)) if segment]
    parts = [part for segment in segments for part in _parts(segment)]
    said = tuple(_PLURAL_OF_ABBREVIATION.sub("", part).casefold() for part in parts)
    return Token(
        words=tuple(map(stem, said)),
        said=said,
        wholes=tuple(dict.fromkeys(_whole_terms(segments, parts))),
        names=tuple(_name_terms(parts)),
        owns=bare != chunk,
    )


def _parts(segment: str) -> list[str]:
    """The words of an identifier without separators; a number next to letters is one of them."""
    parts: list[str] = []
    for part in _CAMEL.split(segment):
        numbered = _WITH_NUMBER.fullmatch(part)
        parts += filter(None, numbered.groups()) if numbered else [part]
    return parts


def _whole_terms(segments: Sequence[str], parts: Sequence[str]) -> Iterable[str]:
    """The identifier as one term, each of its segments that has several parts, and "PDFs".

    Separators are dropped: `snake_case`, `snakeCase` and `snake-case` are one term. It is stemmed,
    as it is when it is typed in lower case.
    """
    if len(parts) > 1 and len(whole := "".join(parts)) <= WHOLE_LENGTH_MAX:
        yield stem(whole.casefold())
    yield from (stem(part.casefold()) for part in parts if _PLURAL_OF_ABBREVIATION.search(part))
    if len(segments) > 1:
        compound = (segment for segment in segments if len(_parts(segment)) > 1)
        yield from (stem(segment.casefold()) for segment in compound)


def _name_terms(parts: Sequence[str]) -> Iterable[str]:
    """Stop words spelt like a name: "Will", but not "will", "WILL" or "I"."""
    for part in parts:
        if part.istitle() and len(part) > 1 and part.casefold() in ENGLISH_STOP_WORDS:
            yield NAME_MARK + part.casefold()


def _write_out_signs(chunk: str) -> str:
    """Write out programming languages: C++ becomes Cplusplus, C# becomes Csharp."""
    return chunk.replace("++", "plusplus").replace("#", "sharp")


def stem(word: str) -> str:
    """Stem a word, in the most common language of its script."""
    stemmer = _LATIN if word < "\u0370" else _stemmer_of(word[0])
    found: str = stemmer.stemWord(word)
    return found


@lru_cache(maxsize=1_000)
def _stemmer_of(letter: str) -> Any:
    """The stemmer for the most common language in the script of a letter."""
    written = (language for first, last, language in _SCRIPTS if first <= letter <= last)
    language = next(written, None)
    return _Stemmer(language, 0) if language else _LATIN
