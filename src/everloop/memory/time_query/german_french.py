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
from everloop.memory.text.lazy_pattern import LazyPattern
from everloop.memory.time_query.intervals import (
    DAY,
    YEAR,
    DatePattern,
    Interval,
    ago_interval,
    calendar_interval,
    compile_words,
    day_interval,
    days_interval,
    duration,
    group_text,
    hours_interval,
    latest_year,
    midnight,
    month_interval,
    pattern_index,
    weekday_interval,
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
_SOME: Final = LazyPattern("ein paar|einigen|quelques")
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
_FRENCH = LazyPattern(
    r"\b(?:qu['\u2019]|j['\u2019]ai|est-ce|ai|as-tu|avons|avez|nous|vous|quoi)\b"
    r"|\bhier (?:soir|matin)\b",
    re.IGNORECASE,
)


def _name(match: re.Match[str]) -> str:
    """The matched month or day of the week."""
    return group_text(match, "german") or group_text(match, "french")


def _date(match: re.Match[str], now: datetime) -> Interval | None:
    last = int(group_text(match, "day").removesuffix("er"))
    first = int(group_text(match, "first").removesuffix("er") or last)
    sure = group_text(match, "lead") or group_text(match, "first") or group_text(match, "year")
    if not sure and (group_text(match, "french") or group_text(match, "german") in _ALSO_ENGLISH):
        return None  # "3. April" may be the third of a list, "3 mars" a count
    return days_interval(month_number(_name(match)), first, last, group_text(match, "year"), now)


def _month(match: re.Match[str], now: datetime) -> Interval:
    number = month_number(_name(match))
    return month_interval(int(group_text(match, "year") or latest_year(number, now)), number)


def _months(match: re.Match[str], now: datetime) -> Interval:
    """A range of months; a year given only once counts for both."""
    first, last = (month_number(group_text(match, part)) for part in ("first", "last"))
    begins, ends = group_text(match, "from_year"), group_text(match, "year")
    turned = first > last  # over the end of the year
    year = int(ends or (int(begins) + turned if begins else latest_year(last, now)))
    start = month_interval(int(begins or year - turned), first)[0]
    return start, month_interval(year, last)[1]


def _edge(match: re.Match[str], now: datetime) -> Interval:
    """The beginning, the middle or the end of a month."""
    start, end = _month(match, now)
    first, last = start + 10 * DAY, start + 20 * DAY
    return ((start, first), (first, last), (last, end))[
        pattern_index(_EDGES, group_text(match, "edge"))
    ]


def _season(match: re.Match[str], now: datetime) -> Interval:
    number = 3 * pattern_index(_SEASONS, group_text(match, "season")) + 3
    year = int(group_text(match, "year") or latest_year(number, now))
    start, end = month_interval(year, number, 3)
    return (
        month_interval(year - 1, number, 3)
        if group_text(match, "which") and start <= now < end
        else (start, end)
    )


def _year(match: re.Match[str], _now: datetime) -> Interval:
    return month_interval(int(match["year"]), 1, 12)


def _near_day(match: re.Match[str], now: datetime) -> Interval | None:
    words, part = group_text(match, "day") or group_text(match, "whole"), group_text(match, "part")
    if words == "hier" and not part and not _FRENCH.search(match.string):
        return None
    back = 0 if words.startswith(("heute", "aujourd", "ce")) else 1
    found = day_interval(now - (2 if words in {"vorgestern", "avant-hier"} else back) * DAY)
    return _within_day(part, found[0]) if part else found


def _within_day(part: str, date: datetime) -> Interval:
    return hours_interval(list(_PARTS)[pattern_index(_PARTS.values(), part)], date)


def _unit(match: re.Match[str]) -> str:
    return list(_UNITS)[
        pattern_index(_UNITS.values(), group_text(match, "unit") or group_text(match, "units"))
    ]


def _which(match: re.Match[str]) -> str:
    word = group_text(match, "which")
    if word.startswith("n"):
        return "next"
    return "this" if word.startswith(("dies", "ce")) else "last"


def _relative_unit(match: re.Match[str], now: datetime) -> Interval:
    return calendar_interval(_unit(match), {"last": -1, "this": 0, "next": 1}[_which(match)], now)


def _weekday(match: re.Match[str], now: datetime) -> Interval | None:
    which, part = _which(match) if group_text(match, "which") else "", group_text(match, "part")
    found = weekday_interval(day_number(_name(match)), which, now)
    return _within_day(part, found[0]) if found and part else found


def ago_count(match: re.Match[str]) -> tuple[int, int, str]:
    """How long ago: least and greatest count, and the unit."""
    words = group_text(match, "count") or group_text(match, "counted")
    if group_text(match, "half"):
        return 6, 6, "month"
    if _SOME.fullmatch(words):
        return 2, 5, _unit(match)
    count = int(words) if words.isdigit() else pattern_index(_NUMBERS, words) + 1
    return count, count, _unit(match)


def _ago(match: re.Match[str], now: datetime) -> Interval:
    least, most, unit = ago_count(match)
    return ago_interval(most, unit, now)[0], ago_interval(least, unit, now)[1]


def _past_span(match: re.Match[str], now: datetime) -> Interval:
    """The past N days, weeks or months, up to now."""
    _, most, unit = ago_count(match)
    return midnight(now - duration(most, unit)), now


_LAST = "(?P<which>(?:letzte|vorige|vergangene|diese|n[äa]chste)[mnrs]?)"
_DERNIER = "(?P<which>derni(?:er|[èe]re)|passée?)"
AGO_PATTERN: Final = compile_words(
    rf"(?:vor|il y a) (?:(?P<count>{_COUNT}) (?P<unit>{_BACK})|(?P<half>einem halben jahr))"
)
_BETWEEN_MONTHS = (
    rf"(?:zwischen|von) (?P<first>{GERMAN_MONTH})(?: (?P<from_year>{YEAR}))? (?:und|bis)"
    rf" (?P<last>{GERMAN_MONTH})(?: (?P<year>{YEAR}))?",
    rf"(?:entre|de) (?P<first>{FRENCH_MONTH})(?: (?P<from_year>{YEAR}))? (?:et|à)"
    rf" (?P<last>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?",
)
GERMAN_FRENCH_PATTERNS: Final[tuple[DatePattern, ...]] = (
    (
        compile_words(
            r"(?P<lead>(?:am|vom|dem|den|zum|bis|seit) )?"
            r"(?:(?P<first>\d{1,2})\.? ?(?:bis(?: zum)?|und(?: dem)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}})\. ?(?P<german>{GERMAN_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        compile_words(
            r"(?P<lead>(?:le|du|au) )?(?:(?P<first>\d{1,2}|1er) ?(?:au|et(?: le)?|-|\u2013) ?)?"
            rf"(?P<day>\d{{1,2}}|1er) (?P<french>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _date,
    ),
    (
        compile_words(
            rf"(?P<lead>(?:im|seit|bis|ab|vor|nach) )(?P<german>{GERMAN_MONTH})"
            rf"(?: (?P<year>{YEAR}))?"
        ),
        _month,
    ),
    (
        compile_words(
            rf"(?P<lead>(?:en|depuis|mois de) )(?P<french>{FRENCH_MONTH})(?: (?P<year>{YEAR}))?"
        ),
        _month,
    ),
    (
        compile_words(
            rf"(?:(?P<german>{GERMAN_MONTH})|(?P<french>{FRENCH_MONTH})) (?P<year>{YEAR})"
        ),
        _month,
    ),
    *((compile_words(words), _months) for words in _BETWEEN_MONTHS),
    (
        compile_words(
            rf"(?P<edge>{'|'.join(_EDGES)})[ -](?:(?P<german>{GERMAN_MONTH})"
            rf"|(?P<french>{FRENCH_MONTH}))(?: (?P<year>{YEAR}))?"
        ),
        _edge,
    ),
    (
        compile_words(
            r"(?:(?P<lead>(?:im|seit(?: dem)?|vor dem|nach dem|en|au|à l['\u2019]) ?)"
            rf"|(?P<which>(?:letzte|vorige|vergangene)[mn]) )(?P<season>{'|'.join(_SEASONS)})"
            rf"(?: (?:de )?(?P<year>{YEAR}))?"
        ),
        _season,
    ),
    (
        compile_words(
            rf"(?:le |l['\u2019])(?P<season>{'|'.join(_SEASONS)})"
            rf" (?:(?P<which>dernier|passé)|(?:de )?(?P<year>{YEAR}))"
        ),
        _season,
    ),
    (
        compile_words(
            r"(?P<lead>(?:im jahre?|seit|vor|nach|bis|ich|wir|en|depuis|avant|après) )"
            rf"(?P<year>{YEAR})(?! (?-i:[A-ZÄÖÜ]))"  # no "2000 Euro"
        ),
        _year,
    ),
    (
        compile_words(
            rf"(?P<day>heute|gestern|vorgestern|hier|avant-hier|ce|cet|cette) {_PART}"
            "|(?P<whole>heute|gestern|vorgestern|aujourd['\u2019]hui|hier|avant-hier)"
        ),
        _near_day,
    ),
    (
        compile_words(
            rf"(?:in )?(?:den|der|die) letzten (?P<count>{_COUNT}) (?P<unit>{_BACK})"
            rf"|(?:ces|les|des) (?P<counted>{_COUNT}) derni(?:er|[èe]re)s (?P<units>{_BACK})"
        ),
        _past_span,
    ),
    (compile_words(rf"{_LAST} (?P<unit>{_TURN})"), _relative_unit),
    (
        compile_words(rf"(?:la |le |l['\u2019])?(?P<unit>{_TURN}) {_DERNIER}"),
        _relative_unit,
    ),
    (compile_words("(?P<which>cette|ce) (?P<unit>semaine|mois|année)(?:-ci)?"), _relative_unit),
    (
        compile_words(
            rf"(?:(?P<lead>(?:am|seit) )|{_LAST} )(?P<german>{GERMAN_DAY})(?: ?{_PART})?"
        ),
        _weekday,
    ),
    (
        compile_words(rf"(?P<french>{FRENCH_DAY})(?: {_PART})? {_DERNIER}"),
        _weekday,
    ),
    (compile_words(rf"(?P<lead>(?:depuis) )(?P<french>{FRENCH_DAY})"), _weekday),
    (AGO_PATTERN, _ago),
)
# Texts with other letters than those of English are always parsed.
GERMAN_FRENCH_CUES: Final = frozenset(
    """
    janu febr marz maer apri mai juni juli augu sept okt okto nove dez deze janv fevr mars avri juin
    juil aout octo dece heut gest vorg aujo hier avan nach letz vori verg dies dern pass cett ce
    mont dien mitt donn frei sams sonn vor il anfa midd mi ende fin debu fruh somm herb wint prin
    auto hive jahr im seit bis ich wir en depu den der die ces les des zwis von entr de
    """.split()  # noqa: SIM905  # 79 quoted words are harder to read
)
