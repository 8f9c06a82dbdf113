"""Bounds of a time interval: "since May", "two days before Christmas", "from May to July".

Pure, in wall-clock time without a zone. None is an open end.
"""

import re
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.text.normal_forms import NUMBER_WORDS
from everloop.memory.time_query.certainty import RELATIVE_PATTERN, WEEKDAY_PATTERN, recurrence
from everloop.memory.time_query.intervals import ANY_YEAR, DAY, Interval, day_interval

OpenInterval = tuple[datetime | None, datetime | None]


@dataclass(frozen=True, slots=True)
class Bound:
    """A bounding word: on which side of a time expression the interval is, and its length."""

    side: str = ""
    length: int = 0
    count: int = 0
    unit: str = ""

    def apply(self, start: datetime, end: datetime) -> OpenInterval:
        """Apply the bound to the interval [start, end) of an expression."""
        if self.count:
            return self._offset(start, end)
        if self.side == "around":
            margin = max(timedelta(days=2), (end - start) / 4)
            return start - margin, end + margin
        return {
            "before": (None, start),
            "until": (None, end),
            "after": (end, None),
            "since": (start, None),
            "from": (start, None),
        }.get(self.side, (start, end))

    def _offset(self, start: datetime, end: datetime) -> Interval:
        """The interval so many days, weeks or months before or after."""
        before = self.side == "before"
        if self.unit in {"day", "night"}:
            return day_interval(
                start - self.count * DAY if before else end + (self.count - 1) * DAY
            )
        step = relativedelta(weeks=self.count)
        if self.unit == "month":
            step = relativedelta(months=self.count)
        margin = 3 * DAY if self.count > 1 else timedelta()
        return (start - step - margin, start) if before else (end, end + step + margin)


def parse_bound(before: str, after: str) -> Bound:
    """Parse the bound of an expression from the words before and after it."""
    if away := _OFFSET.search(before):
        words = away["count"].casefold()
        count = int(words) if words.isdigit() else NUMBER_WORDS.get(words, 1)  # "the day before"
        side, unit = away["side"].casefold(), away["unit"].casefold()
        return Bound(side, len(before) - away.start(), count, unit)
    found = _BOUND.search(before)
    if not found:
        return Bound()
    side, length = BOUND_SIDES[found["word"].casefold()], len(before) - found.start()
    if side == "from" and _FROM_THEN.search(before) and not _ONWARDS.match(after):
        return Bound("", length)  # "my notes from March" are those of March
    return Bound(side, length)


def is_range(side: str, between: str) -> bool:
    """Whether two expressions are the ends of one interval, by the words between them."""
    join = _JOIN.fullmatch(between)
    return join is not None and (side in {"between", "from"} or not (side or join["both"]))


def join_range(first: str, second: str, one: Interval, other: Interval) -> Interval:
    """The interval from one expression to the other. A year given only once counts for both."""
    start, end = one[0], other[1]
    from_now = RELATIVE_PATTERN.search(first) or RELATIVE_PATTERN.search(second)
    years = bool(re.search(ANY_YEAR, first)), bool(re.search(ANY_YEAR, second))
    if years == (False, True):
        start += relativedelta(year=end.year)
        start -= relativedelta(years=start >= end)
    elif years == (True, False) and not from_now:
        end += relativedelta(year=start.year)
        end += relativedelta(years=end <= start)
    elif other[0] < start and not any(years) and (WEEKDAY_PATTERN.search(first) or not from_now):
        return start - recurrence(first), end
    if start >= end or other[0] < start < other[1]:
        return min(one[0], other[0]), max(one[1], other[1])
    return start, end


BOUND_SIDES: Final = (
    dict.fromkeys(("before", "prior to", "vor", "avant"), "before")
    | dict.fromkeys(("until", "till", "up to", "by", "bis", "jusqu'au"), "until")
    | dict.fromkeys(("after", "nach", "après"), "after")
    | dict.fromkeys(("since", "seit", "ab", "depuis"), "since")
    | dict.fromkeys(("between", "zwischen", "entre"), "between")
    | {"from": "from", "around": "around"}
)
_BOUND = LazyPattern(
    rf"\b(?P<word>{'|'.join(BOUND_SIDES)})(?: about| around| dem| zum| le| l['\u2019])? ?$",
    re.IGNORECASE,
)
# "two days before Christmas" is one day, not an open interval.
_OFFSET = LazyPattern(
    r"\b(?P<count>the|an?|one|two|three|four|five|\d{1,2}) (?P<unit>day|night|week|month)s?"
    r" (?P<side>before|after) $",
    re.IGNORECASE,
)
_FROM_THEN = LazyPattern(
    r"\b(?:messages?|notes?|conversations?|chats?|threads?|memories|entries|things|everything|all)"
    r" from $",
    re.IGNORECASE,
)
_ONWARDS = LazyPattern(r" on(?:wards?)?(?=[?.!,;]|$)", re.IGNORECASE)
_JOIN = LazyPattern(
    r" ?(?:(?P<both>and|und(?: dem)?|et(?: le)?)"
    r"|to|until|till|through|bis(?: zum)?|au|-|\u2013) ?",
    re.IGNORECASE,
)
