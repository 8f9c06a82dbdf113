"""The windows of the pyramid: disjoint, without a hole, and bounded for a century."""

from datetime import UTC, date, datetime, timedelta
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.errors import Invalid
from everloop.log.model.record import to_microseconds
from everloop.thread.model.calendar_windows import (
    TIERS,
    CalendarWindow,
    TimeZoneHistory,
    first_full_day,
    parse_window,
    pyramid_windows,
    window_containing,
)

DAYS = st.dates(date(1990, 1, 1), date(2120, 12, 31))


@given(today=DAYS, ago=st.integers(2, 40_000))
def test_every_day_that_is_not_shown_in_full_is_in_exactly_one_window(
    today: date, ago: int
) -> None:
    oldest = max(today - timedelta(days=ago), date(1900, 1, 1))
    windows = list(pyramid_windows(today, oldest))
    assert windows[0].until == first_full_day(today)
    assert all(newer.first == older.until for newer, older in pairwise(windows))
    assert windows[-1].first <= oldest < windows[-1].until


@given(today=DAYS)
def test_a_century_has_few_windows(today: date) -> None:
    windows = list(pyramid_windows(today, today - timedelta(days=36_500)))
    count = {tier: sum(window.tier == tier for window in windows) for tier in TIERS}
    assert count["day"] <= 13
    assert count["week"] <= 10
    assert count["month"] <= 18
    assert count["year"] <= 20
    assert count["decade"] <= 10


@given(day=DAYS, tier=st.sampled_from(TIERS))
def test_a_window_is_made_of_whole_windows_of_the_tier_below(day: date, tier: str) -> None:
    window = window_containing(day, next(known for known in TIERS if known == tier))
    below = window.children
    assert window.first <= day < window.until
    if below:
        assert (below[0].first, below[-1].until) == (window.first, window.until)
        assert all(part.parent == window for part in below)
    assert parse_window(window.key) == window


def test_days_reach_back_seven_days_and_to_the_beginning_of_that_week() -> None:
    windows = list(pyramid_windows(date(2026, 12, 17), date(2026, 11, 1)))
    days = [window for window in windows if window.tier == "day"]
    assert days[0].first == date(2026, 12, 15)
    assert days[-1].first == date(2026, 12, 7)
    assert windows[len(days)] == CalendarWindow(date(2026, 12, 1), date(2026, 12, 7), "week")


def test_a_week_across_a_month_is_two_windows() -> None:
    assert window_containing(date(2026, 9, 30), "week").key == "week:2026-09-28"
    assert window_containing(date(2026, 10, 1), "week").key == "week:2026-10-01"
    assert window_containing(date(2026, 10, 4), "week").until == date(2026, 10, 5)


@pytest.mark.parametrize("key", ["", "day:", "hour:2026-05-17", "month:2026-13", "week:2026-09-30"])
def test_an_invalid_window_name_is_rejected_with_a_hint(key: str) -> None:
    with pytest.raises(Invalid) as refused:
        parse_window(key)
    assert refused.value.hint


def test_a_message_keeps_its_local_day_when_the_time_zone_changes() -> None:
    flown = to_microseconds(datetime(2026, 6, 1, 12, tzinfo=UTC))
    zones = TimeZoneHistory([(0, "Asia/Tokyo"), (flown, "America/Los_Angeles")])
    before = to_microseconds(datetime(2026, 6, 1, 11, 59, tzinfo=UTC))
    assert zones.local_date(before) == date(2026, 6, 1)
    assert zones.local_date(to_microseconds(datetime(2026, 5, 31, 16, tzinfo=UTC))) == date(
        2026, 6, 1
    )
    assert zones.local_date(to_microseconds(datetime(2026, 6, 2, 6, tzinfo=UTC))) == date(
        2026, 6, 1
    )


@pytest.mark.parametrize("hours", [23, 24, 25])
def test_a_day_of_any_length_contains_all_its_hours(hours: int) -> None:
    day = {23: date(2026, 3, 29), 24: date(2026, 5, 17), 25: date(2026, 10, 25)}[hours]
    zones = TimeZoneHistory([(0, "Europe/Berlin")])
    start = datetime(day.year, day.month, day.day, tzinfo=UTC) - timedelta(hours=15)
    moments = [start + timedelta(hours=hour) for hour in range(54)]
    assert sum(zones.local_date(to_microseconds(at)) == day for at in moments) == hours


def test_before_the_first_zone_change_the_first_zone_applies_and_utc_without_any() -> None:
    late = to_microseconds(datetime(2026, 5, 17, 23, 30, tzinfo=UTC))
    assert TimeZoneHistory([]).local_date(late) == date(2026, 5, 17)
    assert TimeZoneHistory([(late + 1, "Europe/Berlin")]).local_date(late) == date(2026, 5, 18)
