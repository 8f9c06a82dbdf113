"""Every form of a date that SillyTavern has written is read."""

from datetime import UTC, datetime

import pytest

from everloop.worlds.exchange.formats.chat_dates import parse_send_date


@pytest.mark.parametrize(
    ("written", "wanted"),
    [
        ("2024-07-12T01:31:37.123Z", datetime(2024, 7, 12, 1, 31, 37, 123_000, UTC)),
        ("2024-07-12T03:31:37+02:00", datetime(2024, 7, 12, 1, 31, 37, 0, UTC)),
        (1_720_747_897_123, datetime(2024, 7, 12, 1, 31, 37, 123_000, UTC)),
        ("1720747897123", datetime(2024, 7, 12, 1, 31, 37, 123_000, UTC)),
        (1_720_747_897, datetime(2024, 7, 12, 1, 31, 37, 0, UTC)),
        ("June 19, 2023 2:20pm", datetime(2023, 6, 19, 14, 20, 0, 0, UTC)),
        ("June 19, 2023 12:05am", datetime(2023, 6, 19, 0, 5, 0, 0, UTC)),
        ("2024-07-12@01h31m37s123ms", datetime(2024, 7, 12, 1, 31, 37, 123_000, UTC)),
        ("2024-07-12@01h31m37s", datetime(2024, 7, 12, 1, 31, 37, 0, UTC)),
        ("2024-6-5 @14h 56m 50s 682ms", datetime(2024, 6, 5, 14, 56, 50, 682_000, UTC)),
        ("yesterday", None),
        ("2024-13-45@01h31m37s", None),
        (1e300, None),
        (True, None),
        (None, None),
    ],
)
def test_a_date_is_read(written: object, wanted: datetime | None) -> None:
    assert parse_send_date(written) == wanted
