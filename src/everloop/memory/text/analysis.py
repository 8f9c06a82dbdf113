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
from itertools import chain, filterfalse, islice, repeat
from typing import Final, NamedTuple

from everloop.memory.text.language import (
    ENGLISH,
    ENGLISH_ALONE,
    FOREIGN,
    GRAMMAR,
    LETTERS,
    POLITE,
    TELLING,
    Languages,
    elided,
    languages_of,
    stems_in,
    written_in,
)
from everloop.memory.text.language import marks as marks_in
from everloop.memory.text.normalise import (
    accented_words,
    small_letters,
    spelt_without_umlauts,
    unaccented,
    visible,
    without_umlauts,
)
from everloop.memory.text.tokenise import (
    CHUNK,
    Token,
    single,
    stem,
    taken_apart,
    tokens_in,
    tokens_of,
)

TERMS_MAX: Final = 12  # of a question, and phrases
ASKED_KEPT: Final = 256  # questions; each is taken apart for every hit that is shown
ROWS_MAX: Final = 20_000  # that a question's terms may match together; bm25 pays for every one

STOP_WORDS: Final = ENGLISH  # questions drop them, items keep them for phrases
EITHER: Final = "|"  # between terms any of which will do

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]")
_SENTENCE_ENDS: Final = frozenset('.!?:;\n"\u201c(¿¡«„')


@dataclass(frozen=True, slots=True)
class Terms:
    """What a text is found by: `words` in reading order, then `marks`, which have no order."""

    words: tuple[str, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """What a question looks for. Phrases are preferred, not required.

    A term can be several, any of which will do: the stems of a word in several languages, or as it
    is spelt without umlauts. The first is its English stem.
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
    folded = unaccented(text)
    runs = folded.split()
    known = list(map(single.get, runs))
    words: list[str] = []
    marks: dict[str, None] = {}
    marks.update(dict.fromkeys(_spelt(text)))
    foreign = False
    for run, word in zip(runs, known, strict=True):
        if word is not None:
            words.append(word)
        elif run.isdecimal() and run.isascii():
            words.append(run)
        else:
            apart = taken_apart(run)
            words += apart.words
            marks |= dict.fromkeys(apart.marks)
            foreign = foreign or apart.foreign
    if languages or (languages is None and (foreign or _perhaps_foreign(text, runs))):
        told = _said(folded)
        languages = languages or written_in(told, small_letters(text))
        marks |= dict.fromkeys(marks_in(told, languages, accented_words(text)))
    return words, marks


def written(text: str) -> Languages:
    """The languages that a text is marked with, besides English."""
    return written_in(_said(unaccented(text)), small_letters(text))


@lru_cache(maxsize=ASKED_KEPT)
def spoken(text: str) -> Languages | None:
    """The languages that a question may be in; none for English; None if its words do not tell."""
    folded = unaccented(text)
    words = _WORD.findall(folded.casefold())
    if TELLING.isdisjoint(words):  # as of most
        return None if ENGLISH_ALONE.isdisjoint(words) else ()
    return languages_of(_said(folded))


def said_as(terms: Iterable[str], text: str) -> list[str]:
    """How a text says some terms: its words, as they stand there, that are found by them."""
    said = _words_by_stem(text)
    words = (word for term in terms for word in said.get(term.split(EITHER)[0], ()))
    return list(dict.fromkeys(words))


@lru_cache(maxsize=ASKED_KEPT)
def _words_by_stem(text: str) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", visible(text)))):
        for term in taken_apart(unaccented(word)).words:
            found.setdefault(term, []).append(word)
    return found


def _perhaps_foreign(text: str, runs: Iterable[str]) -> bool:
    """Whether a text of which no word tells its language may be in another one than English."""
    if not text.isascii() and not LETTERS.isdisjoint(small_letters(text)):
        return True
    return ENGLISH_ALONE.isdisjoint(runs) and not FOREIGN.isdisjoint(runs)


def _said(folded: str) -> list[str]:
    """The words of a text that are in Latin letters, as they stand there."""
    words = (word for token in tokens_in(folded) for word in token.said)
    return [word for word in words if word < "\u0370" and word.isalpha()] + elided(folded)


@lru_cache(maxsize=ASKED_KEPT)
def question(text: str, languages: Languages = ()) -> Question:
    """What `text` asks for: no grammar, each term once, in reading order.

    A stop word counts as a name when it is capitalised inside a sentence or owns something
    ("Will's"), and is then looked up as that name. If nothing but stop words remain, they are all
    looked up. Words are looked up by their stems in all these languages, besides English; if it is
    in one of them itself, without the grammar of that, unless it is capitalised inside a sentence.
    """
    folded = unaccented(text)
    runs = folded.split()
    known = list(map(single.get, runs, repeat("")))
    if not languages and text.isascii() and "" not in known:  # as most are, once they were met
        terms = dict.fromkeys(filterfalse(STOP_STEMS.__contains__, known))
    else:
        terms = dict.fromkeys(_sought(folded, runs, _manner(text, folded, languages)))
    if not terms:  # names first
        tokens = tokens_in(folded)
        terms = dict.fromkeys(term for token in tokens for term in (*token.names, *token.words))
    return Question(tuple(terms), tuple(islice(_phrases(text), TERMS_MAX)))


def _phrases(text: str) -> Iterable[tuple[str, ...]]:
    """What is quoted in a text and has more than a word, each once."""
    quoted = dict.fromkeys(_QUOTED.findall(text))
    words = dict.fromkeys(analyse(phrase, ()).words for phrase in quoted)
    return (phrase for phrase in words if len(phrase) > 1)


class _Manner(NamedTuple):
    """How words are looked for."""

    languages: Languages
    little: Collection[str]  # words of grammar, which are left out
    accented: Mapping[str, str]  # words with accents, by what they are without


def _manner(text: str, folded: str, languages: Languages) -> _Manner:
    """How the words of a text are looked for in these languages."""
    if not languages:
        return _Manner((), (), accented_words(text))
    own = languages_of(_said(folded)) or ()
    little = frozenset[str]().union(*(GRAMMAR[code] for code in own))
    return _Manner(languages, little, accented_words(text))


def _sought(folded: str, runs: Sequence[str], manner: _Manner) -> Iterator[str]:
    """What to look for of a text, which is these runs with spaces between them."""
    at = 0
    simply = not manner.languages and not manner.accented
    for run in runs:
        at = folded.index(run, at)
        word = single.get(run) if simply else None
        if word is None:
            yield from _asked(run, (folded, at), manner)
        elif word not in STOP_STEMS:
            yield word
        at += len(run)


def _asked(run: str, place: tuple[str, int], manner: _Manner) -> Iterator[str]:
    """What to look for of what stands between two spaces, at a place in a text."""
    folded, at = place
    for found in CHUNK.finditer(run):
        for token in tokens_of(found.group()):
            telling = token.names or (manner.little and _is_title(found.group()))
            named = bool(telling) and not _opens(folded, at + found.start())
            yield from token.wholes
            yield from _either(token, manner, named=named)
            if token.owns or named:
                yield from token.names


def _either(token: Token, manner: _Manner, *, named: bool) -> Iterator[str]:
    """The words of a token that are no grammar, each with its stems in all the languages.

    What is a name is not grammar, however it is spelt: Ella, who is "she" in Spanish. A word with
    an umlaut is looked for as it is spelt without, too.
    """
    for word, said in zip(token.words, token.said or token.words, strict=True):
        little = said in manner.little and (not named or said in POLITE)
        if word not in STOP_STEMS and not little:
            forms = _forms(said, manner.accented) if token.said else ()
            also = (stem(form) for form in forms[1:])
            some = (stems_in(code, form) for code in manner.languages for form in forms)
            yield EITHER.join(dict.fromkeys((word, *also, *chain(*some))))


def _forms(word: str, accented: Mapping[str, str]) -> tuple[str, ...]:
    """A word with its accents, and as it is spelt where there are no umlauts, if it has one."""
    if word not in accented:  # as most are
        return (word,)
    spelt = without_umlauts(accented[word])
    return (accented[word], spelt) if spelt != accented[word] else (spelt,)


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


def _spelt(text: str) -> Iterator[str]:
    """The words with an umlaut, as they are found where there is none."""
    for word in spelt_without_umlauts(text):
        yield from (term for token in tokens_of(word) for term in token.words)


def _is_title(chunk: str) -> bool:
    """Whether something is written with a capital, as a name is."""
    return len(chunk) > 1 and chunk[0].isupper() and not chunk.isupper()


def _opens(text: str, at: int) -> bool:
    """Whether what stands at `at` is the first of its sentence."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _SENTENCE_ENDS


STOP_STEMS: Final = STOP_WORDS | {stem(word) for word in STOP_WORDS}
