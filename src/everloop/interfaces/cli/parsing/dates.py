"""Times as a person types them: a date, a moment, or words such as `last Tuesday`.

What has no time zone is in the local one.
"""

from datetime import UTC, datetime, timedelta

from dateutil.relativedelta import relativedelta

from everloop.errors import Invalid
from everloop.memory.time_query.english import other_reading
from everloop.memory.time_query.expressions import counted_back, dated
from everloop.memory.time_query.intervals import midnight

DAY = "0000-00-00"
YEAR_MIN, YEAR_MAX = 2, 9998  # in every time zone, and a day more
LEADS = {"", "on", "in", "at", "the"}
SHORT = {"minute", "hour"}  # what is counted in these has a time of day


def moment_of(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The moment that a text means: where its stretch of time begins, or ends.

    What counts back from now, such as `two weeks ago`, begins with its day and ends at its moment.

    Raises:
        Invalid: it means none.
    """
    typed = text.strip()
    try:
        exact = datetime.fromisoformat(typed)
    except ValueError:
        return _from_words(typed, now, end=end)
    if not YEAR_MIN <= exact.year <= YEAR_MAX:
        raise Invalid(
            f"{text!r} is too far away for a calendar",
            hint=f"Use a year from {YEAR_MIN} to {YEAR_MAX}.",
        )
    if end and len(typed) == len(DAY):
        exact += timedelta(days=1)
    return exact.astimezone()


def position_or_moment(text: str, now: datetime) -> int | datetime:
    """A position in the log, or the end of the stretch of time that a text means.

    Raises:
        Invalid: it is neither.
    """
    return int(text) if text.isascii() and text.isdigit() else moment_of(text, now, end=True)


def _from_words(text: str, now: datetime, *, end: bool) -> datetime:
    if other_reading(text):
        raise Invalid(
            f"{text!r} could be two days", hint="Write the year first: 2026-05-17 is one day."
        )
    if counted := counted_back(text):
        return _counted_back(now, *counted, end=end)
    for (first, last), (begins, ends) in dated(text, now.astimezone()):
        if text[:first].strip().casefold() in LEADS and not text[last:].strip():
            return (ends if end else begins).astimezone()
    raise Invalid(
        f"{text!r} is not a time", hint="Use 2026-05-17, 2026-05-17T09:30 or `last Tuesday`."
    )


def _counted_back(now: datetime, step: relativedelta, unit: str, *, end: bool) -> datetime:
    """Hours are counted as they pass, days and more by the calendar on the wall."""
    if unit in SHORT:
        return (now.astimezone(UTC) - step).astimezone()
    then = now.astimezone().replace(tzinfo=None) - step
    return (then if end else midnight(then)).astimezone()
