"""Decisions about schedules, watches and start rules. Only the user sets and removes them."""

from cronsim import CronSim, CronSimError

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.record import to_microseconds
from everloop.workers.automation.model import commands as c
from everloop.workers.automation.model import events as e
from everloop.workers.automation.model.events import Timing
from everloop.workers.automation.model.state import Schedule, StartRules, day_number
from everloop.workers.model.decide import check_spec

OWNER = "user"
RULES_MAX = 100
EXAMPLE = "Five fields: minute, hour, day of month, month, day of week, such as `0 9 * * mon`."


def set_schedule(
    known: Schedule | None, command: c.SetSchedule, asking: DecisionContext
) -> list[Event]:
    """Set a schedule; the same again changes nothing."""
    _require_owner(asking, "set a schedule")
    if known is not None:
        if (known.timing, known.spec, known.watch) == (command.timing, command.spec, command.watch):
            return []
        raise Conflict(f"schedule {command.schedule_id!r} exists", hint="Use a new id.")
    check_spec(command.spec)
    _check_timing(command.timing, asking)
    if command.watch and command.spec.runner != "command":
        raise Invalid("a watch runs a command", hint="Name a program after --command.")
    return [e.ScheduleSet(command.schedule_id, command.timing, command.spec, command.watch)]


def remove_schedule(
    known: Schedule | None, command: c.RemoveSchedule, asking: DecisionContext
) -> list[Event]:
    """Take a schedule back. What runs just now goes on."""
    _require_owner(asking, "remove a schedule")
    schedule = _require_schedule(known, command.schedule_id)
    return [] if schedule.removed else [e.ScheduleRemoved(command.schedule_id)]


def fire_schedule(
    known: Schedule | None, command: c.FireSchedule, _: DecisionContext
) -> list[Draft]:
    """Start its task, once for a due time, whichever process looks."""
    schedule = _require_schedule(known, command.schedule_id)
    if schedule.removed or command.due_us <= schedule.last_us:
        return []
    fired = e.ScheduleFired(
        command.schedule_id, command.due_us, command.task_id, max(0, command.missed)
    )
    return [Draft(fired, (schedule.position,))]


def skip_schedule(
    known: Schedule | None, command: c.SkipSchedule, _: DecisionContext
) -> list[Draft]:
    """Record that nothing was started, once for a due time."""
    schedule = _require_schedule(known, command.schedule_id)
    if schedule.removed or command.due_us <= schedule.last_us:
        return []
    skipped = e.ScheduleSkipped(command.schedule_id, command.due_us, command.missed, command.reason)
    return [Draft(skipped, (schedule.position,))]


def set_start_rule(
    known: StartRules | None, command: c.SetStartRule, asking: DecisionContext
) -> list[Event]:
    """Let certain proposals start without asking."""
    _require_owner(asking, "let tasks start without asking")
    rules = (known or StartRules()).rules
    rule = command.rule
    if rules.get(command.rule_id) == rule:
        return []
    if command.rule_id in rules or len(rules) >= RULES_MAX:
        raise Conflict(f"rule {command.rule_id!r} cannot be added", hint="Remove one first.")
    if rule.proposer in ("", "*", "user"):
        raise Invalid(
            f"{rule.proposer!r} does not name who may start tasks",
            hint="Name an agent or host as `everloop hosts` lists it, such as `agent:laptop`.",
        )
    if rule.per_day < 1:
        raise Invalid("a rule lets at least one task start per day", hint="Raise per_day.")
    return [e.StartRuleSet(command.rule_id, rule)]


def remove_start_rule(
    known: StartRules | None, command: c.RemoveStartRule, asking: DecisionContext
) -> list[Event]:
    """Take a start rule back."""
    _require_owner(asking, "remove a start rule")
    if command.rule_id not in (known or StartRules()).rules:
        raise NotFound(
            f"no start rule {command.rule_id!r}", hint="`everloop tasks rules` lists them."
        )
    return [e.StartRuleRemoved(command.rule_id)]


def apply_start_rule(
    known: StartRules | None, command: c.ApplyStartRule, asking: DecisionContext
) -> list[Draft]:
    """Start a task by a rule, or say why not; then the user is asked."""
    rules = known or StartRules()
    rule = rules.rules.get(command.rule_id)
    used = rules.used_on(command.rule_id, day_number(to_microseconds(asking.now)))
    happened: Event = e.StartRuleApplied(command.rule_id, command.task_id)
    if rule is None:
        reason = "the rule was removed"
        happened = e.StartRuleDeclined(command.rule_id, command.task_id, reason)
    elif used >= rule.per_day:
        reason = f"the rule has started {used} tasks today"
        happened = e.StartRuleDeclined(command.rule_id, command.task_id, reason)
    return [Draft(happened, command.because)]


def _check_timing(timing: Timing, asking: DecisionContext) -> None:
    if timing.kind != "cron":
        return
    try:
        CronSim(timing.text, asking.now)
    except CronSimError as problem:
        raise Invalid(
            f"{timing.text!r} is not a cron expression: {problem}", hint=EXAMPLE
        ) from None


def _require_schedule(known: Schedule | None, schedule_id: str) -> Schedule:
    if known is None:
        raise NotFound(f"no schedule {schedule_id!r}", hint="`everloop schedules` lists them.")
    return known


def _require_owner(asking: DecisionContext, act: str) -> None:
    if asking.by.actor != OWNER:
        raise Forbidden(
            f"only the user can {act}", hint="Do it at a terminal, or in the web pages."
        )
