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
    ACCENTED_LETTERS,
    DISTINCTIVE_WORDS,
    ENGLISH_ONLY_STOP_WORDS,
    ENGLISH_STOP_WORDS,
    FOREIGN_STOP_WORDS,
    POLITE_PRONOUNS,
    STOP_WORDS_BY_LANGUAGE,
    Languages,
    find_elisions,
    languages_of_question,
    languages_of_text,
    stem_in_language,
)
from everloop.memory.text.language import language_terms as marks_in
from everloop.memory.text.normalise import (
    accented_words,
    lower_case,
    strip_accents,
    strip_invisible,
    words_without_umlauts,
    write_out_umlauts,
)
from everloop.memory.text.tokenise import (
    CHUNK,
    Token,
    single_word_stems,
    stem,
    tokenise,
    tokenise_chunk,
    tokenise_run,
)

TERMS_MAX: Final = 12  # terms of a question; also its phrases
QUESTIONS_CACHED: Final = (
    256  # analysed questions that are cached; each is needed for every hit shown
)
MATCHED_ROWS_MAX: Final = (
    20_000  # that a question's terms may match together; BM25 has to score each
)

STOP_WORDS: Final = ENGLISH_STOP_WORDS  # questions drop them, items keep them for phrases
ALTERNATIVE: Final = "|"  # between alternative terms

_WORD = re.compile(r"\w+")
_QUOTED = re.compile(r"[\"“”«»]([^\"“”«»]+)[\"“”«»]")
_SENTENCE_ENDS: Final = frozenset('.!?:;\n"\u201c(¿¡«„')


@dataclass(frozen=True, slots=True)
class AnalysedText:
    """The index terms of a text: `words` in reading order, then `marks`, which have no order."""

    words: tuple[str, ...]
    marks: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class QueryTerms:
    """The query terms and phrases of a question. Phrases are preferred, not required.

    A term may be several alternatives joined by `EITHER`: the stems of a word in several languages,
    or its spelling without umlauts. The first one is the English stem.
    """

    terms: tuple[str, ...]
    phrases: tuple[tuple[str, ...], ...]

    def match(self) -> str:
        """The FTS5 MATCH expression; empty if there are no terms."""
        quoted = [f'"{" ".join(phrase)}"' for phrase in self.phrases]
        either = (term for terms in self.terms for term in terms.split(ALTERNATIVE))
        return " OR ".join([*quoted, *(f'"{term}"' for term in either)])


def analyse(text: str, languages: Languages | None = None) -> AnalysedText:
    """The index terms of a text, in English and these languages, or in those it is written in."""
    words, marks = _terms(text, languages)
    return AnalysedText(tuple(words), tuple(marks))


def index_terms(text: str) -> str:
    """The index terms of a text as one string, ready for the FTS5 table."""
    words, marks = _terms(text)
    return " ".join([*words, *marks])


def _terms(text: str, languages: Languages | None = None) -> tuple[list[str], Iterable[str]]:
    """The words of a text, and its distinct marks. No chunk reaches across white space."""
    folded = strip_accents(text)
    runs = folded.split()
    known = list(map(single_word_stems.get, runs))
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
            apart = tokenise_run(run)
            words += apart.words
            marks |= dict.fromkeys(apart.marks)
            foreign = foreign or apart.foreign
    if languages or (languages is None and (foreign or _perhaps_foreign(text, runs))):
        latin = _latin_words(folded)
        languages = languages or languages_of_text(latin, lower_case(text))
        marks |= dict.fromkeys(marks_in(latin, languages, accented_words(text)))
    return words, marks


def detect_text_languages(text: str) -> Languages:
    """The languages besides English that a text is indexed in."""
    return languages_of_text(_latin_words(strip_accents(text)), lower_case(text))


@lru_cache(maxsize=QUESTIONS_CACHED)
def detect_question_languages(text: str) -> Languages | None:
    """The languages that a question may be in; () for English; None if its words do not show it."""
    folded = strip_accents(text)
    words = _WORD.findall(folded.casefold())
    if DISTINCTIVE_WORDS.isdisjoint(words):  # as of most
        return None if ENGLISH_ONLY_STOP_WORDS.isdisjoint(words) else ()
    return languages_of_question(_latin_words(folded))


def words_with_terms(terms: Iterable[str], text: str) -> list[str]:
    """The words of a text, as they are written there, that have some of these terms."""
    said = _words_by_stem(text)
    words = (word for term in terms for word in said.get(term.split(ALTERNATIVE)[0], ()))
    return list(dict.fromkeys(words))


@lru_cache(maxsize=QUESTIONS_CACHED)
def name_terms(terms: tuple[str, ...], text: str, languages: Languages) -> frozenset[str]:
    """Those of the terms that are written as names: capitalised inside a sentence, or possessive.

    German capitalises every noun, so there nothing is known to be a name.
    """
    if "de" in languages:
        return frozenset()
    said, plain = _words_by_stem(text), unicodedata.normalize("NFC", strip_invisible(text))
    found: set[str] = set()
    for term in terms:
        words = said.get(term.split(ALTERNATIVE)[0], ())
        if words and all(_is_name(word, plain) for word in words):
            found.add(term)
    return frozenset(found)


def _is_name(word: str, text: str) -> bool:
    if not _is_capitalised(word):
        return False
    at = text.find(word)
    return not _begins_sentence(text, at) or text[at + len(word) :].startswith(("'s", "\u2019s"))


@lru_cache(maxsize=QUESTIONS_CACHED)
def _words_by_stem(text: str) -> Mapping[str, Sequence[str]]:
    found: dict[str, list[str]] = {}
    for word in dict.fromkeys(_WORD.findall(unicodedata.normalize("NFC", strip_invisible(text)))):
        for term in tokenise_run(strip_accents(word)).words:
            found.setdefault(term, []).append(word)
    return found


def _perhaps_foreign(text: str, runs: Iterable[str]) -> bool:
    """Whether a text without distinctive words may be in another language than English."""
    if not text.isascii() and not ACCENTED_LETTERS.isdisjoint(lower_case(text)):
        return True
    return ENGLISH_ONLY_STOP_WORDS.isdisjoint(runs) and not FOREIGN_STOP_WORDS.isdisjoint(runs)


def _latin_words(folded: str) -> list[str]:
    """The words of a text that are in Latin letters, not stemmed."""
    words = (word for token in tokenise(folded) for word in token.said)
    return [word for word in words if word < "\u0370" and word.isalpha()] + find_elisions(folded)


@lru_cache(maxsize=QUESTIONS_CACHED)
def parse_question(text: str, languages: Languages = ()) -> QueryTerms:
    """Parse a question into query terms: no stop words, each term once, in reading order.

    A stop word counts as a name if it is capitalised inside a sentence or possessive ("Will's"),
    and is then searched as that name. If there are only stop words, all of them are searched. Words
    are searched by their stems in English and all these languages. If the question is in one of
    them, the stop words of that language are dropped, unless capitalised inside a sentence.
    """
    folded = strip_accents(text)
    runs = folded.split()
    known = list(map(single_word_stems.get, runs, repeat("")))
    if not languages and text.isascii() and "" not in known:  # as most are, once they were met
        terms = dict.fromkeys(filterfalse(STOP_STEMS.__contains__, known))
    else:
        terms = dict.fromkeys(_query_terms(folded, runs, _query_style(text, folded, languages)))
    if not terms:  # names first
        tokens = tokenise(folded)
        terms = dict.fromkeys(term for token in tokens for term in (*token.names, *token.words))
    return QueryTerms(tuple(terms), tuple(islice(_phrases(text), TERMS_MAX)))


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
    own = languages_of_question(_latin_words(folded)) or ()
    stop_words = frozenset[str]().union(*(STOP_WORDS_BY_LANGUAGE[code] for code in own))
    return _QueryStyle(languages, stop_words, accented_words(text))


def _query_terms(folded: str, runs: Sequence[str], style: _QueryStyle) -> Iterator[str]:
    """The query terms of a text, given as these runs with spaces between them."""
    at = 0
    plain = not style.languages and not style.accented
    for run in runs:
        at = folded.index(run, at)
        word = single_word_stems.get(run) if plain else None
        if word is None:
            yield from _run_terms(run, (folded, at), style)
        elif word not in STOP_STEMS:
            yield word
        at += len(run)


def _run_terms(run: str, place: tuple[str, int], style: _QueryStyle) -> Iterator[str]:
    """The query terms of one run without spaces, at a place in a text."""
    folded, at = place
    for found in CHUNK.finditer(run):
        for token in tokenise_chunk(found.group()):
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
        is_stop_word = said in style.stop_words and (not named or said in POLITE_PRONOUNS)
        if word not in STOP_STEMS and not is_stop_word:
            forms = _spellings(said, style.accented) if token.said else ()
            also = (stem(form) for form in forms[1:])
            some = (stem_in_language(code, form) for code in style.languages for form in forms)
            yield ALTERNATIVE.join(dict.fromkeys((word, *also, *chain(*some))))


def _spellings(word: str, accented: Mapping[str, str]) -> tuple[str, ...]:
    """A word with its accents, and in its spelling without umlauts if it has one."""
    if word not in accented:  # as most are
        return (word,)
    spelt = write_out_umlauts(accented[word])
    return (accented[word], spelt) if spelt != accented[word] else (spelt,)


def keep_rarest_terms(asked: QueryTerms, items_with: Mapping[str, int]) -> QueryTerms:
    """The question without its most common terms, so that its cost is bounded in a large memory.

    Drops terms that match no item, then keeps the rarest: at most `TERMS_MAX`, and only as many as
    match `ROWS_MAX` items together. The rarest term always stays, and a small memory drops nothing.
    Reading order is kept.
    """
    held = [term for term in asked.terms if items_with.get(term, 0)]
    if len(held) <= TERMS_MAX and sum(map(items_with.__getitem__, held)) <= MATCHED_ROWS_MAX:
        return QueryTerms(tuple(held), asked.phrases)
    kept: set[str] = set()
    rows = 0
    for term in sorted(held, key=lambda term: (items_with[term], term))[:TERMS_MAX]:
        rows += items_with[term]
        if kept and rows > MATCHED_ROWS_MAX:
            break
        kept.add(term)
    return QueryTerms(tuple(term for term in asked.terms if term in kept), asked.phrases)


def _umlaut_terms(text: str) -> Iterator[str]:
    """The terms of words with an umlaut, in their spelling without umlauts."""
    for word in words_without_umlauts(text):
        yield from (term for token in tokenise_chunk(word) for term in token.words)


def _is_capitalised(chunk: str) -> bool:
    """Whether a chunk is capitalised, as a name is."""
    return len(chunk) > 1 and chunk[0].isupper() and not chunk.isupper()


def _begins_sentence(text: str, at: int) -> bool:
    """Whether a sentence begins at `at`."""
    while at and text[at - 1] in " \t":
        at -= 1
    return not at or text[at - 1] in _SENTENCE_ENDS


STOP_STEMS: Final = STOP_WORDS | {stem(word) for word in STOP_WORDS}
