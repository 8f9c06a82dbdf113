"""Formatting of times."""

from datetime import UTC, datetime, timedelta, timezone

import pytest

from everloop.interfaces.cli.output.times import (
    format_age,
    format_local,
    format_short,
    format_with_age,
)

NOW = datetime(2026, 3, 1, 12, 0, tzinfo=UTC)
EAST = timezone(timedelta(hours=2))


@pytest.mark.parametrize(
    ("passed", "words"),
    [
        (timedelta(milliseconds=3), "just now"),
        (timedelta(seconds=-5), "just now"),
        (timedelta(seconds=59), "59 s ago"),
        (timedelta(minutes=3), "3 min ago"),
        (timedelta(hours=47), "47 h ago"),
        (timedelta(days=3), "3 days ago"),
        (timedelta(days=90), "3 months ago"),
        (timedelta(days=800), "2 years ago"),
    ],
)
def test_an_age_is_formatted_in_one_unit(passed: timedelta, words: str) -> None:
    assert format_age(NOW - passed, NOW) == words


def test_times_are_formatted_in_local_time() -> None:
    assert format_local(NOW, EAST) == "2026-03-01 14:00:00"
    assert (
        format_with_age(NOW - timedelta(minutes=1), NOW, EAST) == "2026-03-01 13:59:00 (1 min ago)"
    )


def test_a_time_of_today_is_formatted_without_the_date() -> None:
    assert format_short(NOW, NOW, EAST) == "14:00:00"
    assert format_short(NOW - timedelta(days=1), NOW, EAST) == "2026-02-28 14:00"


def test_midnight_is_formatted_as_a_date() -> None:
    midnight = datetime(2026, 2, 10, tzinfo=EAST)
    assert format_short(midnight, NOW, EAST) == "2026-02-10"
    assert format_short(midnight, NOW, UTC) == "2026-02-09 22:00"
    assert format_short(datetime(2026, 3, 1, tzinfo=EAST), NOW, EAST) == "2026-03-01"
