"""Holidays as dates: "at Christmas", "since Easter", "last New Year's Eve".

A holiday is a time only with such a word before it or a year after it: "for Halloween" names a
topic. Easter Island and other longer names are none. dateutil computes the date of Easter.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from dateutil.easter import easter

from everloop.memory.time_query.intervals import (
    ANY_YEAR,
    DAY,
    DatePattern,
    Interval,
    compile_words,
    day_interval,
    group_text,
    pattern_index,
    year_number,
)

_DATES: Final = {
    "christmas eve|heiligabend": (12, 24),
    "christmas(?: day)?|weihnachten|no[ëe]l": (12, 25),
    "boxing day": (12, 26),
    r"new year['\u2019]?s eve|silvester|la saint-sylvestre": (12, 31),
    r"new year(?:['\u2019]?s(?: day)?)?|neujahr|(?:le )?nouvel an": (1, 1),
    r"hallowe['\u2019]?en": (10, 31),
    r"valentine['\u2019]?s(?: day)?": (2, 14),
}
_DAYS_FROM_EASTER: Final = {
    "good friday|karfreitag|vendredi saint": -2,
    "easter(?: sunday)?|ostern|pâques": 0,
    "easter monday|ostermontag": 1,
}
_SEASONAL: Final = {
    "at",
    "over",
    "during",
    "an",
    "zu",
    "über",
    "à",
}  # the days around the holiday are meant as well
_LEAD = (
    "on|at|over|during|around|since|before|after|until|till|by|from|between|and|to"
    "|an|zu|über|seit|vor|nach|bis|à|avant|après|depuis"
)
_NAME = rf"(?P<feast>{'|'.join((*_DATES, *_DAYS_FROM_EASTER))})"
_YEAR = rf",? (?:of |in )?(?P<year>{ANY_YEAR}|last year)"
_ENDS = r"(?! (?-i:[A-Z]\w))(?!-\w)"  # not the beginning of a longer name


def _date_in_year(year: int, holiday: str) -> datetime:
    number = pattern_index((*_DATES, *_DAYS_FROM_EASTER), holiday)
    if number < len(_DATES):
        return datetime(year, *list(_DATES.values())[number])  # noqa: DTZ001  # wall-clock time
    days = list(_DAYS_FROM_EASTER.values())[number - len(_DATES)]
    return datetime.combine(easter(year), datetime.min.time()) + days * DAY


def _holiday(match: re.Match[str], now: datetime) -> Interval | None:
    """The latest one that is not in the future; None for "this" one if it is still to come."""
    holiday, year, which = (
        group_text(match, "feast"),
        group_text(match, "year"),
        group_text(match, "which"),
    )
    if year:
        date = _date_in_year(now.year - 1 if year == "last year" else year_number(year), holiday)
    else:
        date, coming = _latest_and_next(holiday, now - DAY if which.startswith("l") else now)
        if which == "this" and coming - now < now - date:
            return None
    start, end = day_interval(date)
    margin = DAY if group_text(match, "lead").strip() in _SEASONAL else timedelta()
    return start - margin, end + margin


def _latest_and_next(holiday: str, now: datetime) -> tuple[datetime, datetime]:
    """The dates of the latest holiday of this name and of the next one."""
    known = [_date_in_year(now.year + step, holiday) for step in (-1, 0, 1)]
    gone = [date for date in known if date <= now]
    return gone[-1], known[len(gone)]


HOLIDAY_PATTERNS: Final[tuple[DatePattern, ...]] = (
    (
        compile_words(
            rf"(?:(?P<lead>(?:{_LEAD}) )|(?P<which>last|this|letzten?|letztes) ){_NAME}"
            rf"(?:{_YEAR})?{_ENDS}"
        ),
        _holiday,
    ),
    (compile_words(rf"{_NAME}{_YEAR}"), _holiday),
)
HOLIDAY_CUES: Final = frozenset(
    "chri boxi hall vale east year frid weih heil silv neuj oste karf noel nouv sain vend".split()  # noqa: SIM905
)
