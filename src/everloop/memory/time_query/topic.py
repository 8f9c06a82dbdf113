"""What a question is about: its words without those that only say when.

Pure. In "what did I first say about the garden", "first" asks for an order; looked up as a word, it
would find my first car. So it is with "say" there, and with "happened" beside a time. A time that
filters has done its work. All else stays, for whoever tells of a day names it: "when did she first
see the sea", "what did she see last year".
"""

import re
from collections.abc import Sequence
from typing import Final

from everloop.memory.text.analysis import STOP_STEMS, question
from everloop.memory.time_query.certainty import asks_what_was_said
from everloop.memory.time_query.parse import TimeHint

_ORDER: Final = re.compile(
    r"\b(?:(?:very )?(?:first|last)(?: time)?|originally|initially|earliest|latest|newest"
    r"|most recent(?:ly)?|zuerst|zuletzt|als (?:erstes|letztes)|zum (?:ersten|letzten) mal"
    r"|en (?:premier|dernier)|(?:pour )?la (?:première|dernière) fois)\b",
    re.IGNORECASE,
)
_HAPPENED: Final = re.compile(
    r"\b(?:happened|happening|passiert|geschehen)\b(?! (?:to|with|mit)\b)", re.IGNORECASE
)


# That something was said is what is asked for; whoever says something hardly says that.
_SAYING: Final = re.compile(
    r"\b(?P<who>(?:I|we|you)(?: +(?:ever|just|already|once))?)"
    r" +(?:say|said|tell|told|mention|mentioned|note|noted)\b"
    r"|\b(?:gesagt|erzählt|erwähnt)(?=\W*$)|(?<=\bai )(?:dit|mentionné)\b",
    re.IGNORECASE,
)


def topic(text: str, hints: Sequence[TimeHint]) -> str:
    """The text of a question without its words of time, as far as something else is left."""
    told = asks_what_was_said(text)
    if not (hints or told):
        return text
    timed = any(hint.start or hint.end for hint in hints)
    left = [_without(text, hints), text]
    if timed:
        left = [_HAPPENED.sub(" ", each) for each in left]
    if told:
        left = [_SAYING.sub(lambda said: said["who"] or " ", each) for each in left]
    return next(filter(_asks, left), text)


def _without(text: str, hints: Sequence[TimeHint]) -> str:
    """The text without times that filter, and without the order in which things were said."""
    said, told = text, asks_what_was_said(text)
    for hint in reversed(hints):
        first, last = hint.span
        words = "" if hint.kind == "filter" else text[first:last]
        if hint.order and told:
            words = _ORDER.sub(" ", words)
        said = said[:first] + words + said[last:]
    return said


def _asks(text: str) -> bool:
    """Whether more than grammar is in it."""
    return any(term not in STOP_STEMS for term in question(text).terms)
