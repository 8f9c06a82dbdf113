"""Feasts that people date things by: "at Christmas", "since Easter", "last New Year's Eve".

A feast is only a time where a word before it or a year after it says so: "for Halloween" names
what something is about. Easter Island and other names that go on are none. When Easter is, dateutil
knows.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from dateutil.easter import easter

from everloop.memory.time_query.intervals import (
    ANY_YEAR,
    DAY,
    Row,
    Stretch,
    day,
    pattern,
    place,
    said,
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
}  # the days around it are meant as well
_LEAD = (
    "on|at|over|during|around|since|before|after|until|till|by|from|between|and|to"
    "|an|zu|über|seit|vor|nach|bis|à|avant|après|depuis"
)
_NAME = rf"(?P<feast>{'|'.join((*_DATES, *_DAYS_FROM_EASTER))})"
_YEAR = rf",? (?:of |in )?(?P<year>{ANY_YEAR}|last year)"
_ENDS = r"(?! (?-i:[A-Z]\w))(?!-\w)"  # no name goes on after it


def _in_year(year: int, feast: str) -> datetime:
    number = place((*_DATES, *_DAYS_FROM_EASTER), feast)
    if number < len(_DATES):
        return datetime(year, *list(_DATES.values())[number])  # noqa: DTZ001  # wall-clock time
    days = list(_DAYS_FROM_EASTER.values())[number - len(_DATES)]
    return datetime.combine(easter(year), datetime.min.time()) + days * DAY


def _feast(match: re.Match[str], now: datetime) -> Stretch | None:
    """The latest one that is not in the future; "this" Christmas may be yet to come."""
    feast, year, which = said(match, "feast"), said(match, "year"), said(match, "which")
    if year:
        date = _in_year(now.year - 1 if year == "last year" else year_number(year), feast)
    else:
        date, coming = _around(feast, now - DAY if which.startswith("l") else now)
        if which == "this" and coming - now < now - date:
            return None
    start, end = day(date)
    margin = DAY if said(match, "lead").strip() in _SEASONAL else timedelta()
    return start - margin, end + margin


def _around(feast: str, now: datetime) -> tuple[datetime, datetime]:
    """The latest one and the next."""
    known = [_in_year(now.year + step, feast) for step in (-1, 0, 1)]
    gone = [date for date in known if date <= now]
    return gone[-1], known[len(gone)]


FEASTS: Final[tuple[Row, ...]] = (
    (
        pattern(
            rf"(?:(?P<lead>(?:{_LEAD}) )|(?P<which>last|this|letzten?|letztes) ){_NAME}"
            rf"(?:{_YEAR})?{_ENDS}"
        ),
        _feast,
    ),
    (pattern(rf"{_NAME}{_YEAR}"), _feast),
)
FEAST_CUES: Final = frozenset(
    "chri boxi hall vale east year frid weih heil silv neuj oste karf noel nouv sain vend".split()  # noqa: SIM905
)
