"""Finding lessons by their words: stems and identifiers; the description counts twice the body.

Scores are made only from lessons that the asker may see: what is out of bounds is not even counted.
"""

from math import log

import msgspec

from everloop.errors import Invalid
from everloop.lessons.projections.queries import LessonSeen, audible, load
from everloop.log import Reader
from everloop.memory.model.scopes import Asker
from everloop.memory.text.analysis import EITHER, TERMS_MAX, analyse, question, spoken
from everloop.memory.text.language import LANGUAGES

WHOLE = 0.3  # for holding the whole question as it stands
FIELDS = ("description", "body")


class Recalled(msgspec.Struct, frozen=True):
    """A lesson, and how well it fits, from 0 to 1."""

    lesson: LessonSeen
    similarity: float


def recall(reader: Reader, who: Asker, query: str, *, limit: int) -> list[Recalled]:
    """The lessons that fit a question best, discarded ones left out.

    Raises:
        Invalid: there is nothing to look for.
    """
    told = spoken(query)
    terms = question(query, LANGUAGES if told is None else told).terms[:TERMS_MAX]
    if not terms:
        raise Invalid("there is nothing to look for", hint="Ask with at least one word.")
    found = {name: {term: _rows(reader, name, term) for term in terms} for name in FIELDS}
    whole = {name: _whole(reader, name, query) for name in FIELDS}
    matched = sorted({row for field in found.values() for rows in field.values() for row in rows})
    heard = audible(reader, who, matched)
    weights = {term: _weight(found, term, set(heard)) for term in terms}
    scores = {wording: _score(found, whole, weights, wording) for wording in heard}
    best = sorted(scores, key=lambda wording: (-scores[wording], heard[wording][1]))[:limit]
    lessons = load(reader, [heard[wording][0] for wording in best])
    pairs = zip(lessons, best, strict=True)
    return [Recalled(lesson, scores[wording]) for lesson, wording in pairs]


def _rows(reader: Reader, field: str, term: str) -> set[int]:
    """The wordings that hold a term in a field, or one of several."""
    either = " OR ".join(f'"{one}"' for one in term.split(EITHER))
    match = f"{field} : ({either})"
    return {row[0] for row in reader.rows(_MATCH, (match,))}


def _whole(reader: Reader, field: str, query: str) -> set[int]:
    """The wordings that hold the whole question, as it stands, in a field."""
    words = analyse(query).words
    return _rows(reader, field, " ".join(words)) if words else set()


_MATCH = "SELECT rowid FROM lesson_words WHERE lesson_words MATCH ?"


def _weight(found: dict[str, dict[str, set[int]]], term: str, heard: set[int]) -> float:
    """How much a term tells: the fewer lessons hold it, the more."""
    holding = len({row for field in found.values() for row in field[term]} & heard)
    return log(1 + len(heard) / max(1, holding))


def _score(
    found: dict[str, dict[str, set[int]]],
    whole: dict[str, set[int]],
    weights: dict[str, float],
    wording: int,
) -> float:
    """How well a wording fits: how much of the question each of its fields holds."""
    fits: dict[str, float] = {}
    for name in FIELDS:
        held = sum(weight for term, weight in weights.items() if wording in found[name][term])
        bonus = WHOLE if wording in whole[name] else 0.0
        fits[name] = min(1.0, held / sum(weights.values()) + bonus)
    return (2 * fits["description"] + fits["body"]) / 3
