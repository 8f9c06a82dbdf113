"""The names of months and days of the week in English, German and French, each as a pattern.

Both time parsing and text comparison need them; the latter must not load a date library.
"""

import re
from collections.abc import Iterable
from typing import Final

_MONTHS: Final = (
    ("jan(?:uary)?", "januar|jänner", "janvier"),
    ("feb(?:ruary)?", "februar", "f[ée]vrier"),
    ("mar(?:ch)?", "m(?:ä|ae?)rz", "mars"),
    ("apr(?:il)?", "april", "avril"),
    ("may", "mai", "mai"),
    ("june?", "juni", "juin"),
    ("july?", "juli", "juillet"),
    ("aug(?:ust)?", "august", "ao[ûu]t"),
    ("sep(?:t(?:ember)?)?", "september", "septembre"),
    ("oct(?:ober)?", "okt(?:ober)?", "octobre"),
    ("nov(?:ember)?", "november", "novembre"),
    ("dec(?:ember)?", "dez(?:ember)?", "d[ée]cembre"),
)
_DAYS: Final = (
    ("mon(?:day)?", "montag", "lundi"),
    ("tue(?:s(?:day)?)?", "dienstag", "mardi"),
    ("wed(?:s|nesday)?", "mittwoch", "mercredi"),
    ("thu(?:r(?:s(?:day)?)?)?", "donnerstag", "jeudi"),
    ("fri(?:day)?", "freitag", "vendredi"),
    ("sat(?:urday)?", "samstag|sonnabend", "samedi"),
    ("sun(?:day)?", "sonntag", "dimanche"),
)
ENGLISH_MONTH, GERMAN_MONTH, FRENCH_MONTH = map("|".join, zip(*_MONTHS, strict=True))
ENGLISH_DAY, GERMAN_DAY, FRENCH_DAY = map("|".join, zip(*_DAYS, strict=True))
FULL_DAY: Final = "(?:mon|tues|wednes|thurs|fri|satur|sun)day"  # in English, where "sun" is a word


def month_number(name: str) -> int:
    """The number of the month with this name, from 1."""
    return _index_of(_MONTHS, name) + 1


def day_number(name: str) -> int:
    """The number of the day of the week with this name, from 0 for Monday."""
    return _index_of(_DAYS, name)


def _index_of(table: Iterable[tuple[str, ...]], name: str) -> int:
    said = name.casefold()
    return next(n for n, names in enumerate(table) if re.fullmatch("|".join(names), said))
