"""Formats times for people: local time and age."""

from datetime import datetime, time, timedelta, tzinfo

_STEPS = (
    (timedelta(minutes=1), timedelta(seconds=1), "s"),
    (timedelta(hours=1), timedelta(minutes=1), "min"),
    (timedelta(days=2), timedelta(hours=1), "h"),
    (timedelta(days=60), timedelta(days=1), "days"),
    (timedelta(days=730), timedelta(days=30), "months"),
)


def format_local(at: datetime, zone: tzinfo | None = None) -> str:
    """A time in the local time zone, to the second."""
    return at.astimezone(zone).strftime("%Y-%m-%d %H:%M:%S")


def format_short(at: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """A time in the local time zone, as short as possible: for today only the time of day.

    Midnight stands for the whole day and is shown as a date.
    """
    here = at.astimezone(zone)
    if is_midnight(at, zone):
        return here.strftime("%Y-%m-%d")
    if here.date() == now.astimezone(zone).date():
        return here.strftime("%H:%M:%S")
    return here.strftime("%Y-%m-%d %H:%M")


def is_midnight(at: datetime, zone: tzinfo | None = None) -> bool:
    """Whether a time is local midnight, which stands for a whole day such as `last Tuesday`."""
    return at.astimezone(zone).time() == time.min


def format_age(at: datetime, now: datetime) -> str:
    """How long ago a time was, in one unit."""
    passed = now - at
    if passed < timedelta(seconds=1):
        return "just now"
    for bound, unit, name in _STEPS:
        if passed < bound:
            return f"{passed // unit} {name} ago"
    return f"{passed // timedelta(days=365)} years ago"


def format_with_age(at: datetime, now: datetime, zone: tzinfo | None = None) -> str:
    """A time and how long ago it was."""
    return f"{format_local(at, zone)} ({format_age(at, now)})"
