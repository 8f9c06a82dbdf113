"""Normal forms: writes dates, hours and numbers in one way, so that texts can be compared.

"1 May 2026", "May 1st, 2026", "1. Mai 2026", "1er mai 2026" and "01.05.2026" become "2026-05-01",
"3 pm" and "15 Uhr" become "15:00", "1,000" and "two" become digits. Pure. Ambiguous dates stay as
they are: 1/5/2026 is in January for some and in May for others. Invalid dates stay, too.
"""

import re
from collections.abc import Callable, Iterator
from datetime import date
from typing import Final, NamedTuple

from everloop.memory.text.calendar_names import (
    ENGLISH_DAY,
    ENGLISH_MONTH,
    FRENCH_DAY,
    FRENCH_MONTH,
    GERMAN_DAY,
    GERMAN_MONTH,
    day_number,
    month_number,
)
from everloop.memory.text.lazy_pattern import LazyPattern

BEFORE, AFTER = 28, 24  # at most so many letters of a date before and after one of its digits
ANY_DATE: Final = "0000-00-00"  # replaces every date, where it does not matter which
NUMBER_WORDS: Final = {"a": 1, "an": 1, "one": 1, "two": 2, "three": 3, "four": 4, "five": 5} | {
    "six": 6,
    "seven": 7,
    "eight": 8,
    "nine": 9,
    "ten": 10,
    "eleven": 11,
    "twelve": 12,
}

Reading = tuple[int, int, int]  # year, month and day; 0 for what was not said
DateReadings = tuple[Reading, ...]  # several if the date is ambiguous


class NormalisedText(NamedTuple):
    """A text in normal form, and the dates in it, in order."""

    text: str
    dates: tuple[DateReadings, ...] = ()


def normalise_values(text: str) -> NormalisedText:
    """Rewrite every date, hour and number of a text in normal form."""
    found: list[DateReadings] = []
    dated = _replace_near_digits(_DATES, lambda one: _write_date(one, found), text)
    return NormalisedText(_normalise_numbers(dated), (*found,))


def mask_dates(text: str) -> str:
    """Like `normalise_values`, with every date replaced by `ANY_DATE`."""
    return _normalise_numbers(_replace_near_digits(_DATES, _mask_date, text))


def _normalise_numbers(text: str) -> str:
    """The text with its hours and numbers in normal form."""
    counted = _WORD.sub(lambda word: str(NUMBER_WORDS[word.group().casefold()]), text)
    return _replace_near_digits(_NUMBERS, _write_number, counted)


def _replace_near_digits(
    pattern: LazyPattern, instead: Callable[[re.Match[str]], str], text: str
) -> str:
    """Replace matches near digits only: most of a text has none, and that is faster."""
    parts: list[str] = []
    done = 0
    for first, last in _ranges_near_digits(text):
        for match in pattern.finditer(text, first, last):
            parts += (text[done : match.start()], instead(match))
            done = match.end()
    return "".join((*parts, text[done:])) if parts else text


def _ranges_near_digits(text: str) -> Iterator[tuple[int, int]]:
    """The ranges of a text near a digit."""
    begins = ends = -1
    for digits in _DIGITS.finditer(text):
        if digits.start() - BEFORE > ends:
            if ends >= 0:
                yield begins, ends
            begins = max(0, digits.start() - BEFORE)
        ends = digits.end() + AFTER
    if ends >= 0:
        yield begins, ends


def dates_may_agree(one: tuple[DateReadings, ...], other: tuple[DateReadings, ...]) -> bool:
    """Whether two lists of dates may be equal, given that dates may be incomplete or ambiguous."""
    return len(one) == len(other) and all(map(_may_be_equal, one, other))


def has_ambiguous_date(dates: tuple[DateReadings, ...]) -> bool:
    """Whether one of the dates is ambiguous."""
    return any(len(readings) > 1 for readings in dates)


def _may_be_equal(one: DateReadings, other: DateReadings) -> bool:
    if len(one) == len(other) > 1:  # both ambiguous: assume the same order of day and month
        return one == other
    return any(_is_compatible(a, b) for a in one for b in other)


def _is_compatible(a: Reading, b: Reading) -> bool:
    return all(x == y or not (x and y) for x, y in zip(a, b, strict=True))


_DIGITS = re.compile(r"\d+")

# -- dates -----------------------------------------------------------------------------------------

_YEAR = r"(?:19|20)\d\d"
_DAY = r"\d{1,2}"
_ANY_MONTH = f"{ENGLISH_MONTH}|{GERMAN_MONTH}|{FRENCH_MONTH}"
_MONTH = f"(?!(?-i:may|mar|march|mars)\\b)(?:{_ANY_MONTH})"  # in lower case these are words
_ANY_DAY = f"{ENGLISH_DAY}|{GERMAN_DAY}|{FRENCH_DAY}"
_WEEKDAY = rf"(?:(?P<weekday>{_ANY_DAY})\.?,? (?:the |den |le )?)?"
_DATES = LazyPattern(
    rf"(?<![\w./-]){_WEEKDAY}(?:"
    rf"(?P<y1>{_YEAR})(?P<cut>[-/.])(?P<m1>\d{{1,2}})(?P=cut)(?P<d1>{_DAY})"
    rf"|(?P<d2>{_DAY})\.\s?(?P<m2>\d{{1,2}})\.\s?(?P<y2>{_YEAR})"
    rf"|(?P<a>{_DAY})(?P<slash>[/-])(?P<b>{_DAY})(?P=slash)(?P<y3>{_YEAR})"
    rf"|(?P<d4>{_DAY})(?:st|nd|rd|th|er|\.)?(?: of| de)? (?:"
    rf"(?P<m4>{_ANY_MONTH})\.?,? (?P<y4>{_YEAR})|(?P<m5>{_MONTH}|mars))"
    rf"|(?:(?P<m6>{_ANY_MONTH})\.? (?:the )?(?P<d6>{_DAY})(?:st|nd|rd|th)?,? (?P<y6>{_YEAR})"
    rf"|(?P<m7>{_MONTH})\.? (?:the )?(?P<d7>{_DAY})(?:st|nd|rd|th)?)"
    rf"|(?P<m8>{_ANY_MONTH})\.?,?(?: of| de)? (?P<y8>{_YEAR})"
    rf"|(?P<y9>{_YEAR})-(?P<m9>0[1-9]|1[0-2])"
    rf")(?![\w/]|[-.,:]\d)",
    re.IGNORECASE,
)


def _write_date(match: re.Match[str], found: list[DateReadings]) -> str:
    readings = list(_readings(match))
    if readings:
        found.append((*readings,))
    if len(readings) != 1:
        return match.group()
    year, month, day = readings[0]
    parts = (f"{year:04}" if year else "", f"{month:02}", f"{day:02}" if day else "")
    return _weekday(match, readings[0]) + "-".join(filter(None, parts))


def _mask_date(match: re.Match[str]) -> str:
    readings = list(_readings(match))
    return _weekday(match, readings[0]) + ANY_DATE if readings else match.group()


def _readings(match: re.Match[str]) -> Iterator[Reading]:
    """The possible readings of a date; none if it is invalid."""
    said = {name: value for name, value in match.groupdict().items() if value}
    if "a" in said:
        first, second, year = int(said["a"]), int(said["b"]), int(said["y3"])
        orders = dict.fromkeys(((second, first), (first, second)))
    else:
        part = {name[0]: value for name, value in said.items()}
        year = int(part.get("y", 0))
        month = int(part["m"]) if part["m"].isdigit() else month_number(part["m"])
        orders = {(month, int(part.get("d", 0))): None}
    yield from ((year, month, day) for month, day in orders if _is_valid(year, month, day))


def _is_valid(year: int, month: int, day: int) -> bool:
    try:
        date(year or 2000, month, day or 1)
    except ValueError:
        return False
    return True


def _weekday(match: re.Match[str], reading: Reading) -> str:
    """The day of the week as written, unless it follows from the date."""
    name = match["weekday"]
    if not name:
        return ""
    follows = all(reading) and date(*reading).weekday() == day_number(name)
    return "" if follows else f"{name} "


# -- hours and numbers -----------------------------------------------------------------------------

_WORD = LazyPattern(
    r"\b(?:t(?:wo|hree|en|welve)|f(?:our|ive)|s(?:ix|even)|e(?:ight|leven)|nine)\b(?!-)",
    re.IGNORECASE,
)
_NUMBERS = LazyPattern(
    r"(?<![\w.,:/$€£¥-])(?:"
    r"(?P<half>1[0-2]|0?[1-9])(?:[:.](?P<past>[0-5]\d))? ?(?P<noon>[ap])\.?m\b\.?"
    r"|(?P<hour>[01]?\d|2[0-4])(?:(?::(?P<minute>[0-5]\d))(?: ?Uhr\b|(?![\w:/-]|[.,]\d))"
    r"| Uhr\b|h(?P<after>[0-5]\d)?\b))"
    r"|(?<![\w.,:/-])(?P<grouped>[1-9]\d{0,2}(?:,\d{3})+)(?![\w,/:-]|\.\d)",
    re.IGNORECASE,
)


def _write_number(match: re.Match[str]) -> str:
    if match["grouped"]:
        return match["grouped"].replace(",", "")
    if match["half"]:
        hour = int(match["half"]) % 12 + (12 if match["noon"] in "pP" else 0)
        return f"{hour:02}:{match['past'] or '00'}"
    return f"{int(match['hour']):02}:{match['minute'] or match['after'] or '00'}"
