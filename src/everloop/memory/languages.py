"""Dates and days in German and French, as far as no English word can be meant.

"3. März 2026", "le 3 mars", "im Mai", "gestern", "letzten Dienstag", "vor drei Tagen", "il y a deux
semaines". A table like that of English, smaller. Accents may be left out where people do.
"""

import re
from datetime import datetime
from typing import Final

from everloop.memory.stretches import (
    DAY,
    YEAR,
    Row,
    Stretch,
    ago,
    day,
    days_of,
    month,
    pattern,
    place,
    said,
    turn,
    weekday,
    year_of,
)

_GERMAN_MONTHS = (
    "januar|februar|m[äa]rz|april|mai|juni|juli|august|september|oktober|november|dezember"
)
_FRENCH_MONTHS = (
    "janvier|f[ée]vrier|mars|avril|mai|juin|juillet|ao[ûu]t|septembre|octobre|novembre|d[ée]cembre"
)
GERMAN_DAYS = "montag|dienstag|mittwoch|donnerstag|freitag|samstag|sonntag"
FRENCH_DAYS = "lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
_ALSO_ENGLISH: Final = {"april", "august", "september", "november"}
_NUMBERS: Final = (
    "eine[mnrs]?|une?",
    "zwei|deux",
    "drei|trois",
    "vier|quatre",
    "fünf|cinq",
    "sechs|six",
    "sieben|sept",
    "acht|huit",
    "neun|neuf",
    "zehn|dix",
)
_UNITS: Final = {
    "day": "tag(?:en)?|jours?",
    "week": "wochen?|semaines?",
    "month": "monat(?:en)?|mois",
    "year": "jahr(?:en)?|ans?|ann[ée]es?",
    "weekend": "wochenende|week-?end",
}
_DAY, *_LONGER, _WEEKEND = _UNITS.values()
_TURN = "|".join((*_LONGER, _WEEKEND))
_BACK = "|".join((_DAY, *_LONGER))
_COUNT = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}"
# What only stands in French: "hier" is also German, for "here".
_FRENCH = re.compile(
    r"\b(?:qu['\u2019]|j['\u2019]ai|est-ce|ai|as-tu|avons|avez|nous|vous|quoi)\b"
    r"|\bhier (?:soir|matin)\b",
    re.IGNORECASE,
)


def _number(match: re.Match[str], german: str, french: str) -> int:
    """Which month or day of the week was said, counted from 0."""
    name = said(match, "german")
    names = german if name else french
    return place(names.split("|"), name or said(match, "french"))


def _month_number(match: re.Match[str]) -> int:
    return _number(match, _GERMAN_MONTHS, _FRENCH_MONTHS) + 1


def _date(match: re.Match[str], now: datetime) -> Stretch | None:
    last = int(said(match, "day").removesuffix("er"))
    first = int(said(match, "first").removesuffix("er") or last)
    sure = said(match, "lead") or said(match, "first") or said(match, "year")
    if not sure and (said(match, "french") or said(match, "german") in _ALSO_ENGLISH):
        return None  # "3. April" may be the third of a list, "3 mars" a count
    return days_of(_month_number(match), first, last, said(match, "year"), now)


def _month(match: re.Match[str], now: datetime) -> Stretch:
    number = _month_number(match)
    return month(int(said(match, "year") or year_of(number, now)), number)


def _near_day(match: re.Match[str], now: datetime) -> Stretch | None:
    words = match.group().casefold()
    if words == "hier" and not _FRENCH.search(match.string):
        return None
    back = 2 if words in {"vorgestern", "avant-hier"} else 1
    return day(now if words.startswith(("heute", "aujourd")) else now - back * DAY)


def _unit(match: re.Match[str]) -> str:
    return list(_UNITS)[place(_UNITS.values(), said(match, "unit"))]


def _which(match: re.Match[str]) -> str:
    word = said(match, "which")
    if word.startswith("n"):
        return "next"
    return "this" if word.startswith(("dies", "ce")) else "last"


def _relative_unit(match: re.Match[str], now: datetime) -> Stretch:
    return turn(_unit(match), {"last": -1, "this": 0, "next": 1}[_which(match)], now)


def _weekday(match: re.Match[str], now: datetime) -> Stretch | None:
    which = _which(match) if said(match, "which") else ""
    return weekday(_number(match, GERMAN_DAYS, FRENCH_DAYS), which, now)


def counted(match: re.Match[str]) -> tuple[int, int, str]:
    """How many of which unit ago it was, at least and at most."""
    words = said(match, "count")
    count = int(words) if words.isdigit() else place(_NUMBERS, words) + 1
    return count, count, _unit(match)


def _ago(match: re.Match[str], now: datetime) -> Stretch:
    count, _, unit = counted(match)
    return ago(count, unit, now)


_LAST = "(?P<which>(?:letzte|vorige|vergangene|diese|n[äa]chste)[mnrs]?)"
_DERNIER = "(?P<which>derni(?:er|[èe]re)|passée?)"
COUNTED_BACK: Final = pattern(rf"(?:vor|il y a) (?P<count>{_COUNT}) (?P<unit>{_BACK})")
LANGUAGES: Final[tuple[Row, ...]] = (
    (
        pattern(
            r"(?P<lead>(?:am|vom|dem|den|zum|bis|seit) )?"
            r"(?:(?P<first>\d{1,2})\.? ?(?:bis(?: zum)?|und(?: dem)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}})\. ?(?P<german>{_GERMAN_MONTHS})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        pattern(
            r"(?P<lead>(?:le|du|au) )?(?:(?P<first>\d{1,2}|1er) ?(?:au|et(?: le)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}}|1er) (?P<french>{_FRENCH_MONTHS})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        pattern(rf"(?P<lead>(?:im|seit|bis) )(?P<german>{_GERMAN_MONTHS})(?: (?P<year>{YEAR}))?"),
        _month,
    ),
    (
        pattern(rf"(?P<lead>(?:en|depuis) )(?P<french>{_FRENCH_MONTHS})(?: (?P<year>{YEAR}))?"),
        _month,
    ),
    (
        pattern(rf"(?:(?P<german>{_GERMAN_MONTHS})|(?P<french>{_FRENCH_MONTHS})) (?P<year>{YEAR})"),
        _month,
    ),
    (pattern("heute|gestern|vorgestern|aujourd['\u2019]hui|hier|avant-hier"), _near_day),
    (pattern(rf"{_LAST} (?P<unit>{_TURN})"), _relative_unit),
    (
        pattern(rf"(?:la |le |l['\u2019])?(?P<unit>{_TURN}) {_DERNIER}"),
        _relative_unit,
    ),
    (pattern("(?P<which>cette|ce) (?P<unit>semaine|mois|année)(?:-ci)?"), _relative_unit),
    (pattern(rf"(?:(?P<lead>(?:am|seit) )|{_LAST} )(?P<german>{GERMAN_DAYS})"), _weekday),
    (pattern(rf"(?P<french>{FRENCH_DAYS}) {_DERNIER}"), _weekday),
    (COUNTED_BACK, _ago),
)
# Texts with other letters than those of English are read in any case.
LANGUAGE_CUES: Final = frozenset(
    """
    janu febr marz apri mai juni juli augu sept okto nove deze janv fevr mars avri juin juil aout
    octo dece heut gest vorg aujo hier avan nach letz vori verg dies dern pass cett ce mont dien
    mitt donn frei sams sonn vor il
    """.split()  # noqa: SIM905  # 50 quoted words are harder to read
)
