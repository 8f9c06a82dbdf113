"""Automation service, called by every interface: schedules, watches and start rules."""

from datetime import datetime

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import CommandBus, Context, Log
from everloop.log.idempotency import id_for_request
from everloop.log.model.record import from_microseconds
from everloop.ports import Clock
from everloop.workers.automation.cron import check_timing, next_run
from everloop.workers.automation.model import commands as c
from everloop.workers.automation.model.events import StartRule, Timing
from everloop.workers.automation.model.state import (
    SCHEDULE,
    START_RULES,
    START_RULES_STREAM,
    Schedule,
    schedule_stream,
)
from everloop.workers.automation.queries import active_schedule_ids
from everloop.workers.model.spec import TaskSpec


class ScheduleView(msgspec.Struct, frozen=True):
    """A schedule with the next time at which it is due; none if there is none."""

    schedule: Schedule
    next_at: datetime | None


class AutomationService:
    """The schedules and start rules of one log."""

    def __init__(self, log: Log, bus: CommandBus, clock: Clock) -> None:
        self._log, self._bus, self._clock = log, bus, clock

    def set_schedule(
        self,
        timing: Timing,
        spec: TaskSpec,
        by: Context,
        *,
        watch: bool = False,
        request_id: str = "",
    ) -> ScheduleView:
        """Do a task at certain times; with `watch`, tell only about failures.

        Raises:
            Invalid: the expression, date or time zone is not one, or the date has passed.
        """
        check_timing(timing)
        schedule_id = id_for_request(self._log.ids, "sch", request_id)
        known = self._log.state(SCHEDULE, schedule_stream(schedule_id))
        if known is None and timing.kind == "once" and not next_run(timing, self._clock.now()):
            raise Invalid(f"{timing.text!r} has passed", hint="Choose a later time.")
        key = f"set-schedule-{request_id}" if request_id else None
        self._bus.do(c.SetSchedule(schedule_id, timing, spec, watch), by=by, request_id=key)
        return self.find_schedule(schedule_id)

    def remove_schedule(self, schedule_id: str, by: Context) -> None:
        """Take a schedule back."""
        self._bus.do(c.RemoveSchedule(schedule_id), by=by)

    def find_schedule(self, schedule_id: str) -> ScheduleView:
        """One schedule.

        Raises:
            NotFound: there is none.
        """
        found = self._log.state(SCHEDULE, schedule_stream(schedule_id))
        if found is None or found.removed:
            raise NotFound(f"no schedule {schedule_id!r}", hint="`everloop schedules` lists them.")
        after = max(from_microseconds(found.last_us), self._clock.now())
        return ScheduleView(found, next_run(found.timing, after))

    def list_schedules(self) -> list[ScheduleView]:
        """The schedules that hold, the oldest first."""
        with self._log.reading() as reader:
            names = active_schedule_ids(reader)
        return [self.find_schedule(name) for name in names]

    def set_start_rule(self, rule: StartRule, by: Context, request_id: str = "") -> str:
        """Let certain proposals start without asking; returns the id of the rule."""
        rule_id = id_for_request(self._log.ids, "rul", request_id)
        key = f"set-start-rule-{request_id}" if request_id else None
        self._bus.do(c.SetStartRule(rule_id, rule), by=by, request_id=key)
        return rule_id

    def remove_start_rule(self, rule_id: str, by: Context) -> None:
        """Take a start rule back."""
        self._bus.do(c.RemoveStartRule(rule_id), by=by)

    def list_start_rules(self) -> dict[str, StartRule]:
        """The start rules that hold, by id."""
        known = self._log.state(START_RULES, START_RULES_STREAM)
        return known.rules if known else {}
