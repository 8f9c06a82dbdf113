"""Schedules, watches and start rules, as the engine knows them."""

from typing import Any

from everloop.domain import Domain
from everloop.log import Decider
from everloop.workers.automation.model import commands as c
from everloop.workers.automation.model import decide as d
from everloop.workers.automation.model.state import (
    SCHEDULE,
    START_RULES,
    START_RULES_STREAM,
    schedule_stream,
)
from everloop.workers.automation.policies import AUTOMATION_POLICIES
from everloop.workers.automation.projection import ScheduleTable


def _schedule(
    command: c.SetSchedule | c.RemoveSchedule | c.FireSchedule | c.SkipSchedule,
) -> str:
    return schedule_stream(command.schedule_id)


def _rules(_: c.SetStartRule | c.RemoveStartRule | c.ApplyStartRule) -> str:
    return START_RULES_STREAM


AUTOMATION_DECIDERS: tuple[Decider[Any, Any], ...] = (
    Decider(c.SetSchedule, _schedule, SCHEDULE, d.set_schedule),
    Decider(c.RemoveSchedule, _schedule, SCHEDULE, d.remove_schedule),
    Decider(c.FireSchedule, _schedule, SCHEDULE, d.fire_schedule),
    Decider(c.SkipSchedule, _schedule, SCHEDULE, d.skip_schedule),
    Decider(c.SetStartRule, _rules, START_RULES, d.set_start_rule),
    Decider(c.RemoveStartRule, _rules, START_RULES, d.remove_start_rule),
    Decider(c.ApplyStartRule, _rules, START_RULES, d.apply_start_rule),
)
AUTOMATION = Domain("automation", AUTOMATION_DECIDERS, (ScheduleTable,), AUTOMATION_POLICIES)
