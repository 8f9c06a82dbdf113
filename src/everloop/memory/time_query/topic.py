"""Topic of a question: its words without those that only say when.

Pure. In "what did I first say about the garden", "first" asks for an order; searched as a word, it
would find my first car. The same goes for "say" there, for "happened" next to a time, and for a
time that filters. Everything else stays, because a text about a day names it: "when did she first
see the sea", "what did she see last year".
"""

import re
from collections.abc import Sequence
from typing import Final

from everloop.memory.text.analysis import STOP_STEMS, detect_question_languages, parse_question
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query.certainty import asks_what_was_said
from everloop.memory.time_query.parse import TimeHint

_ORDER: Final = LazyPattern(
    r"\b(?:(?:very )?(?:first|last)(?: time)?|originally|initially|earliest|latest|newest"
    r"|most recent(?:ly)?|zuerst|zuletzt|als (?:erstes|letztes)|zum (?:ersten|letzten) mal"
    r"|en (?:premier|dernier)|(?:pour )?la (?:première|dernière) fois)\b",
    re.IGNORECASE,
)
_HAPPENED: Final = LazyPattern(
    r"\b(?:happened|happening|passiert|geschehen)\b(?! (?:to|with|mit)\b)", re.IGNORECASE
)


# These verbs belong to the question; the statement that is searched for hardly has them.
_SAYING: Final = LazyPattern(
    r"\b(?P<who>(?:I|we|you)(?: +(?:ever|just|already|once))?)"
    r" +(?:say|said|tell|told|mention|mentioned|note|noted)\b"
    r"|\b(?:gesagt|erzählt|erwähnt)(?=\W*$)|(?<=\bai )(?:dit|mentionné)\b",
    re.IGNORECASE,
)


_ANY_SAYING: Final = re.compile(
    r"\b(?:say|said|tell|told|mention(?:ed)?|note[ds]?|talk(?:ed)?|discuss(?:ed)?|chat(?:ted)?|speak|spoke"
    r"|do|did|done|doing|go|going|went|on|thing|things|conversations?|messages?|remember|recall"
    r"|gesagt|erzählt|erwähnt|gesprochen|geredet|gemacht|getan|los|dit|mentionné|parlé|fait)\b",
    re.IGNORECASE,
)


def strip_time_words(text: str, hints: Sequence[TimeHint]) -> str:
    """The question without its words of time, if other words are left."""
    about_speech = asks_what_was_said(text)
    if not (hints or about_speech):
        return text
    timed = any(hint.start or hint.end for hint in hints)
    left = [_without_times(text, hints), text]
    if timed:
        left = [_HAPPENED.sub(" ", each) for each in left]
    if about_speech:
        left = [_SAYING.sub(lambda remaining: remaining["who"] or " ", each) for each in left]
    return next(filter(_has_terms, left), text)


def asks_only_for_time(text: str, hints: Sequence[TimeHint]) -> bool:
    """Whether a question names a time or an order, and nothing else: "what did we do yesterday"."""
    remaining = text
    for hint in reversed(hints):
        first, last = hint.span
        remaining = f"{remaining[:first]} {remaining[last:]}"
    for pattern in (_HAPPENED, _ORDER, _ANY_SAYING):
        remaining = pattern.sub(" ", remaining)
    languages = detect_question_languages(text) or ()
    return all(term in STOP_STEMS for term in parse_question(remaining, languages).terms)


def _without_times(text: str, hints: Sequence[TimeHint]) -> str:
    """The text without times that filter, and without words that ask for an order."""
    remaining, about_speech = text, asks_what_was_said(text)
    for hint in reversed(hints):
        first, last = hint.span
        words = "" if hint.kind == "filter" else text[first:last]
        if hint.order and about_speech:
            words = _ORDER.sub(" ", words)
        remaining = remaining[:first] + words + remaining[last:]
    return remaining


def _has_terms(text: str) -> bool:
    """Whether a text has more than stop words."""
    return any(term not in STOP_STEMS for term in parse_question(text).terms)
