"""How schedules and start rules start tasks. Pure questions to the views.

The engine starts what the user ordered: each start names the schedule or rule, and the fact of it.
"""

from everloop.domain import Policy
from everloop.log import Fact, Reader
from everloop.log.model.record import fact_of
from everloop.workers.automation.model import events as e
from everloop.workers.automation.model.commands import ApplyStartRule
from everloop.workers.automation.queries import matching_start_rule
from everloop.workers.model.commands import ProposeTask, StartTask
from everloop.workers.model.events import TaskProposed

_SET = "SELECT position FROM worker_schedules WHERE schedule_id = ?"


def when_schedule_fired_start_its_task(reader: Reader, fact: Fact) -> list[ProposeTask]:
    """Start the task of a schedule that was due."""
    fired = fact.event
    assert isinstance(fired, e.ScheduleFired)
    rows = reader.rows(_SET, (fired.schedule_id,))
    ordered = fact_of(reader.record(rows[0][0])).event if rows else None
    if not isinstance(ordered, e.ScheduleSet):
        return []
    name = fired.schedule_id
    because = (fact.position,)
    return [ProposeTask(fired.task_id, ordered.spec, True, because, by_schedule=name)]


def when_task_proposed_apply_a_rule(reader: Reader, fact: Fact) -> list[ApplyStartRule]:
    """Start a proposal that a rule of the user lets start."""
    proposed = fact.event
    assert isinstance(proposed, TaskProposed)
    if fact.actor in ("user", "engine"):
        return []
    rule_id = matching_start_rule(reader, fact.actor, proposed.spec)
    return [ApplyStartRule(rule_id, proposed.task_id, (fact.position,))] if rule_id else []


def when_rule_applied_start_the_task(reader: Reader, fact: Fact) -> list[StartTask]:
    """Start the task."""
    del reader
    applied = fact.event
    assert isinstance(applied, e.StartRuleApplied)
    return [StartTask(applied.task_id, by_rule=applied.rule_id, because=(fact.position,))]


AUTOMATION_POLICIES: tuple[Policy, ...] = (
    Policy("start-scheduled", e.ScheduleFired, ProposeTask, when_schedule_fired_start_its_task),
    Policy("apply-start-rule", TaskProposed, ApplyStartRule, when_task_proposed_apply_a_rule),
    Policy("start-by-rule", e.StartRuleApplied, StartTask, when_rule_applied_start_the_task),
)
