"""When schedules are due, also when clocks change."""

from datetime import UTC, datetime

import pytest

from everloop.errors import Invalid
from everloop.workers.automation.cron import check_timing, due_run, next_run
from everloop.workers.automation.model.events import Timing

BERLIN = "Europe/Berlin"


def at(text: str) -> datetime:
    """A time in UTC."""
    return datetime.fromisoformat(text).replace(tzinfo=UTC)


def test_a_cron_expression_is_read_in_its_time_zone() -> None:
    daily = Timing("cron", "0 9 * * mon", BERLIN)
    assert next_run(daily, at("2026-11-18 00:00")) == at("2026-11-23 08:00")
    assert next_run(daily, at("2026-07-01 00:00")) == at("2026-07-06 07:00")


def test_an_hour_that_is_left_out_runs_once_and_one_that_comes_twice_runs_once() -> None:
    nightly = Timing("cron", "30 2 * * *", BERLIN)
    spring = due_run(nightly, at("2026-03-28 12:00"), at("2026-03-29 12:00"))
    autumn = due_run(nightly, at("2026-10-24 12:00"), at("2026-10-25 12:00"))
    assert spring is not None
    assert autumn is not None
    assert (spring.earlier, autumn.earlier) == (0, 0)


def test_missed_runs_are_counted_and_only_the_newest_is_due() -> None:
    hourly = Timing("cron", "0 * * * *")
    due = due_run(hourly, at("2026-11-18 00:30"), at("2026-11-18 05:30"))
    assert due is not None
    assert (due.at, due.earlier) == (at("2026-11-18 05:00"), 4)
    assert due_run(hourly, at("2026-11-18 00:30"), at("2026-11-18 00:59")) is None


def test_a_single_time_is_due_once() -> None:
    once = Timing("once", "2026-12-01 09:00", BERLIN)
    assert next_run(once, at("2026-11-18 00:00")) == at("2026-12-01 08:00")
    assert next_run(once, at("2026-12-01 08:00")) is None


@pytest.mark.parametrize(
    "timing", [Timing("cron", "* * * * *", "Mars/Olympus"), Timing("once", "tomorrow")]
)
def test_a_zone_or_date_that_is_none_is_refused(timing: Timing) -> None:
    with pytest.raises(Invalid):
        check_timing(timing)
