"""Times as a person types them: a date, a moment, or words such as `last Tuesday`.

What has no time zone is in the local one.
"""

from datetime import datetime, timedelta

from everloop.errors import Invalid
from everloop.memory.expressions import dated

DAY = "0000-00-00"
LEADS = {"", "on", "in", "at", "the"}


def moment_of(text: str, now: datetime, *, end: bool = False) -> datetime:
    """The moment that a text means: where its stretch of time begins, or ends.

    Raises:
        Invalid: it means none.
    """
    typed = text.strip()
    try:
        exact = datetime.fromisoformat(typed)
    except ValueError:
        return _from_words(typed, now, end=end)
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
    for (first, last), (begins, ends) in dated(text, now.astimezone()):
        if text[:first].strip().casefold() in LEADS and not text[last:].strip():
            return (ends if end else begins).astimezone()
    raise Invalid(
        f"{text!r} is not a time", hint="Use 2026-05-17, 2026-05-17T09:30 or `last Tuesday`."
    )
