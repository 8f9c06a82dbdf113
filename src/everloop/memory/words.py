"""The word leg's analysis: text to terms for an FTS5 table, and a question to a MATCH expression.

Analysis is ours and the index is SQLite's: `document` joins terms with spaces, for a table declared
with `tokenize='ascii'`, which splits on nothing but those spaces (a term holds only ASCII letters,
digits and characters beyond ASCII). Promises that what is typed is found: inflected, accented or
not, inside `snake_case`, `camelCase`, paths and dotted names, in whole and in part, in scripts
without spaces, and under a name that is spelt like a stop word (Will, May, The Who). Words stand in
their order and come first, so a quoted phrase matches across styles; marks (whole identifiers,
names, stems of another language than English) follow them. Knows nothing about SQLite connections,
scopes or ranking.
"""

import re
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from importlib import import_module
from itertools import filterfalse, repeat
from typing import Any, Final, NamedTuple

from everloop.memory.tongues import (
    ENGLISH,
    FOREIGN,
    GRAMMAR,
    Languages,
    languages_of,
    stem_in,
)
from everloop.memory.tongues import marks as marks_in

TERMS_MAX: Final = 12  # of a question
ROWS_MAX: Final = 20_000  # that a question's terms may match together; bm25 pays for every one
WHOLE_LENGTH_MAX: Final = 64
PLAIN_KEPT: Final = 50_000  # runs of text that need not be taken apart again
NAME_MARK: Final = "·"

STOP_WORDS: Final = ENGLISH  # questions drop them, items keep them for phrases
EITHER: Final = "|"  # between terms any of which will do

_PICTURES: Final = (
    "\u2190-\u21ff\u2300-\u23ff\u2600-\u27bf\u2b00-\u2bff\U0001f000-\U0001f3fa\U0001f400-\U0001faff"
)
_CHUNK = re.compile(rf"\w+(?:(?:[-_./\\:@'\u2019+&]|::|->)\w+)*(?:\+\+|#)?|[{_PICTURES}]")
_SPELT = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})
_WITH_UMLAUT = re.compile(r"\b\w*[äöüÄÖÜ]\w*")
_VOWEL_SIGNS = re.compile("[\u0591-\u05c7\u0640\u064b-\u065f\u0670]")  # Hebrew and Arabic
_WORD = re.compile(r"\w+")
_SEPARATOR = re.compile(r"[^\w]+|_+")
_CAMEL = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])")
_POSSESSIVE = re.compile(r"['\u2019][sS]$")
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]")
_SENTENCE_ENDS: Final = frozenset('.!?:;\n"\u201c(')
# Scripts written without spaces, and Hangul, whose particles stick to the word.
_UNSPACED = re.compile(
    "[\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff"
    "\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003134f]+"
)
_LETTERS = str.maketrans(
    {
        "ø": "o",
        "Ø": "O",
        "ł": "l",
        "Ł": "L",
        "đ": "d",
        "Đ": "D",
        "\u0131": "i",
        "æ": "ae",
        "Æ": "AE",
    }
    | {"œ": "oe", "Œ": "OE"}
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


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text is found by: `words` in reading order, then `marks`, which have no order."""

    words: tuple[str, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What a question looks for. Phrases are preferred, not required.

    A term can be several, any of which will do: the stems of a word in several languages.
    """

    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]

    def match(self) -> str:
        """The FTS5 MATCH expression; empty when there is nothing to look for."""
        quoted = [f'"{" ".join(phrase)}"' for phrase in self.phrases]
        either = (term for terms in self.terms for term in terms.split(EITHER))
        return " OR ".join([*quoted, *(f'"{term}"' for term in either)])


def analyse(text: str, languages: Languages | None = None) -> Terms:
    """The terms of a text; in these languages, besides English, or in the one that it tells."""
    words, marks = _terms(text, languages)
    return Terms(tuple(words), tuple(marks))


def document(text: str) -> str:
    """The terms of a text as one string, ready for the FTS5 table."""
    words, marks = _terms(text)
    return " ".join([*words, *marks])


def _terms(text: str, languages: Languages | None = None) -> tuple[list[str], Iterable[str]]:
    """The words of a text, and its marks, each once. No chunk reaches across white space."""
    folded = _unaccented(text)
    runs = folded.split()
    known = list(map(_plain.get, runs))
    words: list[str] = []
    marks: dict[str, None] = {}
    marks.update(dict.fromkeys(_spelt_without_umlauts(text)))
    for run, word in zip(runs, known, strict=True):
        if word is not None:
            words.append(word)
        elif run.isdecimal() and run.isascii():
            words.append(run)
        else:
            said, marked = _taken_apart(run)
            words += said
            marks |= dict.fromkeys(marked)
    if languages or (languages is None and _perhaps_foreign(runs)):
        told = _said(folded)
        spoken_in = languages_of(told) or () if languages is None else languages
        marks |= dict.fromkeys(marks_in(told, spoken_in))
    return words, marks


def spoken(text: str) -> Languages | None:
    """The languages that a text may be in, by its words; none for English; None if none tells."""
    folded = _unaccented(text)
    runs = folded.split()
    if _perhaps_foreign(runs):
        return languages_of(_said(folded))
    return None if ENGLISH.isdisjoint(runs) else ()


def said_as(terms: Iterable[str], text: str) -> list[str]:
    """How a text says some terms: its words, as they stand there, that are found by them."""
    stems = frozenset(term.split(EITHER)[0] for term in terms)
    runs = dict.fromkeys(_WORD.findall(_unaccented(text)))
    known = ((run, _plain.get(run)) for run in runs)
    return [
        run
        for run, word in known
        if word in stems or (word is None and not stems.isdisjoint(_taken_apart(run)[0]))
    ]


def _perhaps_foreign(runs: Sequence[str]) -> bool:
    """Whether a text holds grammar of another language, as English hardly ever does."""
    return not FOREIGN.isdisjoint(runs) or (len(runs) > 0 and runs[0].lower() in FOREIGN)


def _said(folded: str) -> list[str]:
    """The words of a text that are in Latin letters, as they stand there."""
    tokens = (token for chunk in _CHUNK.findall(folded) for token in _tokens(chunk))
    return [word for token in tokens for word in token.said if word < "\u0370" and word.isalpha()]


def question(text: str, languages: Languages = ()) -> Question:
    """What `text` asks for: no grammar, each term once, in reading order.

    A stop word counts as a name when it is capitalised inside a sentence or owns something
    ("Will's"), and is then looked up as that name. If nothing but stop words remain, they are all
    looked up. Words are looked up by their stems in all these languages, besides English; if it is
    in one of them itself, without the grammar of that.
    """
    folded = _unaccented(text)
    runs = folded.split()
    known = list(map(_plain.get, runs, repeat("")))
    if not languages and "" not in known:  # as most are, where it is asked again and again
        terms = dict.fromkeys(filterfalse(STOP_STEMS.__contains__, known))
    else:
        terms = dict.fromkeys(_sought(folded, runs, languages))
    if not terms:  # names first
        tokens = (token for chunk in _CHUNK.findall(folded) for token in _tokens(chunk))
        terms = dict.fromkeys(term for token in tokens for term in (*token.names, *token.words))
    terms.update(dict.fromkeys(_spelt_without_umlauts(text)))
    quoted = (analyse(phrase).words for phrase in _QUOTED.findall(text))
    return Question(tuple(terms), tuple(phrase for phrase in quoted if len(phrase) > 1))


def _sought(folded: str, runs: Sequence[str], languages: Languages) -> Iterator[str]:
    """What to look for of a text, which is these runs with spaces between them."""
    own = (languages and languages_of(_said(folded))) or ()
    little = frozenset[str]().union(*(GRAMMAR[code] for code in own))
    at = 0
    for run in runs:
        at = folded.index(run, at)
        word = None if languages else _plain.get(run)
        if word is None:
            yield from _asked(run, (folded, at), languages, little)
        elif word not in STOP_STEMS:
            yield word
        at += len(run)


def _asked(
    run: str, place: tuple[str, int], languages: Languages, little: Collection[str]
) -> Iterator[str]:
    """What to look for of what stands between two spaces, at a place in a text."""
    folded, at = place
    for found in _CHUNK.finditer(run):
        for token in _tokens(found.group()):
            yield from token.wholes
            yield from _either(token, languages, little)
            if token.names and (token.owns or not _opens(folded, at + found.start())):
                yield from token.names


def _either(token: "_Token", languages: Languages, little: Collection[str]) -> Iterator[str]:
    """The words of a token that are no grammar, each with its stems in all these languages."""
    for word, said in zip(token.words, token.said or token.words, strict=True):
        if word not in STOP_STEMS and said not in little:
            also = (stem_in(code, said) for code in languages if token.said)
            yield EITHER.join(dict.fromkeys((word, *also)))


def rarest(asked: Question, items_with: Mapping[str, int]) -> Question:
    """The question without its commonest terms, so that its cost stays bounded in a large memory.

    Drops terms no item holds, then keeps the rarest: at most `TERMS_MAX`, and no more than match
    `ROWS_MAX` items together. The rarest one always stays, and a small memory drops nothing.
    Reading order is kept.
    """
    held = [term for term in asked.terms if items_with.get(term, 0)]
    if len(held) <= TERMS_MAX and sum(map(items_with.__getitem__, held)) <= ROWS_MAX:
        return Question(tuple(held), asked.phrases)
    kept: set[str] = set()
    rows = 0
    for term in sorted(held, key=lambda term: (items_with[term], term))[:TERMS_MAX]:
        rows += items_with[term]
        if kept and rows > ROWS_MAX:
            break
        kept.add(term)
    return Question(tuple(term for term in asked.terms if term in kept), asked.phrases)


class _Token(NamedTuple):
    """One run of text without spaces, taken apart."""

    words: tuple[str, ...]
    said: tuple[str, ...] = ()  # what the words are the stems of; nothing where they are no stems
    wholes: tuple[str, ...] = ()
    names: tuple[str, ...] = ()
    owns: bool = False
    marked: bool = False  # whether it has wholes or names


@lru_cache(maxsize=50_000)
def _tokens(chunk: str) -> tuple[_Token, ...]:
    """A chunk taken apart. Most are met again and again, so what was made of them is kept."""
    plain = chunk.isdigit() or (chunk.isalpha() and chunk.islower())
    if plain and chunk.isascii():  # as most are
        return (_Token((_stem(chunk),), (chunk,)),)
    return tuple(_chunk(chunk))


# Runs of text between spaces that hold one word and no mark, as most do, with that word. A plain
# map, for thousands of them are looked up where an item comes, and each stays where it is.
_plain: dict[str, str] = {}


def _taken_apart(run: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The words and marks of what stands between two spaces."""
    tokens = [token for chunk in _CHUNK.findall(run) for token in _tokens(chunk)]
    words = tuple(word for token in tokens for word in token.words)
    marks = tuple(mark for token in tokens for mark in (*token.wholes, *token.names))
    if len(words) == 1 and not marks:
        if len(_plain) >= PLAIN_KEPT:
            _plain.clear()
        _plain[run] = words[0]
    return words, marks


def _spelt_without_umlauts(text: str) -> Iterator[str]:
    """The words with an umlaut, as they are spelt where there is none: Koeln for Köln."""
    if text.isascii():
        return
    for word in _WITH_UMLAUT.findall(unicodedata.normalize("NFC", text)):
        yield from (term for token in _tokens(word.translate(_SPELT)) for term in token.words)


def _opens(text: str, at: int) -> bool:
    """Whether what stands at `at` is the first of its sentence."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _SENTENCE_ENDS


def _chunk(chunk: str) -> Iterator[_Token]:
    """A chunk's spaced part as one token, each run of an unspaced script as another."""
    if chunk.isascii():
        yield _spaced(chunk)
        return
    if len(chunk) == 1 and not chunk.isalnum():
        yield _Token((chunk,))  # a picture
        return
    for run in _UNSPACED.findall(chunk):
        pairs = tuple(run[i : i + 2] for i in range(len(run) - 1))
        yield _Token(pairs or (run,), wholes=tuple(run) if pairs else (), marked=bool(pairs))
    for spaced in filter(None, _UNSPACED.split(chunk)):
        yield _spaced(spaced)


def _spaced(chunk: str) -> _Token:
    bare = _POSSESSIVE.sub("", chunk)
    segments = [segment for segment in _SEPARATOR.split(_spelt_out(bare)) if segment]
    parts = [part for segment in segments for part in _CAMEL.split(segment)]
    wholes = tuple(dict.fromkeys(_wholes(segments, parts)))
    names = tuple(_names(parts))
    said = tuple(part.casefold() for part in parts)
    return _Token(
        words=tuple(map(_stem, said)),
        said=said,
        wholes=wholes,
        names=names,
        owns=bare != chunk,
        marked=bool(wholes or names),
    )


def _wholes(segments: Sequence[str], parts: Sequence[str]) -> Iterable[str]:
    """The identifier as one term, and each of its segments that has parts of its own.

    Separators vanish: `snake_case`, `snakeCase` and `snake-case` are one term.
    """
    if len(parts) > 1 and len(whole := "".join(parts)) <= WHOLE_LENGTH_MAX:
        yield whole.casefold()
    if len(segments) > 1:
        yield from (segment.casefold() for segment in segments if len(_CAMEL.split(segment)) > 1)


def _names(parts: Sequence[str]) -> Iterable[str]:
    """Stop words spelt like a name: "Will", but not "will", "WILL" or "I"."""
    for part in parts:
        if part.istitle() and len(part) > 1 and part.casefold() in STOP_WORDS:
            yield NAME_MARK + part.casefold()


def _spelt_out(chunk: str) -> str:
    """Languages whose names end in signs: C++ becomes Cplusplus, C# becomes Csharp."""
    return chunk.replace("++", "plusplus").replace("#", "sharp")


def _unaccented(text: str) -> str:
    """The text without accents on Latin, Greek and Cyrillic, or vowel signs of Hebrew and Arabic.

    The short i of Cyrillic stays: it is a letter of its own. So do marks of other scripts.
    """
    if text.isascii():
        return text
    text = _VOWEL_SIGNS.sub("", text)
    letters: list[str] = []
    for letter in unicodedata.normalize("NFKC", text).translate(_LETTERS):
        base = unicodedata.normalize("NFD", letter)[0]
        if not unicodedata.combining(base):
            letters.append(base if base < "\u0530" and letter not in "йЙ" else letter)
        elif base > "\u0530":
            letters.append(letter)
    return "".join(letters)


def _stem(word: str) -> str:
    stemmer = _LATIN if word < "\u0370" else _stemmer_of(word[0])
    stem: str = stemmer.stemWord(word)
    return stem


@lru_cache(maxsize=1_000)
def _stemmer_of(letter: str) -> Any:
    """The stemmer of the language that is most often written in the script of a letter."""
    written = (language for first, last, language in _SCRIPTS if first <= letter <= last)
    language = next(written, None)
    return _Stemmer(language, 0) if language else _LATIN


STOP_STEMS: Final = STOP_WORDS | {_stem(word) for word in STOP_WORDS}
