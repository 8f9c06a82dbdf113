"""Formats a time interval in words, to tell the user which one was searched."""

from datetime import UTC, datetime, timedelta

DAY = timedelta(
    days=1
)  # defined here, because `intervals` loads dateutil, and a start should be fast


def format_interval(start: datetime | None, end: datetime | None) -> str:
    """Format the interval [start, end): "on 5 May 2026", "before 5 May 2026"."""
    start, end = _local(start), _local(end)
    if start is None:
        return f"before {_format(end)}" if end else "at any time"
    if end is None:
        return f"from {_format(start)} on"
    if not (_is_midnight(start) and _is_midnight(end)):
        return f"between {_format(start)} and {_format(end)}"
    last = end - DAY
    if last <= start:
        return f"on {_format(start)}"
    return f"from {_format(start)} to {_format(last)}"


def _local(at: datetime | None) -> datetime | None:
    """A UTC moment in the local zone; one in another zone stays as it is."""
    return at.astimezone() if at is not None and at.tzinfo is UTC else at


def _is_midnight(at: datetime) -> bool:
    return not (at.hour or at.minute or at.second)


def _format(at: datetime) -> str:
    day = f"{at.day} {at:%B %Y}"
    return day if _is_midnight(at) else f"{day}, {at:%H:%M}"
