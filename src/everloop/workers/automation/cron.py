"""When a schedule is due: cron expressions over changes of the clock, and single times."""

from collections.abc import Iterator
from datetime import UTC, datetime
from itertools import islice, takewhile
from typing import NamedTuple
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from cronsim import CronSim

from everloop.errors import Invalid
from everloop.workers.automation.model.events import Timing

COUNTED = 1_000  # missed runs beyond it are not counted


class Due(NamedTuple):
    """The newest time at which a schedule was due, and how many came before it."""

    at: datetime
    earlier: int


def check_timing(timing: Timing) -> None:
    """Check zone and date of a schedule.

    Raises:
        Invalid: there is no such zone or date.
    """
    zone_of(timing)
    if timing.kind == "once":
        _single(timing)


def zone_of(timing: Timing) -> ZoneInfo:
    """The time zone of a schedule.

    Raises:
        Invalid: there is no such zone.
    """
    try:
        return ZoneInfo(timing.zone)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        raise Invalid(
            f"no time zone {timing.zone!r}", hint="Use a name such as Europe/Berlin or UTC."
        ) from None


def next_run(timing: Timing, after: datetime) -> datetime | None:
    """The first time after another at which a schedule is due; none if there is none."""
    return next(_runs(timing, after), None)


def due_run(timing: Timing, after: datetime, now: datetime) -> Due | None:
    """The newest time since `after` that has come, with how many came before; none if none has."""
    come = list(islice(takewhile(lambda one: one <= now, _runs(timing, after)), COUNTED + 1))
    return Due(come[-1], len(come) - 1) if come else None


def _runs(timing: Timing, after: datetime) -> Iterator[datetime]:
    if timing.kind == "once":
        due = _single(timing)
        return iter((due,) if due > after else ())
    local = after.astimezone(zone_of(timing))
    return (one.astimezone(UTC) for one in CronSim(timing.text, local))


def _single(timing: Timing) -> datetime:
    try:
        due = datetime.fromisoformat(timing.text)
    except ValueError:
        raise Invalid(
            f"{timing.text!r} is not a date and time", hint="Write it as 2026-12-01 09:00."
        ) from None
    local = due if due.tzinfo else due.replace(tzinfo=zone_of(timing))
    return local.astimezone(UTC)
