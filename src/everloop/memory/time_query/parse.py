"""Time query parser: finds "last Tuesday", "in May", "before the release" in a question.

`parse_time_hints(text, now)` is pure: `now` brings the user's clock and zone; if it has only a UTC
offset that equals this machine's, this machine's zone is used. Each hint has its place in the text
and what it asks for: an interval [start, end), an order ("first", "last"), or an event whose date
the caller has to look up. An interval is a filter only if the question is about when something was
*said* ("what did I tell you yesterday"), or about nothing but an event ("what happened before the
release"); otherwise the day may be that of an event told of later, and the interval is a boost. It
is also a boost if the meaning is not certain (`certainty.py`), or if two times exclude each other:
a filter must not hide a right answer. Dates without a year are the latest ones that are not in the
future, and a future time filters nothing. Reads English and some German and French, and ignores
everything else. Calendar arithmetic and written dates are parsed by dateutil.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta, timezone
from functools import lru_cache
from typing import Final, Literal

from dateutil import tz

from everloop.memory.text.analysis import QUESTIONS_CACHED
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query.bounds import Bound, is_range, join_range, parse_bound
from everloop.memory.time_query.certainty import (
    WEEKDAY_PATTERN,
    asks_what_happened,
    asks_what_was_said,
    asks_when,
    is_certain,
    is_reported,
    recurrence,
)
from everloop.memory.time_query.english import day_first_reading
from everloop.memory.time_query.event_anchors import find_event_anchors
from everloop.memory.time_query.expressions import ALL_CUES, find_dates, has_cue
from everloop.memory.time_query.intervals import Interval

PARSED_MAX = 10_000  # characters at the beginning of a question that are searched for times
LEAD = 120  # characters before a time that decide about its meaning
_RECENT: Final = timedelta(
    hours=3
)  # so near to now, elapsed time counts instead of wall-clock time

HintKind = Literal["filter", "boost", "order"]
HintOrder = Literal["oldest", "newest"]


@dataclass(frozen=True, slots=True)
class TimeHint:
    """One time expression. `anchor` names an event whose date only the caller can find.

    `side` is the side of that event on which the time is.
    """

    span: tuple[int, int]
    kind: HintKind
    start: datetime | None = None
    end: datetime | None = None
    order: HintOrder | None = None
    anchor: str | None = None
    side: str = ""


def parse_time_hints(text: str, now: datetime) -> list[TimeHint]:
    """Parse the time expressions of `text`, in reading order; of a long text only the beginning.

    `now` is what the user's clock shows, zone included; every moment returned is in that zone.
    """
    assert now.tzinfo is not None, "`now` must have a time zone"
    text = text[:PARSED_MAX]
    if not _may_have_time(text):
        return []  # fast path: most questions name no time
    speech_kind: HintKind = (
        "filter" if asks_what_was_said(text) and not asks_when(text) else "boost"
    )
    event: HintKind = "filter" if asks_what_happened(text) else speech_kind
    times = list(_date_hints(text, in_zone(now), speech_kind))
    events = list(_event_hints(text, event, times))
    times = [_as_boost(time) if _is_event_date(time, events) else time for time in times]
    found = [*times, *_order_hints(text), *(event for event, _ in events)]
    return sorted(_without_conflicts(list(_without_overlaps(found))), key=lambda hint: hint.span)


@lru_cache(maxsize=QUESTIONS_CACHED)
def _may_have_time(text: str) -> bool:
    return has_cue(text, _CUES)


def in_zone(now: datetime) -> datetime:
    """The clock in this machine's zone, if it has only a UTC offset that equals this machine's.

    Berlin is one hour ahead of UTC in November, but was two hours ahead in May.
    """
    zone = tz.gettz()
    if zone is None or not isinstance(now.tzinfo, timezone):
        return now
    here = now.astimezone(zone)
    return here if here.utcoffset() == now.utcoffset() else now


# Every match below has a digit, or a word that begins like one of these.
_CUES: Final = ALL_CUES.union(
    """
    befo afte sinc unti duri firs orig init earl last late most newe zuer zule erst letz prem dern
    pend jusq
    """.split()  # noqa: SIM905  # 21 quoted words are harder to read
)
_CLAUSE = LazyPattern(r"(?:[^?.!,;]|(?<=\d)\.)*")
_TRAILING = LazyPattern(r"(?: (?:in|on|at|of|from|by|but|and|or|then|the))+ ?$| $", re.IGNORECASE)
_LIST = LazyPattern(r",? (?:and|or|und|oder|et|ou) (?:(?:on|in|am|im|en) )?", re.IGNORECASE)
_ALSO = LazyPattern(  # another time follows: "before the release and after it"
    r"\b(?:and|or|und|oder|sowie|et|ou)(?: (?:also|auch|aussi))? (?:before|after|since|until|during"
    r"|then|vor|nach|seit|bis|während|danach|davor|seither|seitdem|später|avant|après|depuis|pendant"
    r"|ensuite|jusqu)\b",
    re.IGNORECASE,
)
_NARROWING = LazyPattern(r",? (?:(?:on|in|of|at|during|am|im|en) )?", re.IGNORECASE)
_THING = "thing (?:that )?(?:I|we|you|he|she|they)"
_OWN = "(?<!since )(?<!before )(?<!after )(?<!until )(?<!during )(?:my|our|your|the)(?: very)?"
_MESSAGE = "(?:message|note|conversation|chat)s?"
_ORDERS: Final[tuple[tuple[LazyPattern, HintOrder], ...]] = (
    (
        LazyPattern(
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
        LazyPattern(
            r"\b(?:(?:the )?last time|(?:did|have|had) \w+ last"
            r"|last (?:say|said|tell|told|talk|mention)\w*|latest|most recent(?:ly)?|newest"
            rf"|last {_THING}|{_OWN} last {_MESSAGE}|zuletzt|als letztes|zum letzten mal|en dernier"
            r"|(?:pour )?la dernière fois)\b",
            re.IGNORECASE,
        ),
        "newest",
    ),
)


def _date_hints(text: str, now: datetime, speech_kind: HintKind) -> Iterator[TimeHint]:
    """The hints of dated expressions, each with the bounding word before it."""
    local = now.replace(tzinfo=None)
    found = list(_merge_narrowing(text, list(find_dates(text, now))))
    while found:
        (first, last), interval = found.pop(0)
        before, words = text[max(0, first - LEAD) : first], text[first:last]
        limit = parse_bound(before, text[last:])
        readings = [interval, *filter(None, [day_first_reading(words)])]
        to_come = interval[0] > local
        sure = is_certain(before, words, limit.side, interval, local)
        if found and is_range(limit.side, text[last : found[0][0][0]]):
            (second, end), other = found.pop(0)
            sure = not (is_reported(before) or day_first_reading(text[second:end]))
            interval = join_range(words, text[second:end], interval, other)
            readings, last, limit = [interval] * len(readings), end, Bound(length=limit.length)
        elif found and _LIST.fullmatch(text, last, found[0][0][0]):
            sure = False  # one of several times
        if to_come and (limit.length or speech_kind == "filter"):
            continue  # nothing was said in the future
        kind: HintKind = speech_kind if sure and len(readings) == 1 else "boost"
        for reading in dict.fromkeys(readings):
            start, stop = (_in_user_zone(moment, now) for moment in limit.apply(*reading))
            yield TimeHint((first - limit.length, last), kind, start, stop)


_PlacedInterval = tuple[tuple[int, int], Interval]


def _merge_narrowing(text: str, found: list[_PlacedInterval]) -> Iterator[_PlacedInterval]:
    """Merge expressions that narrow each other: "Tuesday last week", "last year, in May"."""
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


def _named_day(text: str, name: _PlacedInterval, date: _PlacedInterval) -> Interval | None:
    """The date, if a day of the week only repeats it: "Tuesday, 10 November"."""
    weekly = [bool(WEEKDAY_PATTERN.search(text[slice(*one[0])])) for one in (name, date)]
    days = {(one[1][1] - one[1][0]).days for one in (name, date)}
    return date[1] if weekly == [True, False] and days == {1} else None


def _within(text: str, inner: _PlacedInterval, outer: _PlacedInterval) -> Interval | None:
    """The day of the week within a week, or the date within a year."""
    words, days = text[slice(*inner[0])], (outer[1][1] - outer[1][0]).days
    weekly = bool(WEEKDAY_PATTERN.search(words))
    if days != 7 if weekly else days < 365 or "easter" in words.casefold():
        return None
    start, end = inner[1]
    step = recurrence(words)
    while start >= outer[1][1]:
        start, end = start - step, end - step
    while start < outer[1][0]:
        start, end = start + step, end + step
    return (start, end) if start < outer[1][1] else None


def _order_hints(text: str) -> Iterator[TimeHint]:
    for pattern, order in _ORDERS:
        for match in pattern.finditer(text):
            yield TimeHint(match.span(), "order", order=order)


def _event_hints(
    text: str, kind: HintKind, times: Sequence[TimeHint]
) -> Iterator[tuple[TimeHint, tuple[int, int]]]:
    """The hints of named events, each with the text range that may say when the event was."""
    for found in find_event_anchors(text):
        inside = [time.span[0] for time in times if found.event < time.span[0]]
        end = min([at for at in inside if at < found.end], default=found.end)
        end = found.start + len(_TRAILING.sub("", text[found.start : end]))
        clause = _CLAUSE.match(text, found.end)
        if clause and (named := found.named(text[found.event : end])):
            hint = TimeHint((found.start, end), kind, anchor=named, side=found.side)
            claimed = is_reported(text[max(0, found.start - LEAD) : found.start])
            unsure = claimed or _ALSO.search(text, found.event, found.end + LEAD)
            yield _as_boost(hint) if unsure else hint, (end, clause.end())


def _is_event_date(time: TimeHint, events: Sequence[tuple[TimeHint, tuple[int, int]]]) -> bool:
    """Whether a time may be the date of an event: "before the release in May"."""
    bounded = time.start is None or time.end is None
    return not bounded and any(first <= time.span[0] < last for _, (first, last) in events)


def _as_boost(hint: TimeHint) -> TimeHint:
    return replace(hint, kind="boost")


def _without_overlaps(found: list[TimeHint]) -> Iterator[TimeHint]:
    """Drop overlapping hints; dates come first and so win over anchors."""
    taken: list[tuple[int, int]] = []
    for hint in found:
        again = (
            bool(taken) and hint.span == taken[-1] and not hint.anchor
        )  # an ambiguous date has two hints
        if again or all(hint.span[1] <= first or last <= hint.span[0] for first, last in taken):
            taken.append(hint.span)
            yield hint


def _without_conflicts(found: list[TimeHint]) -> list[TimeHint]:
    """Turn filters into boosts if no moment satisfies all of them ("on Monday or in May")."""
    filters = [hint for hint in found if hint.kind == "filter"]
    starts = [hint.start for hint in filters if hint.start]
    ends = [hint.end for hint in filters if hint.end]
    if not starts or not ends or max(starts) < min(ends):
        return found
    return [_as_boost(hint) if hint in filters else hint for hint in found]


def _in_user_zone(moment: datetime | None, now: datetime) -> datetime | None:
    """A wall-clock moment in the user's zone, whose UTC offset may differ from today's."""
    if moment is None:
        return None
    passed = now.replace(tzinfo=None) - moment
    if timedelta() <= passed < _RECENT and moment.time() != datetime.min.time():
        return (now.astimezone(UTC) - passed).astimezone(now.tzinfo)
    return tz.resolve_imaginary(
        moment.replace(tzinfo=now.tzinfo)
    )  # with daylight saving a day may begin at one o'clock
