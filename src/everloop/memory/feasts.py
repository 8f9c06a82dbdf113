"""Feasts that people date things by: "at Christmas", "since Easter", "last New Year's Eve".

A feast is only a time where a word before it or a year after it says so: "for Halloween" names
what something is about. Easter Island and other names that go on are none. When Easter is, dateutil
knows.
"""

import re
from datetime import datetime, timedelta
from typing import Final

from dateutil.easter import easter

from everloop.memory.stretches import DAY, YEAR, Row, Stretch, day, pattern, place, said

_DATES: Final = {
    "christmas eve": (12, 24),
    "christmas(?: day)?": (12, 25),
    "boxing day": (12, 26),
    r"new year['\u2019]?s eve": (12, 31),
    r"new year(?:['\u2019]?s(?: day)?)?": (1, 1),
    r"hallowe['\u2019]?en": (10, 31),
    r"valentine['\u2019]?s(?: day)?": (2, 14),
}
_DAYS_FROM_EASTER: Final = {"good friday": -2, "easter(?: sunday)?": 0, "easter monday": 1}
_SEASONAL: Final = {"at", "over", "during"}  # the days around it are meant as well
_LEAD = "on|at|over|during|around|since|before|after|until|till|by|from|between|and|to"
_NAME = rf"(?P<feast>{'|'.join((*_DATES, *_DAYS_FROM_EASTER))})"
_YEAR = rf",? (?:of |in )?(?P<year>{YEAR}|last year)"
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
        date = _in_year(now.year - 1 if year == "last year" else int(year), feast)
    else:
        date, coming = _around(feast, now - DAY if which == "last" else now)
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
        pattern(rf"(?:(?P<lead>(?:{_LEAD}) )|(?P<which>last|this) ){_NAME}(?:{_YEAR})?{_ENDS}"),
        _feast,
    ),
    (pattern(rf"{_NAME}{_YEAR}"), _feast),
)
FEAST_CUES: Final = frozenset({"chri", "boxi", "hall", "vale", "east", "year", "frid"})
