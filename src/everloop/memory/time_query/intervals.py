"""Time intervals: the calendar arithmetic behind all time expressions.

Pure, in wall-clock time without a zone. An interval is [start, end). A date without a year, month
or week is the latest one that is not in the future. A reader turns a regex match into an interval;
it returns None if the words are about time but name no interval of the past.
"""

import re
from collections.abc import Callable, Iterable
from contextlib import suppress
from datetime import datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from everloop.memory.text.lazy_pattern import LazyPattern

Interval = tuple[datetime, datetime]
IntervalReader = Callable[[re.Match[str], datetime], Interval | None]
DatePattern = tuple[LazyPattern, IntervalReader]

DAY: Final = timedelta(days=1)
YEAR: Final = r"(?:19|20)\d\d"
ANY_YEAR: Final = rf"(?:{YEAR}|['\u2019]\d\d\b)"  # or its last two digits: "May '24"
PREPOSITION: Final = (
    "(?:in|during|since|before|after|until|till|by|of|from|between|and|or|to|through|around)"
)
RANGE_WORD: Final = r" ?(?:and|to|until|till|through|-|\u2013) ?"
PARTS: Final = {  # parts of the day, by their hours
    "morning": (5, 12),
    "noon": (11, 15),
    "afternoon": (12, 18),
    "evening": (17, 24),
    "night": (18, 30),
}
CENTURY_ENDS: Final = 70  # '70 is 1970, and '69 is 2069
LEAP_YEARS_APART: Final = 8  # at most: 1896 and 1904


def compile_words(words: str) -> LazyPattern:
    """Compile a pattern that matches whole words, in upper or lower case."""
    return LazyPattern(rf"\b(?:{words})(?!\w)", re.IGNORECASE)


def group_text(match: re.Match[str], part: str) -> str:
    """The text of a named group in lower case; empty if it did not match."""
    return (match.groupdict().get(part) or "").casefold()


def year_number(written: str) -> int:
    """A year written in full or as its last two digits."""
    if len(written) == 4:
        return int(written)
    end = int(written[1:])
    return end + (1900 if end >= CENTURY_ENDS else 2000)


def pattern_index(names: Iterable[str], name: str) -> int:
    """The index of the pattern that matches a name; one of them must."""
    return next(number for number, words in enumerate(names) if re.fullmatch(words, name))


def midnight(moment: datetime) -> datetime:
    """The beginning of the day of a moment."""
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def day_interval(moment: datetime, days: int = 1) -> Interval:
    """The day of a moment, or several days from there on."""
    start = midnight(moment)
    return start, start + days * DAY


def week_interval(moment: datetime) -> Interval:
    """The week of a moment; it begins on Monday."""
    return day_interval(moment - moment.weekday() * DAY, 7)


def month_interval(year: int, number: int, months: int = 1) -> Interval:
    """A month, or several from there on."""
    start = datetime(year, number, 1)  # noqa: DTZ001  # wall-clock time; the caller has the zone
    return start, start + relativedelta(months=months)


def latest_date(number: int, day_number: int, now: datetime) -> datetime:
    """The latest day of that date that is not in the future; 29 February may be some years back.

    Raises:
        ValueError: there is no such date.
    """
    for year in range(now.year, now.year - LEAP_YEARS_APART - 1, -1):
        with suppress(ValueError):
            date = datetime(year, number, day_number)  # noqa: DTZ001  # as above
            if date <= now:
                return date
    raise ValueError(f"no year has a day {day_number} of month {number}")


def latest_year(number: int, now: datetime) -> int:
    """The year of the latest such month that has begun."""
    return latest_date(number, 1, now).year


def days_interval(number: int, first: int, last: int, year: str, now: datetime) -> Interval | None:
    """The days from `first` to `last` of a month; None if they are in the wrong order.

    Raises:
        ValueError: there is no such day.
    """
    if first > last:
        return None
    wanted = datetime(int(year), 12, 31) if year else now  # noqa: DTZ001  # as above
    date = latest_date(number, last, wanted)
    if year and date.year != wanted.year:
        raise ValueError(f"{year} has no such day")
    return date.replace(day=first), date + DAY


def hours_interval(part: str, date: datetime) -> Interval:
    """A part of a day; a night ends the next morning."""
    first, last = PARTS[part]
    return date + timedelta(hours=first), date + timedelta(hours=last)


def weekday_interval(number: int, which: str, now: datetime) -> Interval | None:
    """The latest such day, today included; None for "this" one if it is still to come."""
    back = (now.weekday() - number) % 7
    if which == "next":
        return day_interval(now + (7 - back) * DAY)
    if which == "this" and number > now.weekday():
        return None
    if which == "last" and back == 0:
        back = 7
    return day_interval(now - back * DAY)


def weekend_interval(which: str, now: datetime) -> Interval | None:
    """The latest weekend that has begun. From Wednesday on, "this weekend" is the next one."""
    if which == "this" and 2 <= now.weekday() < 5:
        return None
    monday, _ = week_interval(now)
    return day_interval(monday + (5 if now.weekday() >= 5 else -2) * DAY, 2)


def calendar_interval(unit: str, step: int, now: datetime) -> Interval:
    """The week, weekend, month, quarter or year that is `step` units from the current one."""
    if unit == "week":
        return week_interval(now + 7 * step * DAY)
    if unit == "weekend":
        monday, sunday = week_interval(now + 7 * step * DAY)
        return monday + 5 * DAY, sunday
    if unit == "year":
        return month_interval(now.year + step, 1, 12)
    months = 3 if unit == "quarter" else 1
    first = now.month - (now.month - 1) % months
    start = month_interval(now.year, first)[0] + relativedelta(months=step * months)
    return start, start + relativedelta(months=months)


def duration(count: int, unit: str) -> relativedelta:
    """A duration of so many minutes, hours, days, weeks, fortnights, months or years."""
    if unit == "fortnight":
        return relativedelta(weeks=2 * count)
    parts: dict[str, float] = {f"{unit}s": count}
    return relativedelta(**parts)  # type: ignore[arg-type]  # its parts have names of their own


def ago_interval(count: int, unit: str, now: datetime) -> Interval:
    """The interval around so long ago: the day itself for days, coarser for longer units."""
    then = now - duration(count, unit)
    if unit in {"minute", "hour"}:
        return then - duration(count, unit), now
    if unit == "day":
        return day_interval(then)
    if unit in {"week", "fortnight"}:
        return day_interval(then - 3 * DAY, 7)
    if unit == "month":
        return day_interval(then - 15 * DAY, 31)
    return month_interval(then.year, 1, 12)
