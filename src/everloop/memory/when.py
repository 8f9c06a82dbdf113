"""Time in a question: "last Tuesday", "in May", "before the release", "what did I first say".

`hints(text, now)` is pure: the user's clock and zone come in with `now`. Each hint says where in
the text it stands and what it asks for: a stretch of time [start, end), an order, or an event whose
date the caller has to look up. A stretch is a filter only when the question is about when something
was *said* ("what did I tell you yesterday"), or about nothing but an event ("what happened before
the release"); otherwise the day may be the event's, told of later, and the stretch is a boost.
So it is where the day is rather what was spoken of ("about Friday"), or where two times exclude
each other: what hides a right answer must be sure. Dates without a year are the latest ones that
are not in the future, and a time that has not come filters nothing. Reads English and some German
and French; what it does not recognise it leaves alone. Calendar arithmetic and the reading of
written dates are dateutil's.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Final, Literal

from dateutil.relativedelta import relativedelta

from everloop.memory.expressions import CUES, WEEKDAY, cued, dated
from everloop.memory.languages import FRENCH_DAYS, GERMAN_DAYS
from everloop.memory.stretches import YEAR, Stretch

LEAD = 120  # characters before a time that tell what it is to the question

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
    told: Kind = "filter" if asks_what_was_said(text) else "boost"
    event: Kind = "filter" if _OPEN.search(text) else told
    found = [*_stretches(text, now, told), *_orders(text), *_anchors(text, event)]
    return sorted(_agreeing(list(_apart(found))), key=lambda hint: hint.span)


def asks_what_was_said(text: str) -> bool:
    """Whether a question is about what somebody said, wrote or noted."""
    return _TOLD.search(text) is not None


# Whatever is found below holds a digit, or a word that begins like one of these.
_CUES: Final = CUES.union(
    "befo afte sinc unti duri firs orig init earl last late most newe zuer zule".split()  # noqa: SIM905
)
_TOLD = re.compile(
    r"\b(?:I|we|you)\b(?: \w+){0,2}? (?:say|said|tell|told|write|wrote|written|mention(?:ed)?"
    r"|noted?|discuss(?:ed|ing)?|talk(?:ed|ing)?|sp(?:eak|oken?|eaking)|chat(?:ted|ting)?"
    r"|ask(?:ed|ing)?|answer(?:ed)?|decided?|saved?|remember)\b"
    r"|\b(?:messages?|notes?|conversations?|chats?|threads?|memories)\b"
    r"|\b(?:ich|wir|du|ihr)\b(?:[^.?!]|(?<=\d)\.)*"
    r"\b(?:gesagt|erzählt|geschrieben|erwähnt|besprochen|notiert)\b"
    r"|\b(?:ai|as|avons|avez)(?:-\w+)? (?:\w+ )?(?:dit|raconté|écrit|mentionné|noté|décidé)\b",
    re.IGNORECASE,
)
# Such a question has no words to be found by: the event says when, and that is all it says.
_OPEN = re.compile(
    r"\bwhat(?:'s| is| was| has| had| else| all)* "
    r"(?:happened|happening|changed|new|went on|going on|gone on)"
    r" (?=before|after|since|until|during)",
    re.IGNORECASE,
)
_SIDES: Final = (
    dict.fromkeys(("before", "prior to", "vor", "avant"), "before")
    | dict.fromkeys(("until", "till", "up to", "by", "bis", "jusqu'au"), "until")
    | dict.fromkeys(("after", "nach", "après"), "after")
    | dict.fromkeys(("since", "seit", "depuis"), "since")
    | dict.fromkeys(("between", "zwischen", "entre"), "between")
    | {"from": "from", "around": "around"}
)
_BOUND = re.compile(
    rf"\b(?P<word>{'|'.join(_SIDES)})(?: about| around| dem| zum| le)? $", re.IGNORECASE
)
_JOIN = re.compile(
    r" ?(?:(?P<both>and|und(?: dem)?|et(?: le)?)"
    r"|to|until|till|through|bis(?: zum)?|au|-|\u2013) ?",
    re.IGNORECASE,
)
_LIST = re.compile(r",? (?:and|or|und|oder|et|ou) (?:(?:on|in|am|im|en) )?", re.IGNORECASE)
_NARROWING = re.compile(r",? (?:(?:on|in|of|at|during|am|im) )?", re.IGNORECASE)
_WEEKLY = re.compile(rf"\b(?:{WEEKDAY}|{GERMAN_DAYS}|{FRENCH_DAYS}|weekend)\b", re.IGNORECASE)
_MONTHLY = re.compile(r"the \d+[a-z]+")
_FROM_NOW = re.compile(
    r"\b(?:last|this|past|previous|ago|earlier|today|yesterday|the other day|gestern|hier|heute"
    r"|(?:letzte|vorige|diese)\w?|vor|il y a|derni\w+)\b",
    re.IGNORECASE,
)
# After these words a day is what something is about or due, and after the next a count is no date
# but a limit; the last ones may be said of a person, or of a number.
_TOPIC = re.compile(
    r"\b(?:about|for|regarding|concerning|(?<!up )(?<!prior )to|by|through|and|or"
    r"|über|für|sur|pour) (?:the )?$",
    re.IGNORECASE,
)
# Here "about" belongs to what was asked for: "what did we talk about", "the film I spoke about".
_LEFT_OVER = re.compile(
    r"\b(?:what|who|whom|which|that|(?:the|a|an|this|any) [\w' -]+?)"
    r"(?: did| do| have| had| was| were)? (?:I|we|you)(?: \w+)?"
    r" (?:talk|sp[eo]a?k|chat|ask|argu|complain|joke)\w* about $",
    re.IGNORECASE,
)
_LIMIT = re.compile(r"\b(?:over|under|almost|nearly|(?:more|less) than|at least) $", re.IGNORECASE)
_NAMESAKE = re.compile(
    rf"\b(?:of|from|after|before|between|around) (?P<name>jan|april|may|june|august)$"
    rf"|\bof (?P<number>{YEAR})$",
    re.IGNORECASE,
)
_ANCHOR = re.compile(
    r"\b(?P<word>before|after|since|until|during) "
    r"(?P<event>(?:the|my|our|your|his|her|their|that|we|I|you|he|she|they) [\w' -]+?)"
    r"(?=[?.!,;]|$)",
    re.IGNORECASE,
)
_THING = "thing (?:that )?(?:I|we|you|he|she|they)"
_OWN = "(?<!since )(?<!before )(?<!after )(?<!until )(?<!during )(?:my|our|your|the)(?: very)?"
_MESSAGE = "(?:message|note|conversation|chat)s?"
_ORDERS: Final[tuple[tuple[re.Pattern[str], Order], ...]] = (
    (
        re.compile(
            r"\b(?:the (?:very )?first time|(?:did|have|had) \w+ first"
            r"|first (?:say|said|tell|told|talk|mention|bring|brought|hear|heard|meet|met)\w*"
            rf"|first {_THING}|{_OWN} first {_MESSAGE}"
            r"|originally|initially|earliest|zuerst)\b",
            re.IGNORECASE,
        ),
        "oldest",
    ),
    (
        re.compile(
            r"\b(?:(?:the )?last time|(?:did|have|had) \w+ last"
            r"|last (?:say|said|tell|told|talk|mention)\w*|latest|most recent(?:ly)?|newest"
            rf"|last {_THING}|{_OWN} last {_MESSAGE}|zuletzt)\b",
            re.IGNORECASE,
        ),
        "newest",
    ),
)


def _stretches(text: str, now: datetime, told: Kind) -> Iterator[TimeHint]:
    """The dated expressions, each with the word before it that bounds it."""
    local = now.replace(tzinfo=None)
    found = list(_narrowed(text, list(dated(text, now))))
    while found:
        (first, last), stretch = found.pop(0)
        before = text[max(0, first - LEAD) : first]
        bound = _BOUND.search(before)
        side = _SIDES[bound["word"].casefold()] if bound else ""
        to_come = stretch[0] > local
        sure = _is_sure(before, text[first:last], side, stretch[0], local)
        if found and _joins(side, _JOIN.fullmatch(text, last, found[0][0][0])):
            (second, end), other = found.pop(0)
            stretch = _joined(text[first:last], text[second:end], stretch, other)
            last, side, sure = end, "", True
        elif found and _LIST.fullmatch(text, last, found[0][0][0]):
            sure = False  # this time is not the only one
        if to_come and (bound or told == "filter"):
            continue  # nothing was said then yet
        start, stop = (_zoned(moment, now) for moment in _bounded(side, *stretch))
        span = (first - len(before) + bound.start() if bound else first), last
        yield TimeHint(span, told if sure else "boost", start, stop)


Placed = tuple[tuple[int, int], Stretch]


def _narrowed(text: str, found: list[Placed]) -> Iterator[Placed]:
    """The expressions; "Tuesday last week" and "last year, in May" are one."""
    while found:
        one = found.pop(0)
        if found and _NARROWING.fullmatch(text, one[0][1], found[0][0][0]):
            other = found[0]
            if inner := _within(text, one, other) or _within(text, other, one):
                del found[0]
                one = (one[0][0], other[0][1]), inner
        yield one


def _within(text: str, inner: Placed, outer: Placed) -> Stretch | None:
    """The day of the week within that week, or the date within that year."""
    words, days = text[slice(*inner[0])], (outer[1][1] - outer[1][0]).days
    weekly = bool(_WEEKLY.search(words))
    if days != 7 if weekly else days < 365 or "easter" in words.casefold():
        return None
    start, end = inner[1]
    step = _period(words)
    while start >= outer[1][1]:
        start, end = start - step, end - step
    while start < outer[1][0]:
        start, end = start + step, end + step
    return (start, end) if start < outer[1][1] else None


def _period(words: str) -> relativedelta:
    """After what time the same words mean the next one."""
    if _WEEKLY.search(words):
        return relativedelta(weeks=1)
    return relativedelta(months=1) if _MONTHLY.fullmatch(words) else relativedelta(years=1)


def _is_sure(before: str, words: str, side: str, start: datetime, now: datetime) -> bool:
    """Whether the words surely say when something was said, and which time is meant."""
    namesake = _NAMESAKE.search(before + words)
    if _TOPIC.search(before) and not _LEFT_OVER.search(before):
        return False
    if namesake and words in namesake.groups():
        return False
    if words.casefold().endswith("ago"):
        return not _LIMIT.search(before)
    if side not in {"before", "until"} or re.search(YEAR, words) or _FROM_NOW.search(words):
        return True
    return now - start < start + _period(words) - now  # else the next one is nearer


def _joins(side: str, join: re.Match[str] | None) -> bool:
    """Whether two expressions are the ends of one stretch."""
    return join is not None and (side in {"between", "from"} or not (side or join["both"]))


def _joined(first: str, second: str, one: Stretch, other: Stretch) -> Stretch:
    """From one to the other. A year that was said only once counts for both."""
    start, end = one[0], other[1]
    from_now = _FROM_NOW.search(first) or _FROM_NOW.search(second)
    years = bool(re.search(YEAR, first)), bool(re.search(YEAR, second))
    if years == (False, True):
        start += relativedelta(year=end.year)
        start -= relativedelta(years=start >= end)
    elif years == (True, False) and not from_now:
        end += relativedelta(year=start.year)
        end += relativedelta(years=end <= start)
    elif other[0] < start and not any(years) and (_WEEKLY.search(first) or not from_now):
        return start - _period(first), end
    if start >= end or other[0] < start < other[1]:
        return min(one[0], other[0]), max(one[1], other[1])
    return start, end


def _bounded(side: str, start: datetime, end: datetime) -> tuple[datetime | None, datetime | None]:
    """The stretch on that side of [start, end); None is an open end."""
    if side == "around":
        margin = max(timedelta(days=2), (end - start) / 4)
        return start - margin, end + margin
    return {
        "before": (None, start),
        "until": (None, end),
        "after": (end, None),
        "since": (start, None),
        "from": (start, None),
    }.get(side, (start, end))


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


def _agreeing(found: list[TimeHint]) -> list[TimeHint]:
    """The hints; what no moment can fulfil at once ("on Monday or in May") does not filter."""
    filters = [hint for hint in found if hint.kind == "filter"]
    starts = [hint.start for hint in filters if hint.start]
    ends = [hint.end for hint in filters if hint.end]
    if not starts or not ends or max(starts) < min(ends):
        return found
    return [replace(hint, kind="boost") if hint in filters else hint for hint in found]


def _zoned(moment: datetime | None, now: datetime) -> datetime | None:
    """A wall-clock moment in the user's zone, whose offset may differ from today's."""
    return None if moment is None else moment.replace(tzinfo=now.tzinfo)
