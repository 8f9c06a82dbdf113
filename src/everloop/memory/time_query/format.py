"""A stretch of time in words, as a person is told which one was searched."""

from datetime import UTC, datetime, timedelta

DAY = timedelta(days=1)  # its own, for `stretches` loads dateutil, and a host should start at once


def told(start: datetime | None, end: datetime | None) -> str:
    """When something happened that lies in [start, end): "on 5 May 2026", "before 5 May 2026"."""
    start, end = _here(start), _here(end)
    if start is None:
        return f"before {_moment(end)}" if end else "at any time"
    if end is None:
        return f"from {_moment(start)} on"
    if not (_is_midnight(start) and _is_midnight(end)):
        return f"between {_moment(start)} and {_moment(end)}"
    last = end - DAY
    if last <= start:
        return f"on {_moment(start)}"
    return f"from {_moment(start)} to {_moment(last)}"


def _here(at: datetime | None) -> datetime | None:
    """A moment as the log has it, by the clock here; one that is in somebody's zone stays."""
    return at.astimezone() if at is not None and at.tzinfo is UTC else at


def _is_midnight(at: datetime) -> bool:
    return not (at.hour or at.minute or at.second)


def _moment(at: datetime) -> str:
    day = f"{at.day} {at:%B %Y}"
    return day if _is_midnight(at) else f"{day}, {at:%H:%M}"
