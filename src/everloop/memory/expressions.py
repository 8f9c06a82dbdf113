"""Dated expressions of English, and the stretch of time each one means.

`dated(text, now)` finds "last Tuesday", "in May", "two weeks ago", "8 May 2023" and the like. Pure;
works in wall-clock time without a zone, because people do: the caller puts the zone back. A date
without a year is the latest one that is not in the future. Patterns stand in one table at the end,
each with the function that reads what it matched; where two match, the one that begins first wins,
then the longest.
"""

import re
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from typing import Final

from dateutil import parser
from dateutil.relativedelta import relativedelta

Stretch = tuple[datetime, datetime]
Reader = Callable[[re.Match[str], datetime], Stretch]


def dated(text: str, now: datetime) -> Iterator[tuple[tuple[int, int], Stretch]]:
    """Every dated expression: where it stands, and its stretch in naive local time."""
    if not cued(text, CUES):
        return
    local = now.replace(tzinfo=None)
    found = [
        (_begin(match), match, read)
        for pattern, read in _READERS
        for match in pattern.finditer(text)
    ]
    found.sort(key=lambda entry: (entry[0], -entry[1].end()))
    reached = 0
    for begin, match, read in found:
        if begin < reached:
            continue
        try:
            stretch = read(match, local)
        except (ValueError, OverflowError):  # a 31 June, or a year that the calendar does not have
            continue
        reached = match.end()
        yield (begin, reached), stretch


def cued(text: str, cues: frozenset[str]) -> bool:
    """Whether a digit or a beginning of a word is among these. Most texts are soon done with."""
    return not text.isascii() or not cues.isdisjoint(_BEGINNINGS.findall(text.lower()))


def _begin(match: re.Match[str]) -> int:
    """Where the expression begins: after the word that leads in to it, if there is one."""
    return match.start() + len(_said(match, "lead"))


def _said(match: re.Match[str], part: str) -> str:
    """What a named part of the pattern matched, in lower case; empty if it did not."""
    return (match.groupdict().get(part) or "").casefold()


_BEGINNINGS = re.compile(r"\d|\b[a-z]{3,4}")
_DAY: Final = timedelta(days=1)
_MONTHS: Final = "janfebmaraprmayjunjulaugsepoctnovdec"
_WEEKDAYS: Final = "montuewedthufrisatsun"
_SEASONS: Final = {"spring": 3, "summer": 6, "autumn": 9, "fall": 9, "winter": 12}
_PARTS: Final = {"morning": (5, 12), "afternoon": (12, 18), "evening": (17, 24), "night": (18, 24)}
_NUMBERS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5} | {
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
    "couple of": 2,
    "a couple of": 2,
    "few": 3,
    "a few": 3,
    "several": 5,
}
_ORDINALS: Final = {"first": 1, "second": 2, "third": 3, "fourth": 4, "last": -1}
_MONTH = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|(?-i:Mar(?:ch)?)|apr(?:il)?|(?-i:May)|june?|july?|aug(?:ust)?"
    r"|sep(?:t(?:ember)?)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)\.?"
)
_SURE_MONTH = f"(?:{_MONTH}|march|may)"  # in small letters too, where nothing else can be meant
_WEEKDAY = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"
_NTH = r"\d{1,2}(?:st|nd|rd|th)?"
YEAR = r"(?:19|20)\d\d"
_DOTTED = rf"\d{{1,2}}\.\d{{1,2}}\.{YEAR}"  # the day comes first
_DATE = (
    rf"{YEAR}-\d\d-\d\d|\d{{1,2}}/\d{{1,2}}/{YEAR}|{_DOTTED}|{_SURE_MONTH} {_NTH},? {YEAR}"
    rf"|(?:the )?{_NTH} (?:of )?{_SURE_MONTH},? {YEAR}|{_MONTH} {_NTH}(?![\d:])"
    rf"|(?:the )?{_NTH} of {_SURE_MONTH}|(?:the )?{_NTH} {_MONTH}"
)
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:a )?couple of|(?:a )?few|several)"
)
_UNIT = r"(?P<unit>minute|hour|day|week|month|year)s?"
_LEAD = "(?:in|during|since|before|after|until|till|by|of|from|between|and|to|through|around)"
_SEASON = "spring|summer|autumn|fall|winter"


def _midnight(moment: datetime) -> datetime:
    return moment.replace(hour=0, minute=0, second=0, microsecond=0)


def _day(moment: datetime, days: int = 1) -> Stretch:
    start = _midnight(moment)
    return start, start + days * _DAY


def _week(moment: datetime) -> Stretch:
    return _day(moment - moment.weekday() * _DAY, 7)


def _month(year: int, month: int, months: int = 1) -> Stretch:
    start = datetime(year, month, 1)  # noqa: DTZ001  # wall-clock time; the zone joins in `_zoned`
    return start, start + relativedelta(months=months)


def _past_year(month: int, day: int, now: datetime) -> int:
    """The year of the latest such date that is not in the future."""
    return now.year if (month, day) <= (now.month, now.day) else now.year - 1


def _month_number(text: str) -> int:
    return _MONTHS.index(text[:3].casefold()) // 3 + 1


def _written_date(match: re.Match[str], now: datetime) -> Stretch:
    words = match.group().casefold().removeprefix("the ")
    first = _midnight(now).replace(month=1, day=1)
    date = parser.parse(words, default=first, dayfirst="." in words)
    if not re.search(YEAR, words):
        date = date.replace(year=_past_year(date.month, date.day, now))
    return _day(date)


def _near_date(match: re.Match[str], now: datetime) -> Stretch:
    """The week or weekend of, before or after a written date."""
    written = re.search(_DATE, match.group(), re.IGNORECASE)
    assert written, "the pattern ends in a date"
    date, _ = _written_date(written, now)
    if _said(match, "side") == "before":
        return date - 7 * _DAY, date
    if _said(match, "side") == "after":
        return date + _DAY, date + 8 * _DAY
    monday, sunday = _week(date)
    return (monday + 5 * _DAY if _said(match, "unit") == "weekend" else monday), sunday


def _named_month(match: re.Match[str], now: datetime) -> Stretch:
    month = _month_number(match["month"])
    year = int(said) if (said := _said(match, "year")) else _past_year(month, 1, now)
    if _said(match, "which") == "last" and not _said(match, "year") and month == now.month:
        year -= 1
    start, end = _month(year, month)
    part = _said(match, "part")
    if part == "early":
        return start, start + 10 * _DAY
    if part == "mid":
        return start + 10 * _DAY, start + 20 * _DAY
    return (start + 20 * _DAY if part == "late" else start), end


def _numbered_month(match: re.Match[str], _now: datetime) -> Stretch:
    return _month(int(match["year"]), int(match["number"]))


def _week_of_month(match: re.Match[str], now: datetime) -> Stretch:
    month = _month_number(match["month"])
    year = int(said) if (said := _said(match, "year")) else _past_year(month, 1, now)
    start, end = _month(year, month)
    nth = _ORDINALS[_said(match, "nth")]
    return (end - 7 * _DAY, end) if nth < 0 else _day(start + 7 * (nth - 1) * _DAY, 7)


def _year(match: re.Match[str], _now: datetime) -> Stretch:
    return _month(int(match["year"]), 1, 12)


def _quarter(match: re.Match[str], now: datetime) -> Stretch:
    month = 3 * int(match["quarter"]) - 2
    year = int(said) if (said := _said(match, "year")) else _past_year(month, 1, now)
    return _month(year, month, 3)


def _season(match: re.Match[str], now: datetime) -> Stretch:
    month = _SEASONS[_said(match, "season")]
    year = int(said) if (said := _said(match, "year")) else _past_year(month, 1, now)
    start, end = _month(year, month, 3)
    if _said(match, "which") == "last" and start <= now < end:
        return _month(year - 1, month, 3)
    return start, end


def _near_day(match: re.Match[str], now: datetime) -> Stretch:
    words = match.group().casefold()
    if words == "the other day":
        return _midnight(now) - 14 * _DAY, now
    days = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    return _day(now + (-2 if "before" in words else days[words.split()[-1]]) * _DAY)


def _part_of_day(match: re.Match[str], now: datetime) -> Stretch:
    which, part = _said(match, "which"), _said(match, "part")
    day = _midnight(now) - (_DAY if which in {"last", "yesterday"} else timedelta())
    first, last = _PARTS[part]
    late = 6 if part == "night" else 0  # a night ends in the next morning
    return day + timedelta(hours=first), day + timedelta(hours=last + late)


def _weekday(match: re.Match[str], now: datetime) -> Stretch:
    back = (now.weekday() - _WEEKDAYS.index(match["weekday"][:3].casefold()) // 3) % 7
    which = _said(match, "which")
    if which == "next":
        return _day(now + (7 - back) * _DAY)
    if which == "last" and back == 0:
        back = 7
    return _day(now - back * _DAY)


def _relative_unit(match: re.Match[str], now: datetime) -> Stretch:
    """A week, weekend, month, quarter or year: the last, this or the next one."""
    last = -2 if _said(match, "twice") else -1
    step = {"this": 0, "next": 1}.get(_said(match, "which"), last)
    unit = _said(match, "unit")
    if unit == "week":
        return _week(now + 7 * step * _DAY)
    if unit == "weekend":
        monday, sunday = _week(now + 7 * step * _DAY)
        return monday + 5 * _DAY, sunday
    if unit == "year":
        return _month(now.year + step, 1, 12)
    months = 3 if unit == "quarter" else 1
    first = now.month - (now.month - 1) % months
    start = _month(now.year, first)[0] + relativedelta(months=step * months)
    return start, start + relativedelta(months=months)


def _count(words: str) -> int:
    return int(words) if words.isdigit() else _NUMBERS[words.casefold()]


def _ago(match: re.Match[str], now: datetime) -> Stretch:
    """Around then: the day itself for days, and as coarse as it was said for the rest."""
    count, unit = _count(_said(match, "count")), _said(match, "unit")
    if unit in {"minute", "hour"}:
        return now - timedelta(**{unit + "s": 2 * count}), now
    if unit == "day":
        return _day(now - count * _DAY)
    if unit == "week":
        return _day(now - (7 * count + 3) * _DAY, 7)
    if unit == "month":
        return _day(now - relativedelta(months=count) - 15 * _DAY, 31)
    return _month(now.year - count, 1, 12)


def _past_span(match: re.Match[str], now: datetime) -> Stretch:
    """The past N units, up to now."""
    count, unit = _count(_said(match, "count") or "one"), _said(match, "unit")
    if unit in {"minute", "hour"}:
        return now - timedelta(**{unit + "s": count}), now
    back = {
        "day": relativedelta(days=count),
        "week": relativedelta(weeks=count),
        "month": relativedelta(months=count),
        "year": relativedelta(years=count),
    }
    return _midnight(now - back[unit]), now


def _pattern(words: str) -> re.Pattern[str]:
    return re.compile(rf"\b(?:{words})(?!\w)", re.IGNORECASE)


# Every pattern below holds a digit, one of these words of three letters, or a longer word that
# begins like one of the others.
CUES: Final = frozenset(
    """
    0 1 2 3 4 5 6 7 8 9 jan janu feb febr mar marc apr apri may jun june jul july aug augu sep sept
    oct octo nov nove dec dece spri summ autu fall wint mond tues wedn thur frid satu sund day days
    toda toni tomo yest morn afte even nigh week mont quar year minu hour
    """.split()  # noqa: SIM905  # 59 quoted words are harder to read
)
_READERS: Final[tuple[tuple[re.Pattern[str], Reader], ...]] = (
    (_pattern(_DATE), _written_date),
    (
        _pattern(rf"(?:the )?(?P<unit>week(?:end)?) (?P<side>of|before|after) (?:{_DATE})"),
        _near_date,
    ),
    (
        _pattern(
            rf"(?:(?P<part>early|mid|late)[ -](?:in )?)?(?P<month>{_SURE_MONTH})"
            rf",? (?:of )?(?P<year>{YEAR})"
        ),
        _named_month,
    ),
    (
        _pattern(
            rf"(?:(?P<lead>{_LEAD} )|(?P<which>last|this) |(?P<part>early|mid|late)[ -](?:in )?)"
            rf"(?P<month>{_MONTH})(?! \d)"
        ),
        _named_month,
    ),
    (
        _pattern(
            r"(?:(?P<lead>(?:in|during|since|until|till) )|(?P<part>early|mid|late)[ -](?:in )?)"
            r"(?P<month>march|may)(?! \d)"
        ),
        _named_month,
    ),
    (_pattern(rf"(?P<year>{YEAR})-(?P<number>0[1-9]|1[0-2])(?!-?\d)"), _numbered_month),
    (
        _pattern(
            rf"(?:the )?(?P<nth>first|second|third|fourth|last) week (?:of|in) (?P<month>{_MONTH})"
            rf"(?:,? (?P<year>{YEAR}))?"
        ),
        _week_of_month,
    ),
    (_pattern(rf"(?P<lead>{_LEAD} )(?P<year>{YEAR})"), _year),
    (_pattern(rf"Q(?P<quarter>[1-4])(?:,? (?:of )?(?P<year>{YEAR}))?"), _quarter),
    (
        _pattern(
            rf"(?:(?P<lead>(?:over|{_LEAD}) )|(?P<which>last|this) )(?:the )?(?P<season>{_SEASON})"
            rf"(?:,? (?:of )?(?P<year>{YEAR}))?"
        ),
        _season,
    ),
    (
        _pattern(
            "(?:the )?day before yesterday|the other day|(?:earlier )?today|tonight|yesterday"
            "|tomorrow"
        ),
        _near_day,
    ),
    (
        _pattern("(?P<which>this|last|yesterday) (?P<part>morning|afternoon|evening|night)"),
        _part_of_day,
    ),
    (
        _pattern(
            rf"(?:(?P<lead>(?:on|{_LEAD}) )|(?P<which>last|this|next|past) )(?P<weekday>{_WEEKDAY})"
        ),
        _weekday,
    ),
    (
        _pattern(
            "(?:the )?(?P<which>this|last|past|previous|next)"
            " (?P<unit>weekend|week|month|quarter|year)"
        ),
        _relative_unit,
    ),
    (
        _pattern("the (?P<unit>weekend|week|month|year) (?P<which>before) (?P<twice>last)"),
        _relative_unit,
    ),
    (_pattern(rf"(?P<count>{_COUNT}) {_UNIT} (?:ago|earlier)"), _ago),
    (
        _pattern(
            rf"(?:(?:in|over|during|within) )?the (?:last|past)(?: (?P<count>{_COUNT}))? {_UNIT}"
        ),
        _past_span,
    ),
)
