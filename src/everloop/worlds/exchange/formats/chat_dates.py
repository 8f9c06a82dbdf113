"""When a chat message was sent: all the forms of `send_date` that SillyTavern has written."""

import re
from datetime import UTC, datetime, timedelta
from typing import Final

_MONTHS: Final = {
    name: number
    for number, name in enumerate(
        ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"), 1
    )
}
_AT: Final = re.compile(
    r"(\d{4})-(\d{1,2})-(\d{1,2})\s*@\s*(\d{1,2})h\s*(\d{1,2})m\s*(\d{1,2})s(?:\s*(\d{1,3})ms)?"
)
_LONG: Final = re.compile(
    r"([A-Za-z]{3,9})\.? (\d{1,2}), (\d{4}),? (\d{1,2}):(\d{2})(?::(\d{2}))?\s*([ap])\.?m\.?",
    re.IGNORECASE,
)
_DIGITS: Final = re.compile(r"\d{9,16}(?:\.\d+)?")
_EPOCH: Final = datetime(1970, 1, 1, tzinfo=UTC)
_MILLISECONDS_FROM: Final = 10**11  # a smaller number counts seconds


def parse_send_date(value: object) -> datetime | None:
    """The moment in UTC; None if it cannot be told. A time without a zone counts as UTC."""
    try:
        if isinstance(value, bool):
            return None
        if isinstance(value, int | float):
            return _from_number(float(value))
        return _from_text(value.strip()) if isinstance(value, str) else None
    except (ValueError, OverflowError):
        return None


def _from_text(text: str) -> datetime | None:
    if _DIGITS.fullmatch(text):
        return _from_number(float(text))
    if found := _AT.fullmatch(text):
        year, month, day, hour, minute, second = (int(part) for part in found.groups()[:6])
        thousandths = int(found[7] or 0)
        return datetime(year, month, day, hour, minute, second, thousandths * 1_000, tzinfo=UTC)
    if found := _LONG.fullmatch(text):
        month = _MONTHS.get(found[1][:3].lower(), 0)
        hour = int(found[4]) % 12 + (12 if found[7].lower() == "p" else 0)
        year, day, minute, second = (int(found[at] or 0) for at in (3, 2, 5, 6))
        return datetime(year, month, day, hour, minute, second, tzinfo=UTC)
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment.astimezone(UTC)


def _from_number(number: float) -> datetime:
    milliseconds = number if number >= _MILLISECONDS_FROM else number * 1_000
    return _EPOCH + timedelta(milliseconds=milliseconds)
