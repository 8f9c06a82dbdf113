"""Formatting of time intervals."""

from datetime import UTC, datetime

import pytest

from everloop.memory.time_query.format import format_interval

FIFTH, SIXTH, NINTH = (datetime(2026, 5, day) for day in (5, 6, 9))  # noqa: DTZ001 - as on a calendar


@pytest.mark.parametrize(
    ("start", "end", "words"),
    [
        (FIFTH, SIXTH, "on 5 May 2026"),
        (FIFTH, NINTH, "from 5 May 2026 to 8 May 2026"),
        (None, FIFTH, "before 5 May 2026"),
        (FIFTH, None, "from 5 May 2026 on"),
        (None, None, "at any time"),
        (
            FIFTH.replace(hour=6),
            FIFTH.replace(hour=12),
            "between 5 May 2026, 06:00 and 5 May 2026, 12:00",
        ),
    ],
)
def test_an_interval_is_formatted_in_plain_english(
    start: datetime | None, end: datetime | None, words: str
) -> None:
    assert format_interval(start, end) == words


@pytest.mark.usefixtures("berlin")
def test_a_utc_moment_is_formatted_in_local_time() -> None:
    assert format_interval(None, datetime(2026, 5, 1, 8, tzinfo=UTC)) == "before 1 May 2026, 10:00"
