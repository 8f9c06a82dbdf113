"""Full-text search over lessons: stems and identifiers, with the description weighted double.

Term weights are computed from the lessons that the asker may see, so that hidden ones leak nothing.
"""

from math import log

import msgspec

from everloop.errors import Invalid
from everloop.lessons.projections.queries import LessonView, current_texts, load_lessons
from everloop.log import Reader
from everloop.memory.model.scopes import Viewer
from everloop.memory.text.analysis import (
    ALTERNATIVE,
    TERMS_MAX,
    analyse,
    detect_question_languages,
    parse_question,
)
from everloop.memory.text.language import LANGUAGES

PHRASE_BONUS = 0.3  # bonus for containing the whole query as a phrase
FIELDS = ("description", "body")


class ScoredLesson(msgspec.Struct, frozen=True):
    """A lesson and its score, from 0 to 1."""

    lesson: LessonView
    similarity: float


def search_lessons(reader: Reader, who: Viewer, query: str, *, limit: int) -> list[ScoredLesson]:
    """The lessons that match a query best, without discarded ones.

    Raises:
        Invalid: the query has no searchable word.
    """
    languages = detect_question_languages(query)
    terms = parse_question(query, LANGUAGES if languages is None else languages).terms[:TERMS_MAX]
    if not terms:
        raise Invalid("the query has no searchable word", hint="Use at least one word.")
    found = {name: {term: _rows(reader, name, term) for term in terms} for name in FIELDS}
    whole = {name: _whole(reader, name, query) for name in FIELDS}
    matched = sorted({row for field in found.values() for rows in field.values() for row in rows})
    current = current_texts(reader, who, matched)
    weights = {term: _weight(found, term, set(current)) for term in terms}
    scores = {wording: _score(found, whole, weights, wording) for wording in current}
    best = sorted(scores, key=lambda wording: (-scores[wording], current[wording][1]))[:limit]
    lessons = load_lessons(reader, [current[wording][0] for wording in best])
    pairs = zip(lessons, best, strict=True)
    return [ScoredLesson(lesson, scores[wording]) for lesson, wording in pairs]


def _rows(reader: Reader, field: str, term: str) -> set[int]:
    """The text versions that contain a term, or one of its alternatives, in a field."""
    either = " OR ".join(f'"{one}"' for one in term.split(ALTERNATIVE))
    match = f"{field} : ({either})"
    return {row[0] for row in reader.rows(_MATCH, (match,))}


def _whole(reader: Reader, field: str, query: str) -> set[int]:
    """The text versions that contain the whole query as a phrase in a field."""
    words = analyse(query).words
    return _rows(reader, field, " ".join(words)) if words else set()


_MATCH = "SELECT rowid FROM lesson_words WHERE lesson_words MATCH ?"


def _weight(found: dict[str, dict[str, set[int]]], term: str, current: set[int]) -> float:
    """The weight of a term (inverse document frequency): rarer terms weigh more."""
    holding = len({row for field in found.values() for row in field[term]} & current)
    return log(1 + len(current) / max(1, holding))


def _score(
    found: dict[str, dict[str, set[int]]],
    whole: dict[str, set[int]],
    weights: dict[str, float],
    wording: int,
) -> float:
    """The score of a text version: the weighted share of the query in each of its fields."""
    fits: dict[str, float] = {}
    for name in FIELDS:
        held = sum(weight for term, weight in weights.items() if wording in found[name][term])
        bonus = PHRASE_BONUS if wording in whole[name] else 0.0
        fits[name] = min(1.0, held / sum(weights.values()) + bonus)
    return (2 * fits["description"] + fits["body"]) / 3
