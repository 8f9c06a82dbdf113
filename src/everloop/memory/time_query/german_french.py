"""German and French dates, as far as they cannot be English words.

"3. März 2026", "le 3 mars", "im Mai", "zwischen März und Juni", "gestern Abend", "vor drei Tagen",
"letzten Dienstag", "letzten Sommer", "il y a deux semaines". Like the English table, but smaller.
Accents may be left out where people do.
"""

import re
from datetime import datetime
from typing import Final

from everloop.memory.text.calendar_names import (
    FRENCH_DAY,
    FRENCH_MONTH,
    GERMAN_DAY,
    GERMAN_MONTH,
    day_number,
    month_number,
)
from everloop.memory.time_query.intervals import (
    DAY,
    YEAR,
    Row,
    Stretch,
    ago,
    back,
    day,
    days_of,
    hours,
    midnight,
    month,
    pattern,
    place,
    said,
    turn,
    weekday,
    year_of,
)

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
    "elf|onze",
    "zwölf|douze",
)
_SOME: Final = re.compile("ein paar|einigen|quelques")
_SEASONS: Final = (
    "fr[üu]hling|fr[üu]hjahr|printemps",
    "sommer|été",
    "herbst|automne",
    "winter|hiver",
)
_PARTS: Final = {
    "morning": "fr[üu]h|morgen|vormittag|matin",
    "noon": "mittag|midi",
    "afternoon": "nachmittag|apr[èe]s-midi",
    "evening": "abend|soir",
    "night": "nacht|nuit",
}
_EDGES: Final = ("anfang|d[ée]but", "mitte|mi", "ende|fin")
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
_COUNT = rf"\d{{1,3}}|{'|'.join(_NUMBERS)}|{_SOME.pattern}"
_PART = rf"(?P<part>{'|'.join(_PARTS.values())})"
# Words that show French: "hier" is also German, for "here".
_FRENCH = re.compile(
    r"\b(?:qu['\u2019]|j['\u2019]ai|est-ce|ai|as-tu|avons|avez|nous|vous|quoi)\b"
    r"|\bhier (?:soir|matin)\b",
    re.IGNORECASE,
)


def _name(match: re.Match[str]) -> str:
    """The matched month or day of the week."""
    return said(match, "german") or said(match, "french")


def _date(match: re.Match[str], now: datetime) -> Stretch | None:
    last = int(said(match, "day").removesuffix("er"))
    first = int(said(match, "first").removesuffix("er") or last)
    sure = said(match, "lead") or said(match, "first") or said(match, "year")
    if not sure and (said(match, "french") or said(match, "german") in _ALSO_ENGLISH):
        return None  # "3. April" may be the third of a list, "3 mars" a count
    return days_of(month_number(_name(match)), first, last, said(match, "year"), now)


def _month(match: re.Match[str], now: datetime) -> Stretch:
    number = month_number(_name(match))
    return month(int(said(match, "year") or year_of(number, now)), number)


def _months(match: re.Match[str], now: datetime) -> Stretch:
    """A range of months; a year given only once counts for both."""
    first, last = (month_number(said(match, part)) for part in ("first", "last"))
    begins, ends = said(match, "from_year"), said(match, "year")
    turned = first > last  # over the end of the year
    year = int(ends or (int(begins) + turned if begins else year_of(last, now)))
    start = month(int(begins or year - turned), first)[0]
    return start, month(year, last)[1]


def _edge(match: re.Match[str], now: datetime) -> Stretch:
    """The beginning, the middle or the end of a month."""
    start, end = _month(match, now)
    first, last = start + 10 * DAY, start + 20 * DAY
    return ((start, first), (first, last), (last, end))[place(_EDGES, said(match, "edge"))]


def _season(match: re.Match[str], now: datetime) -> Stretch:
    number = 3 * place(_SEASONS, said(match, "season")) + 3
    year = int(said(match, "year") or year_of(number, now))
    start, end = month(year, number, 3)
    return (
        month(year - 1, number, 3) if said(match, "which") and start <= now < end else (start, end)
    )


def _year(match: re.Match[str], _now: datetime) -> Stretch:
    return month(int(match["year"]), 1, 12)


def _near_day(match: re.Match[str], now: datetime) -> Stretch | None:
    words, part = said(match, "day") or said(match, "whole"), said(match, "part")
    if words == "hier" and not part and not _FRENCH.search(match.string):
        return None
    back = 0 if words.startswith(("heute", "aujourd", "ce")) else 1
    found = day(now - (2 if words in {"vorgestern", "avant-hier"} else back) * DAY)
    return _within_day(part, found[0]) if part else found


def _within_day(part: str, date: datetime) -> Stretch:
    return hours(list(_PARTS)[place(_PARTS.values(), part)], date)


def _unit(match: re.Match[str]) -> str:
    return list(_UNITS)[place(_UNITS.values(), said(match, "unit") or said(match, "units"))]


def _which(match: re.Match[str]) -> str:
    word = said(match, "which")
    if word.startswith("n"):
        return "next"
    return "this" if word.startswith(("dies", "ce")) else "last"


def _relative_unit(match: re.Match[str], now: datetime) -> Stretch:
    return turn(_unit(match), {"last": -1, "this": 0, "next": 1}[_which(match)], now)


def _weekday(match: re.Match[str], now: datetime) -> Stretch | None:
    which, part = _which(match) if said(match, "which") else "", said(match, "part")
    found = weekday(day_number(_name(match)), which, now)
    return _within_day(part, found[0]) if found and part else found


def counted(match: re.Match[str]) -> tuple[int, int, str]:
    """How long ago: least and greatest count, and the unit."""
    words = said(match, "count") or said(match, "counted")
    if said(match, "half"):
        return 6, 6, "month"
    if _SOME.fullmatch(words):
        return 2, 5, _unit(match)
    count = int(words) if words.isdigit() else place(_NUMBERS, words) + 1
    return count, count, _unit(match)


def _ago(match: re.Match[str], now: datetime) -> Stretch:
    least, most, unit = counted(match)
    return ago(most, unit, now)[0], ago(least, unit, now)[1]


def _past_span(match: re.Match[str], now: datetime) -> Stretch:
    """The past N days, weeks or months, up to now."""
    _, most, unit = counted(match)
    return midnight(now - back(most, unit)), now


_LAST = "(?P<which>(?:letzte|vorige|vergangene|diese|n[äa]chste)[mnrs]?)"
_DERNIER = "(?P<which>derni(?:er|[èe]re)|passée?)"
COUNTED_BACK: Final = pattern(
    rf"(?:vor|il y a) (?:(?P<count>{_COUNT}) (?P<unit>{_BACK})|(?P<half>einem halben jahr))"
)
_BETWEEN_MONTHS = (
    rf"(?:zwischen|von) (?P<first>{GERMAN_MONTH})(?: (?P<from_year>{YEAR}))? (?:und|bis)"
    rf" (?P<last>{GERMAN_MONTH})(?: (?P<year>{YEAR}))?",
    rf"(?:entre|de) (?P<first>{FRENCH_MONTH})(?: (?P<from_year>{YEAR}))? (?:et|à)"
    rf" (?P<last>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?",
)
LANGUAGES: Final[tuple[Row, ...]] = (
    (
        pattern(
            r"(?P<lead>(?:am|vom|dem|den|zum|bis|seit) )?"
            r"(?:(?P<first>\d{1,2})\.? ?(?:bis(?: zum)?|und(?: dem)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}})\. ?(?P<german>{GERMAN_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        pattern(
            r"(?P<lead>(?:le|du|au) )?(?:(?P<first>\d{1,2}|1er) ?(?:au|et(?: le)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}}|1er) (?P<french>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        pattern(
            rf"(?P<lead>(?:im|seit|bis|ab|vor|nach) )(?P<german>{GERMAN_MONTH})"
            rf"(?: (?P<year>{YEAR}))?"
        ),
        _month,
    ),
    (
        pattern(
            rf"(?P<lead>(?:en|depuis|mois de) )(?P<french>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _month,
    ),
    (
        pattern(rf"(?:(?P<german>{GERMAN_MONTH})|(?P<french>{FRENCH_MONTH})) (?P<year>{YEAR})"),
        _month,
    ),
    *((pattern(words), _months) for words in _BETWEEN_MONTHS),
    (
        pattern(
            rf"(?P<edge>{'|'.join(_EDGES)})[ -](?:(?P<german>{GERMAN_MONTH})"
            rf"|(?P<french>{FRENCH_MONTH}))(?: (?P<year>{YEAR}))?"
        ),
        _edge,
    ),
    (
        pattern(
            r"(?:(?P<lead>(?:im|seit(?: dem)?|vor dem|nach dem|en|au|à l['\u2019]) ?)"
            rf"|(?P<which>(?:letzte|vorige|vergangene)[mn]) )(?P<season>{'|'.join(_SEASONS)})"
            rf"(?: (?:de )?(?P<year>{YEAR}))?"
        ),
        _season,
    ),
    (
        pattern(
            rf"(?:le |l['\u2019])(?P<season>{'|'.join(_SEASONS)})"
            rf" (?:(?P<which>dernier|passé)|(?:de )?(?P<year>{YEAR}))"
        ),
        _season,
    ),
    (
        pattern(
            r"(?P<lead>(?:im jahre?|seit|vor|nach|bis|ich|wir|en|depuis|avant|après) )"
            rf"(?P<year>{YEAR})(?! (?-i:[A-ZÄÖÜ]))"  # no "2000 Euro"
        ),
        _year,
    ),
    (
        pattern(
            rf"(?P<day>heute|gestern|vorgestern|hier|avant-hier|ce|cet|cette) {_PART}"
            "|(?P<whole>heute|gestern|vorgestern|aujourd['\u2019]hui|hier|avant-hier)"
        ),
        _near_day,
    ),
    (
        pattern(
            rf"(?:in )?(?:den|der|die) letzten (?P<count>{_COUNT}) (?P<unit>{_BACK})"
            rf"|(?:ces|les|des) (?P<counted>{_COUNT}) derni(?:er|[èe]re)s (?P<units>{_BACK})"
        ),
        _past_span,
    ),
    (pattern(rf"{_LAST} (?P<unit>{_TURN})"), _relative_unit),
    (
        pattern(rf"(?:la |le |l['\u2019])?(?P<unit>{_TURN}) {_DERNIER}"),
        _relative_unit,
    ),
    (pattern("(?P<which>cette|ce) (?P<unit>semaine|mois|année)(?:-ci)?"), _relative_unit),
    (
        pattern(rf"(?:(?P<lead>(?:am|seit) )|{_LAST} )(?P<german>{GERMAN_DAY})(?: ?{_PART})?"),
        _weekday,
    ),
    (
        pattern(rf"(?P<french>{FRENCH_DAY})(?: {_PART})? {_DERNIER}"),
        _weekday,
    ),
    (pattern(rf"(?P<lead>(?:depuis) )(?P<french>{FRENCH_DAY})"), _weekday),
    (COUNTED_BACK, _ago),
)
# Texts with other letters than those of English are always parsed.
LANGUAGE_CUES: Final = frozenset(
    """
    janu febr marz maer apri mai juni juli augu sept okt okto nove dez deze janv fevr mars avri juin
    juil aout octo dece heut gest vorg aujo hier avan nach letz vori verg dies dern pass cett ce
    mont dien mitt donn frei sams sonn vor il anfa midd mi ende fin debu fruh somm herb wint prin
    auto hive jahr im seit bis ich wir en depu den der die ces les des zwis von entr de
    """.split()  # noqa: SIM905  # 79 quoted words are harder to read
)
