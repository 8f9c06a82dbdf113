"""Parses dates and times that a person types: ISO 8601, or expressions such as `last Tuesday`.

Without a time zone, local time is meant.
"""

from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from everloop.errors import Invalid
from everloop.memory import day_first_reading, find_dates, midnight, parse_ago

DATE_FORM = "0000-00-00"
YEAR_MIN, YEAR_MAX = 2, 9998  # safe in every time zone, also plus one day
PREPOSITIONS = {"", "on", "in", "at", "the"}
SHORT_UNITS = {"minute", "hour"}  # a time counted in these has a time of day


def parse_time(
    text: str, now: datetime, *, end: bool = False, example: str = "last Tuesday"
) -> datetime:
    """Parse a date or time: the start of the period that a text means, or its end.

    A relative time such as `two weeks ago` starts at the start of that day and ends at that moment.
    `example` is the expression that an error suggests.

    Raises:
        Invalid: the text is not a date or time.
    """
    typed = text.strip()
    try:
        exact = datetime.fromisoformat(typed)
    except ValueError:
        return _from_expression(typed, now, end=end, example=example)
    if not YEAR_MIN <= exact.year <= YEAR_MAX:
        raise Invalid(
            f"{text!r} is outside the supported range of years",
            hint=f"Use a year from {YEAR_MIN} to {YEAR_MAX}.",
        )
    if end and len(typed) == len(DATE_FORM):
        exact += timedelta(days=1)
    return exact.astimezone()


def parse_position_or_time(text: str, now: datetime) -> int | datetime:
    """Parse a log position, or the end of the period that a text means.

    Raises:
        Invalid: the text is neither.
    """
    return int(text) if text.isascii() and text.isdigit() else parse_time(text, now, end=True)


def _from_expression(text: str, now: datetime, *, end: bool, example: str) -> datetime:
    if day_first_reading(text):
        raise Invalid(
            f"{text!r} is ambiguous: day and month are unclear",
            hint="Write the year first: 2026-05-17.",
        )
    if counted := parse_ago(text):
        return _subtract(now, *counted, end=end)
    for (first, last), (begins, ends) in find_dates(text, now.astimezone()):
        if text[:first].strip().casefold() in PREPOSITIONS and not text[last:].strip():
            return (ends if end else begins).astimezone()
    raise Invalid(
        f"{text!r} is not a date or time",
        hint=f"Use 2026-05-17, 2026-05-17T09:30 or `{example}`.",
    )


def _subtract(now: datetime, step: relativedelta, unit: str, *, end: bool) -> datetime:
    """Subtract hours and minutes as elapsed time, days and longer units by the local calendar."""
    if unit in SHORT_UNITS:
        return (now.astimezone(UTC) - step).astimezone()
    then = now.astimezone().replace(tzinfo=None) - step
    return (then if end else midnight(then)).astimezone()
