"""Attribution: which lesson a user's message is about. Pure rules, the strongest first.

The message names a lesson; or it begins with a pronoun and the last answer acted on one lesson
only; or the recent turns did. With a few candidates, a model judges, and has to be sure. Otherwise
the message is not attributed, and gives no signal.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from everloop.lessons.feedback.turns import CandidateLesson, UserTurn

MENTION_CONFIDENCE: Final = 0.95
PRONOUN_CONFIDENCE: Final = 0.80
ONLY_LESSON_CONFIDENCE: Final = 0.65

_PRONOUN = re.compile(
    r"\W*(?:that|this|it|these|those)(?:['’]?(?:s|ll|d))?\b",  # noqa: RUF001 - both are typed
    re.IGNORECASE,
)
_SPAN = re.compile(r"`([^`\n]{2,60})`")
_IDENTIFIER = re.compile(
    r"\b(?=\w*[A-Za-z])(?:\w+[._/-])+\w+\b|\b[a-z]+[A-Z]\w+\b|\b\w*\d\w*[A-Za-z]\w*"
)


class Attribution(msgspec.Struct, frozen=True):
    """The lesson that is meant, with the confidence and the rule (`told_by`) that found it."""

    lesson_id: str
    confidence: float
    told_by: str


def attribute_turn(heard: UserTurn) -> Attribution | None:
    """The lesson that is meant, if the message and the turns determine it."""
    named = mentioned_lessons(heard)
    if len(named) == 1:
        return Attribution(named[0], MENTION_CONFIDENCE, "mention")
    if named:
        return None
    last = heard.only_shown(heard.last_answer.lesson_ids) if heard.last_answer else ()
    if len(last) == 1 and _PRONOUN.match(heard.text):
        return Attribution(last[0], PRONOUN_CONFIDENCE, "pronoun")
    recent = recent_lessons(heard)
    return Attribution(recent[0], ONLY_LESSON_CONFIDENCE, "only") if len(recent) == 1 else None


def candidate_lessons(heard: UserTurn) -> tuple[str, ...]:
    """The lessons that a judge chooses from."""
    return (
        mentioned_lessons(heard)
        or recent_lessons(heard)
        or tuple(each.lesson_id for each in heard.shown)
    )


def mentioned_lessons(heard: UserTurn) -> tuple[str, ...]:
    """The lessons that the message names, by id or by a keyword unique to them."""
    words = unique_keywords(heard.shown)
    return tuple(
        each.lesson_id
        for each in heard.shown
        if any(
            _contains_word(heard.text, word) for word in (each.lesson_id, *words[each.lesson_id])
        )
    )


def recent_lessons(heard: UserTurn) -> tuple[str, ...]:
    """The shown lessons that recent turns acted on, newest first, without duplicates."""
    return heard.only_shown(name for turn in reversed(heard.before) for name in turn.lesson_ids)


def unique_keywords(shown: Sequence[CandidateLesson]) -> dict[str, tuple[str, ...]]:
    """The unique keywords of each lesson: those the host gave, and code in its description."""
    own = {each.lesson_id: {*each.keywords, *_code_words(each.description)} for each in shown}
    return {
        lesson_id: tuple(
            sorted(
                word
                for word in words
                if not any(word in others for name, others in own.items() if name != lesson_id)
            )
        )
        for lesson_id, words in own.items()
    }


def _code_words(description: str) -> set[str]:
    spans = set(_SPAN.findall(description))
    return spans | {found[0] for found in _IDENTIFIER.finditer(description)}


def _contains_word(text: str, word: str) -> bool:
    pattern = rf"(?<!\w){re.escape(word)}(?!\w)"
    return bool(word) and re.search(pattern, text, re.IGNORECASE) is not None
