"""English calendar dates: "8 May 2023", "3 to 5 March", "in May", "Q2", "last summer".

A date without a year is the latest one that is not in the future; "this December" asked in November
gives no interval.
"""

import re
from datetime import datetime
from typing import Final

from dateutil import parser
from dateutil.relativedelta import relativedelta

from everloop.memory.text.calendar_names import ENGLISH_MONTH, FULL_DAY, day_number, month_number
from everloop.memory.time_query.intervals import (
    ANY_YEAR,
    DAY,
    PREPOSITION,
    RANGE_WORD,
    YEAR,
    DatePattern,
    Interval,
    calendar_interval,
    compile_words,
    day_interval,
    days_interval,
    group_text,
    latest_date,
    latest_year,
    midnight,
    month_interval,
    week_interval,
    year_number,
)

_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_EDGES: Final = {"beginning": 0, "start": 0, "early": 0, "middle": 1, "mid": 1, "end": 2, "late": 2}
LONGEST_MONTH: Final = 31
MONTHS: Final = 12
_MONTH = rf"(?!(?-i:ma|MA)[ry])(?:{ENGLISH_MONTH})\.?"  # "mar" and "may" are words
_SURE_MONTH = f"(?:{_MONTH}|march|may)"  # in lower case too, where it is unambiguous
_SUFFIXED = r"(?:0?[1-9]|[12]\d|3[01])(?:st|nd|rd|th)"
_NTH = f"{_SUFFIXED}?"
_DOTTED = rf"\d{{1,2}}\.\d{{1,2}}\.{YEAR}"  # the day comes first
_DATE = (
    rf"{YEAR}-\d\d-\d\d|{YEAR}/\d{{1,2}}/\d{{1,2}}|\d{{1,2}}/\d{{1,2}}/{YEAR}|{_DOTTED}"
    rf"|{_SURE_MONTH} {_NTH},? {YEAR}|(?:the )?{_NTH} (?:of )?{_SURE_MONTH},? {YEAR}"
    rf"|{_MONTH} {_NTH}(?![\d:])|(?:the )?{_NTH} of {_SURE_MONTH}|(?:the )?{_NTH} {_MONTH}"
)
_WHOLE_YEAR = rf"(?:(?P<alone>{YEAR})|(?P<which>last|this|the) (?P<of>year))"
_WHOLE = (
    rf"(?:(?P<month>{_MONTH})(?:,? (?:of )?(?P<year>{ANY_YEAR}))?"
    rf"|(?P<alone>{YEAR})|(?P<which>last|this|the) (?P<of>year|month))"
)
# What may follow a bare "on the 5th", so that "5th floor" does not match.
_GOES_ON = r"(?= ?(?:[?.!,;)]|$)| (?:at|about|I|we|you|he|she|they|did|was|were)\b)"


def _month_number(text: str) -> int:
    """The number of the month that a text begins with."""
    return month_number(re.split(r"\W", text, maxsplit=1)[0])


def _written_date(match: re.Match[str], now: datetime) -> Interval:
    words = match.group().casefold().removeprefix("the ")
    leap_year = midnight(now).replace(year=2000, month=1, day=1)
    date = parser.parse(words, default=leap_year, dayfirst="." in words)
    return day_interval(date if re.search(YEAR, words) else latest_date(date.month, date.day, now))


def day_first_reading(written: str) -> Interval | None:
    """The day-first reading of an ambiguous date such as 3/4/2026; None for others."""
    match = re.fullmatch(rf"(\d{{1,2}})/(\d{{1,2}})/({YEAR})", written)
    if not match or match[1] == match[2] or max(int(match[1]), int(match[2])) > MONTHS:
        return None
    return day_interval(datetime(int(match[3]), int(match[2]), int(match[1])))  # noqa: DTZ001  # wall-clock


def _days_of_month(match: re.Match[str], now: datetime) -> Interval | None:
    """A range of days in one month."""
    first, last = (int(re.sub(r"\D", "", match[part])) for part in ("first", "last"))
    year = re.search(YEAR, match.group())
    return days_interval(
        _month_number(match["month"]), first, last, year.group() if year else "", now
    )


def _day_of_month(match: re.Match[str], now: datetime) -> Interval:
    """The latest 5th, or that of last or this month; not every month has a 31st."""
    number = int(re.sub(r"\D", "", match["nth"]))
    this = midnight(now).replace(day=1)
    months = {"last": (1,), "this": (0,)}.get(group_text(match, "which"), (0, 1, 2))
    for start in (this - relativedelta(months=step) for step in months):
        date = start + (number - 1) * DAY
        if date.month == start.month and (date <= now or len(months) == 1):
            return day_interval(date)
    raise ValueError("no such day")


def _named_nth(match: re.Match[str], now: datetime) -> Interval | None:
    """The latest such day of the week with that number: "Friday the 13th"."""
    number = int(re.sub(r"\D", "", match["nth"]))
    weekday = day_number(match["weekday"])
    start = midnight(now).replace(day=1)
    for date in (start - relativedelta(months=step) for step in range(MONTHS + 2)):
        nth = date + (number - 1) * DAY
        if nth.month == date.month and nth <= now and nth.weekday() == weekday:
            return day_interval(nth)
    return None


def _first_of_month(match: re.Match[str], now: datetime) -> Interval:
    number, nth = _month_number(match["month"]), _ORDINALS[group_text(match, "nth")]
    if group_text(match, "year"):
        return day_interval(
            month_interval(_year_said(match, number, now), number)[0] + (nth - 1) * DAY
        )
    return day_interval(latest_date(number, nth, now))


def _near_date(match: re.Match[str], now: datetime) -> Interval:
    """The week or weekend of, before or after a written date."""
    written = re.search(_DATE, match.group(), re.IGNORECASE)
    assert written, "the pattern ends in a date"
    date, _ = _written_date(written, now)
    if group_text(match, "side") == "before":
        return date - 7 * DAY, date
    if group_text(match, "side") == "after":
        return date + DAY, date + 8 * DAY
    monday, sunday = week_interval(date)
    return (monday + 5 * DAY if group_text(match, "unit") == "weekend" else monday), sunday


def _named_month(match: re.Match[str], now: datetime) -> Interval | None:
    number, which = _month_number(match["month"]), group_text(match, "which")
    year = _year_said(match, number, now)
    if which == "last" and number == now.month:
        year -= 1
    if which == "this" and year < now.year:
        return None  # still to come
    start, end = month_interval(year, number)
    part = group_text(match, "part")
    if part == "early":
        return start, start + 10 * DAY
    if part == "mid":
        return start + 10 * DAY, start + 20 * DAY
    return (start + 20 * DAY if part == "late" else start), end


def _numbered_month(match: re.Match[str], _now: datetime) -> Interval:
    return month_interval(int(match["year"]), int(match["number"]))


def _part_of(match: re.Match[str], now: datetime) -> Interval | None:
    """The first week of a month, the last days of a year, the second half of either."""
    start, end = _whole(match, now)
    nth, unit = _ORDINALS[group_text(match, "nth")], group_text(match, "unit")
    if unit == "half":
        long = (end - start).days > LONGEST_MONTH
        middle = start + (relativedelta(months=6) if long else 15 * DAY)
        return {1: (start, middle), 2: (middle, end), -1: (middle, end)}.get(nth)
    if unit in {"month", "quarter"}:
        step = relativedelta(months=3 if unit == "quarter" else 1)
    else:
        step = relativedelta(days=1 if unit == "day" else 7)  # "the last days" mean a week
    first = end - step if nth < 0 else start + (nth - 1) * step
    return (first, first + step) if start <= first < end else None


def _whole(match: re.Match[str], now: datetime) -> Interval:
    """The month or year that a part belongs to."""
    if name := group_text(match, "month"):
        number = _month_number(name)
        return month_interval(_year_said(match, number, now), number)
    if alone := group_text(match, "alone"):
        return month_interval(int(alone), 1, 12)
    return calendar_interval(
        group_text(match, "of"), -1 if group_text(match, "which") == "last" else 0, now
    )


def _edge(match: re.Match[str], now: datetime) -> Interval:
    """The beginning, the middle or the end of a month or a year."""
    start, end = _whole(match, now)
    third = 10 * DAY if (end - start).days <= LONGEST_MONTH else relativedelta(months=4)
    first, last = start + third, end - third
    return ((start, first), (first, last), (last, end))[_EDGES[group_text(match, "edge")]]


def _year(match: re.Match[str], _now: datetime) -> Interval:
    return month_interval(int(match["year"]), 1, 12)


def _year_said(match: re.Match[str], number: int, now: datetime) -> int:
    """The year given with a month, or that of the latest such month."""
    written = group_text(match, "year")
    return year_number(written) if written else latest_year(number, now)


def _quarter(match: re.Match[str], now: datetime) -> Interval:
    number = 3 * int(match["quarter"]) - 2
    return month_interval(_year_said(match, number, now), number, 3)


def _season(match: re.Match[str], now: datetime) -> Interval | None:
    number, which = _SEASONS[group_text(match, "season")], group_text(match, "which")
    year = _year_said(match, number, now)
    start, end = month_interval(year, number, 3)
    if which == "last" and start <= now < end:
        return month_interval(year - 1, number, 3)
    return None if which == "this" and year < now.year and end <= now else (start, end)


# Every pattern below has a digit, or a word that begins like one of these.
ENGLISH_CUES: Final = frozenset(
    """
    0 1 2 3 4 5 6 7 8 9 jan janu feb febr mar marc apr apri may jun june jul july aug augu sep sept
    oct octo nov nove dec dece spri summ autu fall wint year mont
    """.split()  # noqa: SIM905  # 39 quoted words are harder to read
)
ENGLISH_PATTERNS: Final[tuple[DatePattern, ...]] = (
    (compile_words(_DATE), _written_date),
    (
        compile_words(
            rf"(?:the )?(?P<nth>first|second|third) of (?P<month>{_MONTH})"
            rf"(?:,? (?P<year>{ANY_YEAR}))?"
        ),
        _first_of_month,
    ),
    (
        compile_words(
            rf"(?:(?:between|from) )?(?:the )?(?<![-/.])(?P<first>{_NTH}){RANGE_WORD}(?:the )?"
            rf"(?P<last>{_NTH}) (?P<month>{_MONTH}(?:,? {YEAR})?|{_SURE_MONTH},? {YEAR})"
        ),
        _days_of_month,
    ),
    (
        compile_words(
            rf"(?:(?:between|from) )?(?:the )?"
            rf"(?P<first>{_NTH}){RANGE_WORD}(?:the )?(?P<last>{_NTH}) of "
            rf"(?P<month>{_SURE_MONTH}(?:,? {YEAR})?)"
        ),
        _days_of_month,
    ),
    (
        compile_words(
            rf"(?:(?:between|from) )?(?P<month>{_MONTH}) "
            rf"(?P<first>{_NTH}){RANGE_WORD}(?P<last>{_NTH})"
            rf"(?![\d:/])(?! (?:of )?{_SURE_MONTH})(?:,? {YEAR})?"
        ),
        _days_of_month,
    ),
    (
        compile_words(
            rf"(?P<lead>(?:on|(?!in|of|or|during){PREPOSITION}) )the (?P<nth>{_SUFFIXED})"
            rf"(?: of (?P<which>last|this) month|{_GOES_ON}"
            rf"|(?={RANGE_WORD}the {_SUFFIXED}{_GOES_ON}))"
        ),
        _day_of_month,
    ),
    (compile_words(rf"the (?P<nth>{_SUFFIXED}) of (?P<which>last|this) month"), _day_of_month),
    (compile_words(rf"(?P<weekday>{FULL_DAY}),? the (?P<nth>{_SUFFIXED})(?! of)"), _named_nth),
    (
        compile_words(rf"(?:the )?(?P<unit>week(?:end)?) (?P<side>of|before|after) (?:{_DATE})"),
        _near_date,
    ),
    (
        compile_words(
            rf"(?:(?P<part>early|mid|late)[ -](?:in )?)?(?P<month>{_SURE_MONTH})"
            rf",? (?:of )?(?P<year>{ANY_YEAR})"
        ),
        _named_month,
    ),
    (
        compile_words(
            rf"(?:(?P<lead>{PREPOSITION} )|(?P<which>last|this) "
            r"|(?P<part>early|mid|late)[ -](?:in )?)"
            rf"(?P<month>{_MONTH})(?! \d)"
        ),
        _named_month,
    ),
    (
        compile_words(
            r"(?:(?P<lead>(?:in|during|since|until|till) )|(?P<part>early|mid|late)[ -](?:in )?)"
            r"(?P<month>march|may)(?! \d)"
        ),
        _named_month,
    ),
    (compile_words(rf"(?P<year>{YEAR})-(?P<number>0[1-9]|1[0-2])(?!-?\d)"), _numbered_month),
    (
        compile_words(
            r"(?:the )?(?P<nth>first|second|third|fourth|last)(?: few)?"
            rf" (?:(?P<unit>day|week|month|quarter|half)|(?P<days>day)s) (?:of|in) {_WHOLE}"
        ),
        _part_of,
    ),
    (
        compile_words(rf"(?:the )?(?P<edge>beginning|start|middle|end) of {_WHOLE}"),
        _edge,
    ),
    (compile_words(rf"(?P<edge>early|mid|late)[ -](?:in )?{_WHOLE_YEAR}"), _edge),
    (compile_words(rf"(?P<lead>{PREPOSITION} )(?P<year>{YEAR})"), _year),
    (compile_words(rf"Q(?P<quarter>[1-4])(?:,? (?:of )?(?P<year>{ANY_YEAR}))?"), _quarter),
    (
        compile_words(
            r"(?:(?P<lead>(?:in|over|during) )|(?P<which>last|this) )(?:the )?"
            rf"(?P<season>spring|summer|autumn|fall|winter)(?:,? (?:of )?(?P<year>{ANY_YEAR}))?"
        ),
        _season,
    ),
    (  # without "fall", which is a verb and an accident as well
        compile_words(
            rf"(?P<lead>{PREPOSITION} )(?:the )?(?P<season>summer|autumn|winter)"
            rf"(?:,? (?:of )?(?P<year>{ANY_YEAR}))?"
        ),
        _season,
    ),
)
