"""Time in a question: "last Tuesday", "in May", "before the release", "what did I first say".

`hints(text, now)` is pure: the user's clock and zone come in with `now`; if that tells no more than
how far from UTC it is, and this machine's zone is as far, it is taken for that zone. Each hint says
where in the text it stands and what it asks for: a stretch of time [start, end), an order, or an
event whose date the caller has to look up. A stretch is a filter only when the question is about
when something was *said* ("what did I tell you yesterday"), or about nothing but an event ("what
happened before the release"); otherwise the day may be the event's, told of later, and the stretch
is a boost. So it is where it is not sure what is meant (`saying.py`), or where two times exclude
each other: what hides a right answer must be sure. Dates without a year are the latest ones that
are not in the future, and a time that has not come filters nothing. Reads English and some German
and French; what it does not recognise it leaves alone. Calendar arithmetic and the reading of
written dates are dateutil's.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final, Literal

from dateutil import tz

from everloop.memory.text.analysis import ASKED_KEPT
from everloop.memory.time_query.bounds import Bound, bound, joined, joins
from everloop.memory.time_query.certainty import (
    WEEKLY,
    asks_what_happened,
    asks_what_was_said,
    asks_when,
    is_claimed,
    is_sure,
    period,
)
from everloop.memory.time_query.english import other_reading
from everloop.memory.time_query.event_anchors import anchors
from everloop.memory.time_query.expressions import CUES, cued, dated
from everloop.memory.time_query.intervals import Stretch

READ = 10_000  # characters of a question in which times are looked for
LEAD = 120  # characters before a time that tell what it is to the question
_RECENT: Final = timedelta(hours=3)  # what is so near is counted as time passes, not by the wall

Kind = Literal["filter", "boost", "order"]
Order = Literal["oldest", "newest"]


@dataclass(frozen=True, slots=True)
class TimeHint:
    """One time expression. `anchor` names an event whose date only the caller can find.

    `side` says on which side of that event the time lies.
    """

    span: tuple[int, int]
    kind: Kind
    start: datetime | None = None
    end: datetime | None = None
    order: Order | None = None
    anchor: str | None = None
    side: str = ""


def hints(text: str, now: datetime) -> list[TimeHint]:
    """The time expressions of `text`, in reading order. What is far into a long text is not read.

    `now` is what the user's clock shows, zone included; every moment returned is in that zone.
    """
    assert now.tzinfo is not None, "a question is asked in somebody's time zone"
    text = text[:READ]
    if not _may_tell(text):
        return []  # most questions say nothing about time, and this is soon said
    told: Kind = "filter" if asks_what_was_said(text) and not asks_when(text) else "boost"
    event: Kind = "filter" if asks_what_happened(text) else told
    times = list(_stretches(text, in_zone(now), told))
    events = list(_anchors(text, event, times))
    times = [_boosting(time) if _is_of(time, events) else time for time in times]
    found = [*times, *_orders(text), *(event for event, _ in events)]
    return sorted(_agreeing(list(_apart(found))), key=lambda hint: hint.span)


@lru_cache(maxsize=ASKED_KEPT)
def _may_tell(text: str) -> bool:
    return cued(text, _CUES)


def in_zone(now: datetime) -> datetime:
    """A clock in its zone, where it shows no more than an offset, and that is this machine's.

    Berlin in November is an hour ahead, but what was said there in May was two hours ahead.
    """
    zone = tz.gettz()
    if zone is None or not isinstance(now.tzinfo, timezone):
        return now
    here = now.astimezone(zone)
    return here if here.utcoffset() == now.utcoffset() else now


# Whatever is found below holds a digit, or a word that begins like one of these.
_CUES: Final = CUES.union(
    """
    befo afte sinc unti duri firs orig init earl last late most newe zuer zule erst letz prem dern
    pend jusq
    """.split()  # noqa: SIM905  # 21 quoted words are harder to read
)
_CLAUSE = re.compile(r"(?:[^?.!,;]|(?<=\d)\.)*")
_TRAILING = re.compile(r"(?: (?:in|on|at|of|from|by|but|and|or|then|the))+ ?$| $", re.IGNORECASE)
_LIST = re.compile(r",? (?:and|or|und|oder|et|ou) (?:(?:on|in|am|im|en) )?", re.IGNORECASE)
_ALSO = re.compile(  # what comes then is another time: "before the release and after it"
    r"\b(?:and|or|und|oder|sowie|et|ou)(?: (?:also|auch|aussi))? (?:before|after|since|until|during"
    r"|then|vor|nach|seit|bis|während|danach|davor|seither|seitdem|später|avant|après|depuis|pendant"
    r"|ensuite|jusqu)\b",
    re.IGNORECASE,
)
_NARROWING = re.compile(r",? (?:(?:on|in|of|at|during|am|im|en) )?", re.IGNORECASE)
_THING = "thing (?:that )?(?:I|we|you|he|she|they)"
_OWN = "(?<!since )(?<!before )(?<!after )(?<!until )(?<!during )(?:my|our|your|the)(?: very)?"
_MESSAGE = "(?:message|note|conversation|chat)s?"
_ORDERS: Final[tuple[tuple[re.Pattern[str], Order], ...]] = (
    (
        re.compile(
            r"\b(?:the (?:very )?first time|(?:did|have|had) \w+ first"
            r"|first (?:say|said|tell|told|talk|mention|bring|brought|hear|heard|meet|met)\w*"
            rf"|first {_THING}|{_OWN} first {_MESSAGE}"
            r"|originally|initially|earliest|zuerst|als erstes|zum ersten mal|en premier"
            r"|(?:pour )?la première fois)\b",
            re.IGNORECASE,
        ),
        "oldest",
    ),
    (
        re.compile(
            r"\b(?:(?:the )?last time|(?:did|have|had) \w+ last"
            r"|last (?:say|said|tell|told|talk|mention)\w*|latest|most recent(?:ly)?|newest"
            rf"|last {_THING}|{_OWN} last {_MESSAGE}|zuletzt|als letztes|zum letzten mal|en dernier"
            r"|(?:pour )?la dernière fois)\b",
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
        before, words = text[max(0, first - LEAD) : first], text[first:last]
        limit = bound(before, text[last:])
        readings = [stretch, *filter(None, [other_reading(words)])]
        to_come = stretch[0] > local
        sure = is_sure(before, words, limit.side, stretch, local)
        if found and joins(limit.side, text[last : found[0][0][0]]):
            (second, end), other = found.pop(0)
            sure = not (is_claimed(before) or other_reading(text[second:end]))
            stretch = joined(words, text[second:end], stretch, other)
            readings, last, limit = [stretch] * len(readings), end, Bound(length=limit.length)
        elif found and _LIST.fullmatch(text, last, found[0][0][0]):
            sure = False  # this time is not the only one
        if to_come and (limit.length or told == "filter"):
            continue  # nothing was said then yet
        kind: Kind = told if sure and len(readings) == 1 else "boost"
        for reading in dict.fromkeys(readings):
            start, stop = (_zoned(moment, now) for moment in limit.of(*reading))
            yield TimeHint((first - limit.length, last), kind, start, stop)


Placed = tuple[tuple[int, int], Stretch]


def _narrowed(text: str, found: list[Placed]) -> Iterator[Placed]:
    """The expressions; "Tuesday last week" and "last year, in May" are one."""
    while found:
        one = found.pop(0)
        if found and _NARROWING.fullmatch(text, one[0][1], found[0][0][0]):
            other = found[0]
            if inner := (
                _named_day(text, one, other)
                or _within(text, one, other)
                or _within(text, other, one)
            ):
                del found[0]
                one = (one[0][0], other[0][1]), inner
        yield one


def _named_day(text: str, name: Placed, date: Placed) -> Stretch | None:
    """The date, where a day of the week only says which day that was: "Tuesday, 10 November"."""
    weekly = [bool(WEEKLY.search(text[slice(*one[0])])) for one in (name, date)]
    days = {(one[1][1] - one[1][0]).days for one in (name, date)}
    return date[1] if weekly == [True, False] and days == {1} else None


def _within(text: str, inner: Placed, outer: Placed) -> Stretch | None:
    """The day of the week within that week, or the date within that year."""
    words, days = text[slice(*inner[0])], (outer[1][1] - outer[1][0]).days
    weekly = bool(WEEKLY.search(words))
    if days != 7 if weekly else days < 365 or "easter" in words.casefold():
        return None
    start, end = inner[1]
    step = period(words)
    while start >= outer[1][1]:
        start, end = start - step, end - step
    while start < outer[1][0]:
        start, end = start + step, end + step
    return (start, end) if start < outer[1][1] else None


def _orders(text: str) -> Iterator[TimeHint]:
    for pattern, order in _ORDERS:
        for match in pattern.finditer(text):
            yield TimeHint(match.span(), "order", order=order)


def _anchors(
    text: str, kind: Kind, times: Sequence[TimeHint]
) -> Iterator[tuple[TimeHint, tuple[int, int]]]:
    """The events that are named, and up to where the words go that may say when they were."""
    for found in anchors(text):
        inside = [time.span[0] for time in times if found.event < time.span[0]]
        end = min([at for at in inside if at < found.end], default=found.end)
        end = found.start + len(_TRAILING.sub("", text[found.start : end]))
        clause = _CLAUSE.match(text, found.end)
        if clause and (named := found.named(text[found.event : end])):
            hint = TimeHint((found.start, end), kind, anchor=named, side=found.side)
            claimed = is_claimed(text[max(0, found.start - LEAD) : found.start])
            unsure = claimed or _ALSO.search(text, found.event, found.end + LEAD)
            yield _boosting(hint) if unsure else hint, (end, clause.end())


def _is_of(time: TimeHint, events: Sequence[tuple[TimeHint, tuple[int, int]]]) -> bool:
    """Whether a time may be that of an event: "before the release in May"."""
    bounded = time.start is None or time.end is None
    return not bounded and any(first <= time.span[0] < last for _, (first, last) in events)


def _boosting(hint: TimeHint) -> TimeHint:
    return replace(hint, kind="boost")


def _apart(found: list[TimeHint]) -> Iterator[TimeHint]:
    """Hints that do not overlap; dates are listed first and so win over anchors."""
    taken: list[tuple[int, int]] = []
    for hint in found:
        again = bool(taken) and hint.span == taken[-1] and not hint.anchor  # it may mean two days
        if again or all(hint.span[1] <= first or last <= hint.span[0] for first, last in taken):
            taken.append(hint.span)
            yield hint


def _agreeing(found: list[TimeHint]) -> list[TimeHint]:
    """The hints; what no moment can fulfil at once ("on Monday or in May") does not filter."""
    filters = [hint for hint in found if hint.kind == "filter"]
    starts = [hint.start for hint in filters if hint.start]
    ends = [hint.end for hint in filters if hint.end]
    if not starts or not ends or max(starts) < min(ends):
        return found
    return [_boosting(hint) if hint in filters else hint for hint in found]


def _zoned(moment: datetime | None, now: datetime) -> datetime | None:
    """A wall-clock moment in the user's zone, whose offset may differ from today's."""
    if moment is None:
        return None
    passed = now.replace(tzinfo=None) - moment
    if timedelta() <= passed < _RECENT and moment.time() != datetime.min.time():
        return (now.astimezone(UTC) - passed).astimezone(now.tzinfo)
    return tz.resolve_imaginary(moment.replace(tzinfo=now.tzinfo))  # a day may begin at one
