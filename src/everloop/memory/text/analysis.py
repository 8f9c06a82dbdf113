"""Text analysis for keyword search: text to index terms, and a question to query terms.

The analyser (tokenizer, stemming, stop words) is ours, the inverted index is SQLite's FTS5:
`document` joins terms with spaces, for a table declared with `tokenize='ascii'`, which splits on
nothing but those spaces (a term has only ASCII letters, digits and characters beyond ASCII).
Guarantees that a word is found however it is typed: inflected, accented or not, inside
`snake_case`, `camelCase`, paths and dotted names, in whole and in part, in scripts without spaces,
and as a name that is spelt like a stop word (Will, May, The Who). Words come first and in their
order, so a quoted phrase matches across styles; marks (whole identifiers, names, stems of another
language than English) follow them. Knows nothing about SQLite connections, scopes or ranking.
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

TERMS_MAX: Final = 12  # terms of a question; also its phrases
ASKED_KEPT: Final = 256  # analysed questions that are cached; each is needed for every hit shown
ROWS_MAX: Final = 20_000  # that a question's terms may match together; BM25 has to score each

STOP_WORDS: Final = ENGLISH  # questions drop them, items keep them for phrases
EITHER: Final = "|"  # between alternative terms

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]")
_SENTENCE_ENDS: Final = frozenset('.!?:;\n"\u201c(¿¡«„')


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """The index terms of a text: `words` in reading order, then `marks`, which have no order."""

    words: tuple[str, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Question:
    """The query terms and phrases of a question. Phrases are preferred, not required.

    A term may be several alternatives joined by `EITHER`: the stems of a word in several languages,
    or its spelling without umlauts. The first one is the English stem.
    """

    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]

    def match(self) -> str:
        """The FTS5 MATCH expression; empty if there are no terms."""
        quoted = [f'"{" ".join(phrase)}"' for phrase in self.phrases]
        either = (term for terms in self.terms for term in terms.split(EITHER))
        return " OR ".join([*quoted, *(f'"{term}"' for term in either)])


def analyse(text: str, languages: Languages | None = None) -> AnalysedText:
    """The index terms of a text, in English and these languages, or in those it is written in."""
    words, marks = _terms(text, languages)
    return AnalysedText(tuple(words), tuple(marks))


def document(text: str) -> str:
    """The index terms of a text as one string, ready for the FTS5 table."""
    words, marks = _terms(text)
    return " ".join([*words, *marks])


def _terms(text: str, languages: Languages | None = None) -> tuple[list[str], Iterable[str]]:
    """The words of a text, and its distinct marks. No chunk reaches across white space."""
    folded = unaccented(text)
    runs = folded.split()
    known = list(map(single.get, runs))
    words: list[str] = []
    marks: dict[str, None] = {}
    marks.update(dict.fromkeys(_umlaut_terms(text)))
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
        latin = _latin_words(folded)
        languages = languages or written_in(latin, small_letters(text))
        marks |= dict.fromkeys(marks_in(latin, languages, accented_words(text)))
    return words, marks


def written(text: str) -> Languages:
    """The languages besides English that a text is indexed in."""
    return written_in(_latin_words(unaccented(text)), small_letters(text))


@lru_cache(maxsize=ASKED_KEPT)
def spoken(text: str) -> Languages | None:
    """The languages that a question may be in; () for English; None if its words do not show it."""
    folded = unaccented(text)
    words = _WORD.findall(folded.casefold())
    if TELLING.isdisjoint(words):  # as of most
        return None if ENGLISH_ALONE.isdisjoint(words) else ()
    return languages_of(_latin_words(folded))


def said_as(terms: Iterable[str], text: str) -> list[str]:
    """The words of a text, as they are written there, that have some of these terms."""
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
    """Whether a text without distinctive words may be in another language than English."""
    if not text.isascii() and not LETTERS.isdisjoint(small_letters(text)):
        return True
    return ENGLISH_ALONE.isdisjoint(runs) and not FOREIGN.isdisjoint(runs)


def _latin_words(folded: str) -> list[str]:
    """The words of a text that are in Latin letters, not stemmed."""
    words = (word for token in tokens_in(folded) for word in token.said)
    return [word for word in words if word < "\u0370" and word.isalpha()] + elided(folded)


@lru_cache(maxsize=ASKED_KEPT)
def question(text: str, languages: Languages = ()) -> Question:
    """Parse a question into query terms: no stop words, each term once, in reading order.

    A stop word counts as a name if it is capitalised inside a sentence or possessive ("Will's"),
    and is then searched as that name. If there are only stop words, all of them are searched. Words
    are searched by their stems in English and all these languages. If the question is in one of
    them, the stop words of that language are dropped, unless capitalised inside a sentence.
    """
    folded = unaccented(text)
    runs = folded.split()
    known = list(map(single.get, runs, repeat("")))
    if not languages and text.isascii() and "" not in known:  # as most are, once they were met
        terms = dict.fromkeys(filterfalse(STOP_STEMS.__contains__, known))
    else:
        terms = dict.fromkeys(_query_terms(folded, runs, _query_style(text, folded, languages)))
    if not terms:  # names first
        tokens = tokens_in(folded)
        terms = dict.fromkeys(term for token in tokens for term in (*token.names, *token.words))
    return Question(tuple(terms), tuple(islice(_phrases(text), TERMS_MAX)))


def _phrases(text: str) -> Iterable[tuple[str, ...]]:
    """The distinct quoted phrases of a text that have more than one word."""
    quoted = dict.fromkeys(_QUOTED.findall(text))
    words = dict.fromkeys(analyse(phrase, ()).words for phrase in quoted)
    return (phrase for phrase in words if len(phrase) > 1)


class _QueryStyle(NamedTuple):
    """How the words of a question become terms."""

    languages: Languages
    stop_words: Collection[str]  # stop words of these languages, which are dropped
    accented: Mapping[str, str]  # words with accents, by their form without


def _query_style(text: str, folded: str, languages: Languages) -> _QueryStyle:
    """How the words of a question become terms in these languages."""
    if not languages:
        return _QueryStyle((), (), accented_words(text))
    own = languages_of(_latin_words(folded)) or ()
    stop_words = frozenset[str]().union(*(GRAMMAR[code] for code in own))
    return _QueryStyle(languages, stop_words, accented_words(text))


def _query_terms(folded: str, runs: Sequence[str], style: _QueryStyle) -> Iterator[str]:
    """The query terms of a text, given as these runs with spaces between them."""
    at = 0
    plain = not style.languages and not style.accented
    for run in runs:
        at = folded.index(run, at)
        word = single.get(run) if plain else None
        if word is None:
            yield from _run_terms(run, (folded, at), style)
        elif word not in STOP_STEMS:
            yield word
        at += len(run)


def _run_terms(run: str, place: tuple[str, int], style: _QueryStyle) -> Iterator[str]:
    """The query terms of one run without spaces, at a place in a text."""
    folded, at = place
    for found in CHUNK.finditer(run):
        for token in tokens_of(found.group()):
            telling = token.names or (style.stop_words and _is_capitalised(found.group()))
            named = bool(telling) and not _begins_sentence(folded, at + found.start())
            yield from token.wholes
            yield from _alternatives(token, style, named=named)
            if token.owns or named:
                yield from token.names


def _alternatives(token: Token, style: _QueryStyle, *, named: bool) -> Iterator[str]:
    """The words of a token without stop words, each with its stems in all the languages.

    A name is no stop word, however it is spelt: Ella, which is "she" in Spanish. A word with an
    umlaut is searched in its spelling without umlauts, too.
    """
    for word, said in zip(token.words, token.said or token.words, strict=True):
        is_stop_word = said in style.stop_words and (not named or said in POLITE)
        if word not in STOP_STEMS and not is_stop_word:
            forms = _spellings(said, style.accented) if token.said else ()
            also = (stem(form) for form in forms[1:])
            some = (stems_in(code, form) for code in style.languages for form in forms)
            yield EITHER.join(dict.fromkeys((word, *also, *chain(*some))))


def _spellings(word: str, accented: Mapping[str, str]) -> tuple[str, ...]:
    """A word with its accents, and in its spelling without umlauts if it has one."""
    if word not in accented:  # as most are
        return (word,)
    spelt = without_umlauts(accented[word])
    return (accented[word], spelt) if spelt != accented[word] else (spelt,)


def rarest(asked: Question, items_with: Mapping[str, int]) -> Question:
    """The question without its most common terms, so that its cost is bounded in a large memory.

    Drops terms that match no item, then keeps the rarest: at most `TERMS_MAX`, and only as many as
    match `ROWS_MAX` items together. The rarest term always stays, and a small memory drops nothing.
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


def _umlaut_terms(text: str) -> Iterator[str]:
    """The terms of words with an umlaut, in their spelling without umlauts."""
    for word in spelt_without_umlauts(text):
        yield from (term for token in tokens_of(word) for term in token.words)


def _is_capitalised(chunk: str) -> bool:
    """Whether a chunk is capitalised, as a name is."""
    return len(chunk) > 1 and chunk[0].isupper() and not chunk.isupper()


def _begins_sentence(text: str, at: int) -> bool:
    """Whether a sentence begins at `at`."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _SENTENCE_ENDS


STOP_STEMS: Final = STOP_WORDS | {stem(word) for word in STOP_WORDS}
