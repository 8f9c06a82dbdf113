"""Time in a question: "last Tuesday", "in May", "before the release", "what did I first say".

`hints(text, now)` is pure: the user's clock and zone come in with `now`. Each hint says where in
the text it stands and what it asks for: a stretch of time [start, end), an order, or an event whose
date the caller has to look up. A stretch is a filter only when the question is about when something
was *said* ("what did I tell you yesterday"), or about nothing but an event ("what happened before
the release"); otherwise the day may be the event's, told of later, and the stretch is a boost.
Dates without a year are the latest ones that are not in the future. Reads English; what it does not
recognise it leaves alone. Calendar arithmetic and the reading of written dates are dateutil's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from typing import Final, Literal

from everloop.memory.expressions import CUES, YEAR, cued, dated

Kind = Literal["filter", "boost", "order"]
Order = Literal["oldest", "newest"]


@dataclass(frozen=True, slots=True)
class TimeHint:
    """One time expression. `anchor` names an event whose date only the caller can find."""

    span: tuple[int, int]
    kind: Kind
    start: datetime | None = None
    end: datetime | None = None
    order: Order | None = None
    anchor: str | None = None


def hints(text: str, now: datetime) -> list[TimeHint]:
    """The time expressions of `text`, in reading order.

    `now` is what the user's clock shows, zone included; every moment returned is in that zone.
    """
    assert now.tzinfo is not None, "a question is asked in somebody's time zone"
    if not cued(text, _CUES):
        return []  # most questions say nothing about time, and this is soon said
    told: Kind = "filter" if _TOLD.search(text) else "boost"
    event: Kind = "filter" if _OPEN.search(text) else told
    found = [*_stretches(text, now, told), *_orders(text), *_anchors(text, event)]
    return sorted(_apart(found), key=lambda hint: hint.span)


# Whatever is found below holds a digit, or a word that begins like one of these.
_CUES: Final = CUES.union(
    "befo afte sinc unti duri firs orig init earl last late most newe".split()  # noqa: SIM905
)
_TOLD = re.compile(
    r"\b(?:I|we|you)\b(?: \w+){0,2}? (?:say|said|tell|told|write|wrote|written|mention(?:ed)?"
    r"|noted?|discuss(?:ed)?|talk(?:ed)?|chat(?:ted)?|ask(?:ed)?|answer(?:ed)?|decided?|saved?"
    r"|remember)\b"
    r"|\b(?:messages?|notes?|conversations?|chats?|threads?|memories)\b",
    re.IGNORECASE,
)
# Such a question has no words to be found by: the event says when, and that is all it says.
_OPEN = re.compile(
    r"\bwhat(?:'s| is| was| has| had| else| all)* "
    r"(?:happened|happening|changed|new|went on|going on|gone on)"
    r" (?=before|after|since|until|during)",
    re.IGNORECASE,
)
_BOUND = re.compile(
    r"\b(?P<word>before|prior to|until|till|up to|by|after|since|from|between)"
    r"(?: about| around)? $",
    re.IGNORECASE,
)
_JOIN = re.compile(r" ?(?:and|to|until|till|through|-|\u2013) ?", re.IGNORECASE)
_ANCHOR = re.compile(
    r"\b(?P<word>before|after|since|until|during) "
    r"(?P<event>(?:the|my|our|your|his|her|their|that|we|I|you|he|she|they) [\w' -]+?)"
    r"(?=[?.!,;]|$)",
    re.IGNORECASE,
)
_ORDERS: Final[tuple[tuple[re.Pattern[str], Order], ...]] = (
    (
        re.compile(
            r"\b(?:the (?:very )?first time|(?:did|have|had) \w+ first"
            r"|first (?:say|said|tell|told|talk|mention|bring|brought|hear|heard|meet|met)\w*"
            r"|originally|initially|earliest)\b",
            re.IGNORECASE,
        ),
        "oldest",
    ),
    (
        re.compile(
            r"\b(?:(?:the )?last time|(?:did|have|had) \w+ last"
            r"|last (?:say|said|tell|told|talk|mention)\w*|latest|most recent(?:ly)?|newest)\b",
            re.IGNORECASE,
        ),
        "newest",
    ),
)


def _stretches(text: str, now: datetime, told: Kind) -> Iterator[TimeHint]:
    """The dated expressions, each with the word before it that bounds it."""
    found = list(dated(text, now))
    while found:
        (first, last), (start, end) = found.pop(0)
        bound = _BOUND.search(text, 0, first)
        word = bound["word"].casefold() if bound else ""
        if bound:
            first = bound.start()
        if word in {"between", "from"} and found and _JOIN.fullmatch(text, last, found[0][0][0]):
            whole = text[first:last]
            (second, last), (_, end) = found.pop(0)
            word = ""
            if re.search(YEAR, text[second:last]) and not re.search(YEAR, whole):
                start = _year_before(start, end)
        stretch = _bounded(word, start, end)
        yield TimeHint((first, last), told, _zoned(stretch[0], now), _zoned(stretch[1], now))


def _year_before(start: datetime, end: datetime) -> datetime:
    """The start of "May to July 2024", whose year was only said at the end."""
    start = start.replace(year=end.year)
    return start if start < end else start.replace(year=end.year - 1)


def _bounded(word: str, start: datetime, end: datetime) -> tuple[datetime | None, datetime | None]:
    """The stretch on that side of [start, end); None is an open end."""
    if word in {"before", "prior to"}:
        return None, start
    if word in {"until", "till", "up to", "by"}:
        return None, end
    if word == "after":
        return end, None
    if word in {"since", "from"}:
        return start, None
    return start, end


def _orders(text: str) -> Iterator[TimeHint]:
    for pattern, order in _ORDERS:
        for match in pattern.finditer(text):
            yield TimeHint(match.span(), "order", order=order)


def _anchors(text: str, kind: Kind) -> Iterator[TimeHint]:
    for match in _ANCHOR.finditer(text):
        yield TimeHint(match.span(), kind, anchor=f"{match['word'].casefold()} {match['event']}")


def _apart(found: list[TimeHint]) -> Iterator[TimeHint]:
    """Hints that do not overlap; dates are listed first and so win over anchors."""
    taken: list[tuple[int, int]] = []
    for hint in found:
        if all(hint.span[1] <= first or last <= hint.span[0] for first, last in taken):
            taken.append(hint.span)
            yield hint


def _zoned(moment: datetime | None, now: datetime) -> datetime | None:
    """A wall-clock moment in the user's zone, whose offset may differ from today's."""
    return None if moment is None else moment.replace(tzinfo=now.tzinfo)
