"""Calendar windows of the summary pyramid: days, weeks, months, years and decades. Pure functions.

Seen from today: yesterday and today in full; then days, back to the week that contains the day 7
days ago; weeks, back to the month that contains the day 30 days ago; months, back to the year that
contains the day half a year ago; years, back to the decade that contains the day ten years ago;
then decades. Each tier ends where a window of the next one begins: no overlap and no gap.

A week that crosses the end of a month is two windows. So months consist of whole weeks, years of
months, decades of years, and every day belongs to exactly one window of each tier.

A message belongs to its local day in the time zone the person was in when it was sent. A flight
west makes that day longer; nothing is counted twice.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from datetime import date, timedelta
from typing import Literal
from zoneinfo import ZoneInfo

import msgspec

from everloop.errors import Invalid
from everloop.log.model.record import from_microseconds

Tier = Literal["day", "week", "month", "year", "decade"]
TIERS: tuple[Tier, ...] = ("day", "week", "month", "year", "decade")
DAY = timedelta(days=1)
WIDEST = timedelta(hours=15)  # no time zone is further from UTC


class CalendarWindow(msgspec.Struct, frozen=True, order=True):
    """A range of days of one tier; `until` is exclusive."""

    first: date
    until: date
    tier: Tier

    @property
    def key(self) -> str:
        """The name, such as `day:2026-05-17`, `week:2026-05-11`, `month:2026-05` or `year:2026`."""
        digits = {"day": 10, "week": 10, "month": 7, "year": 4, "decade": 4}[self.tier]
        return f"{self.tier}:{self.first.isoformat()[:digits]}"

    @property
    def children(self) -> tuple["CalendarWindow", ...]:
        """The windows of the tier below that it consists of, oldest first; empty for a day."""
        if self.tier == "day":
            return ()
        tier = TIERS[TIERS.index(self.tier) - 1]
        made: list[CalendarWindow] = []
        at = self.first
        while at < self.until:
            made.append(window_containing(at, tier))
            at = made[-1].until
        return tuple(made)

    @property
    def parent(self) -> "CalendarWindow | None":
        """The window of the next tier that contains it; None for a decade."""
        if self.tier == "decade":
            return None
        return window_containing(self.first, TIERS[TIERS.index(self.tier) + 1])


class TimeZoneHistory:
    """The history of the person's time zones."""

    def __init__(self, moves: Sequence[tuple[int, str]], home: str = "UTC") -> None:
        self._since = [at for at, _ in moves]
        self._zones = [ZoneInfo(home), *(ZoneInfo(zone) for _, zone in moves)]

    def zone_at(self, microseconds: int) -> ZoneInfo:
        """The zone at a moment; before the first change, the zone that was set first."""
        place = bisect_right(self._since, microseconds)
        return self._zones[min(max(place, 1), len(self._zones) - 1)]

    def local_date(self, microseconds: int) -> date:
        """The local date of a moment."""
        return from_microseconds(microseconds).astimezone(self.zone_at(microseconds)).date()


def parse_window(key: str) -> CalendarWindow:
    """Parse the name of a window.

    Raises:
        Invalid: it is not the name of a window.
    """
    tier, _, text = key.partition(":")
    full = {4: f"{text}-01-01", 7: f"{text}-01"}.get(len(text), text)
    try:
        found = next(
            window_containing(date.fromisoformat(full), known) for known in TIERS if known == tier
        )
    except (StopIteration, ValueError) as problem:
        raise Invalid(
            f"{key!r} is not a time window", hint="Write it like day:2026-05-17 or month:2026-05."
        ) from problem
    if found.key != key:
        raise Invalid(f"{key!r} is not a time window", hint=f"Did you mean {found.key}?")
    return found


def window_containing(day: date, tier: Tier) -> CalendarWindow:
    """The window of a tier that contains a day."""
    match tier:
        case "day":
            return CalendarWindow(day, day + DAY, tier)
        case "week":
            month = window_containing(day, "month")
            monday = day - timedelta(days=day.weekday())
            return CalendarWindow(
                max(monday, month.first), min(monday + 7 * DAY, month.until), tier
            )
        case "month":
            first = day.replace(day=1)
            return CalendarWindow(first, (first + 31 * DAY).replace(day=1), tier)
        case "year":
            return CalendarWindow(date(day.year, 1, 1), date(day.year + 1, 1, 1), tier)
        case "decade":
            decade = day.year // 10 * 10
            return CalendarWindow(date(decade, 1, 1), date(decade + 10, 1, 1), tier)


def first_full_day(today: date) -> date:
    """The first day whose messages go into the prompt in full."""
    return today - DAY


def pyramid_windows(today: date, oldest: date) -> Iterator[CalendarWindow]:
    """The windows that cover all earlier days, newest first, back to the oldest."""
    ends: tuple[tuple[Tier, date], ...] = (
        ("day", window_containing(today - 7 * DAY, "week").first),
        ("week", window_containing(today - 30 * DAY, "month").first),
        ("month", window_containing(today - 183 * DAY, "year").first),
        ("year", window_containing(_years_before(today, 10), "decade").first),
        ("decade", date.min),
    )
    at = first_full_day(today)
    for tier, end in ends:
        while at > max(end, oldest):
            window = window_containing(at - DAY, tier)
            yield window
            at = window.first


def _years_before(day: date, years: int) -> date:
    return day.replace(year=day.year - years, day=min(day.day, 28))
