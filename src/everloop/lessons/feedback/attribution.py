"""Attribution: which lesson a user's message is about. Pure rules, the strongest first.

The message names a lesson; or it begins with a pronoun and the last answer acted on one lesson
only; or the recent turns did. With a few candidates, a model judges, and has to be sure. Otherwise
the message is not attributed, and gives no signal.
"""

import re
from collections.abc import Sequence
from typing import Final

import msgspec

from everloop.lessons.feedback.turns import Heard, Shown

MENTION: Final = 0.95
PRONOUN: Final = 0.80
ONLY: Final = 0.65

_PRONOUN = re.compile(
    r"\W*(?:that|this|it|these|those)(?:['’]?(?:s|ll|d))?\b",  # noqa: RUF001 - both are typed
    re.IGNORECASE,
)
_SPAN = re.compile(r"`([^`\n]{2,60})`")
_IDENTIFIER = re.compile(
    r"\b(?=\w*[A-Za-z])(?:\w+[._/-])+\w+\b|\b[a-z]+[A-Z]\w+\b|\b\w*\d\w*[A-Za-z]\w*"
)


class Pick(msgspec.Struct, frozen=True):
    """The lesson that is meant, with the confidence and the rule (`told_by`) that found it."""

    lesson_id: str
    confidence: float
    told_by: str


def pick(heard: Heard) -> Pick | None:
    """The lesson that is meant, if the message and the turns determine it."""
    named = mentioned(heard)
    if len(named) == 1:
        return Pick(named[0], MENTION, "mention")
    if named:
        return None
    last = heard.among_shown(heard.answer.lesson_ids) if heard.answer else ()
    if len(last) == 1 and _PRONOUN.match(heard.text):
        return Pick(last[0], PRONOUN, "pronoun")
    recent = acted_on(heard)
    return Pick(recent[0], ONLY, "only") if len(recent) == 1 else None


def candidates(heard: Heard) -> tuple[str, ...]:
    """The lessons that a judge chooses from."""
    return mentioned(heard) or acted_on(heard) or tuple(each.lesson_id for each in heard.shown)


def mentioned(heard: Heard) -> tuple[str, ...]:
    """The lessons that the message names, by id or by a keyword unique to them."""
    words = keywords(heard.shown)
    return tuple(
        each.lesson_id
        for each in heard.shown
        if any(
            _contains_word(heard.text, word) for word in (each.lesson_id, *words[each.lesson_id])
        )
    )


def acted_on(heard: Heard) -> tuple[str, ...]:
    """The shown lessons that recent turns acted on, newest first, without duplicates."""
    return heard.among_shown(name for turn in reversed(heard.before) for name in turn.lesson_ids)


def keywords(shown: Sequence[Shown]) -> dict[str, tuple[str, ...]]:
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
