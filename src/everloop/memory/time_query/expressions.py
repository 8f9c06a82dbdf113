"""Time expressions and their intervals: "last Tuesday", "in May", "two weeks ago", "8 May 2023".

`find_dates(text, now)` finds them. Pure; works in wall-clock time without a zone, as people do: the
caller adds the zone. A date without a year is the latest one that is not in the future. Patterns
are in tables, each with the function that reads its match; of overlapping matches the first wins,
then the longest. This module has the expressions relative to now, and combines all tables.
"""

import re
from collections.abc import Iterator
from datetime import datetime, timedelta
from typing import Final

from dateutil.relativedelta import relativedelta

from everloop.memory.text.calendar_names import FULL_DAY, day_number
from everloop.memory.text.normal_forms import NUMBER_WORDS
from everloop.memory.time_query.english import ENGLISH_CUES, ENGLISH_PATTERNS
from everloop.memory.time_query.german_french import (
    AGO_PATTERN,
    GERMAN_FRENCH_CUES,
    GERMAN_FRENCH_PATTERNS,
    ago_count,
)
from everloop.memory.time_query.holidays import HOLIDAY_CUES, HOLIDAY_PATTERNS
from everloop.memory.time_query.intervals import (
    DAY,
    PREPOSITION,
    RANGE_WORD,
    DatePattern,
    Interval,
    ago_interval,
    calendar_interval,
    compile_words,
    day_interval,
    duration,
    group_text,
    hours_interval,
    midnight,
    weekday_interval,
    weekend_interval,
)


def find_dates(text: str, now: datetime) -> Iterator[tuple[tuple[int, int], Interval]]:
    """Find every dated expression: its place in the text, and its interval in naive local time."""
    local = now.replace(tzinfo=None)
    found = [
        (_begin(match), match, read)
        for cues, rows in _TABLES
        if has_cue(text, cues)
        for words, read in rows
        for match in words.finditer(text)
    ]
    found.sort(key=lambda entry: (entry[0], -entry[1].end()))
    reached = 0
    for begin, match, read in found:
        if begin < reached:
            continue
        try:
            interval = read(match, local)
        except (ValueError, OverflowError):  # 31 June, or a year out of range
            continue
        reached = match.end()
        if interval and interval[0] < interval[1]:
            yield (begin, reached), interval


def parse_ago(text: str) -> tuple[relativedelta, str] | None:
    """Parse "two weeks ago" to a duration and its unit; None for other words.

    A question about a week ago means the days around it; a statement means that very day.
    """
    for words, count in ((_AGO, _span), (_HALF_AGO, _span), (AGO_PATTERN, ago_count)):
        if match := words.fullmatch(text):
            least, most, unit = count(match)
            return duration((least + most) // 2, unit), unit
    return None


def has_cue(text: str, cues: frozenset[str]) -> bool:
    """Whether a text has one of these digits or word beginnings: a fast check before any regex."""
    return not text.isascii() or not cues.isdisjoint(_BEGINNINGS.findall(text.lower()))


def _begin(match: re.Match[str]) -> int:
    """The start of an expression, after its leading preposition if there is one."""
    return match.start() + len(group_text(match, "lead"))


_BEGINNINGS = re.compile(r"\d|\b[a-z]{2,4}")
_VAGUE: Final = {"couple": (1, 3), "few": (2, 5), "some": (2, 8), "several": (2, 8)}
_HALVES: Final = {
    "year": ("six", "month"),
    "month": ("two", "week"),
    "week": ("few", "day"),
    "day": ("twelve", "hour"),
    "hour": ("30", "minute"),
    "minute": ("one", "minute"),
}
# Short names of days that are not part of a longer name; "sat" and "sun" are words.
SHORT_DAY = r"(?:mon|tues?|weds?|thu(?:rs?)?|fri|(?-i:Sat|Sun))(?! (?-i:[A-Z][a-z]))"
_COUNT = (
    r"(?:\d{1,3}|an?|one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve"
    r"|(?:a )?couple(?: of)?|(?:a )?few|several|some)"
)
_WHOLE = "(?<![-.,])(?<!twenty )(?<!thirty )"  # not the end of "forty-two", nor of "1.5"
_UNIT = r"(?P<unit>minute|hour|day|week|fortnight|month|year)s?"
_PART = "(?P<part>morning|afternoon|evening|night)"
_AGO = compile_words(
    rf"{_WHOLE}(?:(?P<least>{_COUNT})(?: or | to |-|\u2013))?(?P<count>{_COUNT}) {_UNIT}"
    r"(?: or (?P<most>two|so))? (?:ago|earlier|back)"
)
_HALF_AGO = compile_words(rf"(?P<half>half) an? (?P<unit>{'|'.join(_HALVES)}) (?:ago|earlier)")


def _near_day(match: re.Match[str], now: datetime) -> Interval:
    words = match.group().casefold()
    if words == "the other day":
        return midnight(now) - 14 * DAY, now
    days = {"today": 0, "tonight": 0, "yesterday": -1, "tomorrow": 1}
    return day_interval(now + (-2 if "before" in words else days[words.split()[-1]]) * DAY)


def _part_of_day(match: re.Match[str], now: datetime) -> Interval:
    back_days = 0 if group_text(match, "which") == "this" else 1
    return hours_interval(group_text(match, "part"), midnight(now) - back_days * DAY)


def _weekday(match: re.Match[str], now: datetime) -> Interval | None:
    which, part = group_text(match, "which"), group_text(match, "part")
    found = weekday_interval(day_number(match["weekday"]), which, now)
    if not found:
        return None
    if group_text(match, "twice"):  # "the Tuesday before last"
        return day_interval(found[0] - 7 * DAY)
    start, end = hours_interval(part, found[0]) if part else found
    early = 7 * DAY if start > now and not which else timedelta()  # today's is still to come
    return start - early, end - early


def _weekend(match: re.Match[str], now: datetime) -> Interval | None:
    return weekend_interval(group_text(match, "which"), now)


def _relative_unit(match: re.Match[str], now: datetime) -> Interval:
    """A week, weekend, month, quarter or year: the last, this or the next one."""
    last = -2 if group_text(match, "twice") else -1
    return calendar_interval(
        group_text(match, "unit"), {"this": 0, "next": 1}.get(group_text(match, "which"), last), now
    )


def _counts(words: str) -> tuple[int, int]:
    """The least and the greatest number that words such as "a few" may mean."""
    for vague, counts in _VAGUE.items():
        if vague in words:
            return counts
    count = int(words) if words.isdigit() else NUMBER_WORDS[words]
    return count, count


def _span(match: re.Match[str]) -> tuple[int, int, str]:
    """How long ago: least and greatest count, and the unit."""
    words, unit = group_text(match, "count"), group_text(match, "unit")
    if group_text(match, "half"):
        words, unit = _HALVES[unit]
    least, most = _counts(words)
    if other := group_text(match, "least"):  # "two or three weeks ago"
        least = _counts(other)[0]
    if other := group_text(match, "most"):  # "a week or two ago", "a week or so ago"
        least, most = (least, 2) if other == "two" else (max(least - 1, 1), most + 1)
    return least, most, unit


def _ago(match: re.Match[str], now: datetime) -> Interval:
    """The interval around so long ago, from the greatest count to the least."""
    least, most, unit = _span(match)
    return ago_interval(most, unit, now)[0], ago_interval(least, unit, now)[1]


def _day_ago(match: re.Match[str], now: datetime) -> Interval | None:
    """A single day: "three years ago today", "a week ago on Tuesday"."""
    (least, most), unit = _counts(group_text(match, "count")), group_text(match, "unit")
    weeks = unit in {"week", "fortnight"}
    if least < most or (match["weekday"] and not weeks):
        return _ago(match, now)
    found = _weekday(match, now) if match["weekday"] else day_interval(now)
    if not found:
        return None
    yesterday = DAY if group_text(match, "day") == "yesterday" else timedelta()
    start, end = day_interval(found[0] - duration(most, unit) - yesterday)
    # On a Tuesday, a week ago on Friday may be that of last week, or a week before that one.
    later = (
        match["weekday"] and not group_text(match, "last") and found[0].weekday() > now.weekday()
    )
    return start, end + 7 * DAY if later else end


def _past_span(match: re.Match[str], now: datetime) -> Interval:
    """The past N units, up to now."""
    unit = group_text(match, "unit")
    start = now - duration(_counts(group_text(match, "count") or "one")[1], unit)
    return (start if unit in {"minute", "hour"} else midnight(start)), now


def _future(_match: re.Match[str], _now: datetime) -> None:
    """No interval, because it is in the future; matched so that no part of it is misread."""


# Every pattern below has one of these words of three letters, or a longer word that begins like one
# of the others.
_FROM_NOW_CUES: Final = frozenset(
    """
    mond tues wedn thur frid satu sund mon tue wed weds thu fri sat sun day days toda toni tomo yest
    morn afte even nigh week fort mont quar year minu hour
    """.split()  # noqa: SIM905  # 34 quoted words are harder to read
)
_FROM_NOW: Final[tuple[DatePattern, ...]] = (
    (
        compile_words(
            "(?:the )?day before yesterday|the other day|(?:earlier )?today|tonight|yesterday"
            "|tomorrow"
        ),
        _near_day,
    ),
    (compile_words(rf"(?P<which>this|last|yesterday) {_PART}"), _part_of_day),
    (
        compile_words(
            rf"(?:(?P<lead>(?:on|{PREPOSITION}) |(?<=day)[-\u2013])"
            r"|(?P<which>last|this|next|past) )"
            rf"(?P<weekday>{FULL_DAY})(?: {_PART})?"
        ),
        _weekday,
    ),
    (
        compile_words(
            rf"(?:(?P<lead>(?:on|since|until|till) )|(?P<which>last|this|next|past) )"
            rf"(?P<weekday>{SHORT_DAY})(?: {_PART})?"
        ),
        _weekday,
    ),
    (  # not "every Monday morning", nor "Saturday Night Live"
        compile_words(rf"(?<!every )(?<!each )(?P<weekday>{FULL_DAY}) (?-i:{_PART})"),
        _weekday,
    ),
    (
        compile_words(
            rf"(?P<weekday>{FULL_DAY})"
            rf"(?=(?! and){RANGE_WORD}{FULL_DAY}| (?:of )?(?:last|this|next) week)"
        ),
        _weekday,
    ),
    (
        compile_words(rf"(?:the )?(?P<weekday>{FULL_DAY}) before (?P<which>(?P<twice>last))"),
        _weekday,
    ),
    (
        compile_words(
            "(?:(?P<lead>(?:over|on|at|during|since|before|after|until|till|from) )the"
            "|(?P<which>this)) weekend(?! (?:of|before|after))"
        ),
        _weekend,
    ),
    (
        compile_words(
            "(?:the )?(?P<which>last|past|previous|next) (?P<unit>weekend|week|month|quarter|year)"
            r"(?! of\b)"
        ),
        _relative_unit,
    ),
    (compile_words("(?P<which>this) (?P<unit>week|month|quarter|year)"), _relative_unit),
    (
        compile_words("the (?P<unit>weekend|week|month|year) (?P<which>before) (?P<twice>last)"),
        _relative_unit,
    ),
    (_AGO, _ago),
    (_HALF_AGO, _ago),
    (
        compile_words(
            rf"{_WHOLE}(?P<count>{_COUNT}) {_UNIT} ago,? (?:(?P<day>today|yesterday)"
            rf"|(?:on |(?P<last>last) )?(?P<weekday>{FULL_DAY}))"
        ),
        _day_ago,
    ),
    (
        compile_words(
            r"(?:(?:in|over|during|within) )?(?:the )?(?:last|past|previous)"
            rf" (?P<count>{_COUNT}) {_UNIT}(?! of|['\u2019])"
        ),
        _past_span,
    ),
    (
        compile_words(
            rf"(?:(?:in|over|during|within) )?the (?:last|past) {_UNIT}(?! of|['\u2019])"
        ),
        _past_span,
    ),
    (compile_words(rf"in (?:about |around )?{_COUNT} {_UNIT}(?! (?:ago|earlier|back))"), _future),
    (
        compile_words(
            rf"{_COUNT} {_UNIT} from (?:(?:this |next |the )?{FULL_DAY}|now|today|tomorrow)"
        ),
        _future,
    ),
)
_TABLES: Final = (
    (ENGLISH_CUES, ENGLISH_PATTERNS),
    (_FROM_NOW_CUES, _FROM_NOW),
    (HOLIDAY_CUES, HOLIDAY_PATTERNS),
    (GERMAN_FRENCH_CUES, GERMAN_FRENCH_PATTERNS),
)
ALL_CUES: Final = frozenset[str]().union(*(cues for cues, _ in _TABLES))
