"""Decisions about schedules and start rules, given earlier facts."""

import pytest

from everloop.errors import Conflict, Forbidden, Invalid, NotFound
from everloop.log import Command, Context, DecisionContext, Event
from everloop.log.model.record import to_microseconds
from everloop.testing.deterministic import NEW_YEAR, given
from everloop.workers.automation.domain import AUTOMATION_DECIDERS
from everloop.workers.automation.model import commands as c
from everloop.workers.automation.model import decide as d
from everloop.workers.automation.model import events as e
from everloop.workers.automation.model.events import StartRule, Timing
from everloop.workers.automation.model.state import SCHEDULE, START_RULES, StartRules
from everloop.workers.model.spec import TaskSpec

LIST = TaskSpec("List", command=("ls",))
DAILY = Timing("cron", "0 9 * * *", "Europe/Berlin")
SET = e.ScheduleSet("s1", DAILY, LIST, watch=False)
RULE = StartRule("agent:x", per_day=2)
LATER = to_microseconds(NEW_YEAR) + 10_000_000
USER = DecisionContext(by=Context(actor="user"), now=NEW_YEAR, known=None)
AGENT = DecisionContext(by=Context(actor="agent:x"), now=NEW_YEAR, known=None)


def rules(*events: Event) -> StartRules | None:
    """The start rules after these events."""
    return given(START_RULES, *events).state


def test_every_command_of_automation_is_decided_once() -> None:
    known = {
        value
        for value in vars(c).values()
        if isinstance(value, type) and issubclass(value, Command) and value is not Command
    }
    assert {decider.command for decider in AUTOMATION_DECIDERS} == known


def test_the_user_sets_a_schedule_and_the_same_again_changes_nothing() -> None:
    command = c.SetSchedule("s1", DAILY, LIST)
    assert d.set_schedule(None, command, USER) == [SET]
    known = given(SCHEDULE, SET).state
    assert d.set_schedule(known, command, USER) == []
    with pytest.raises(Conflict):
        d.set_schedule(known, c.SetSchedule("s1", DAILY, LIST, watch=True), USER)


@pytest.mark.promise("P-WORK-1")
def test_an_agent_sets_no_schedule_and_no_start_rule() -> None:
    with pytest.raises(Forbidden):
        d.set_schedule(None, c.SetSchedule("s1", DAILY, LIST), AGENT)
    with pytest.raises(Forbidden):
        d.remove_schedule(given(SCHEDULE, SET).state, c.RemoveSchedule("s1"), AGENT)
    with pytest.raises(Forbidden):
        d.set_start_rule(None, c.SetStartRule("r1", RULE), AGENT)
    with pytest.raises(Forbidden):
        d.remove_start_rule(rules(e.StartRuleSet("r1", RULE)), c.RemoveStartRule("r1"), AGENT)


def test_what_is_no_schedule_is_refused_with_an_example() -> None:
    with pytest.raises(Invalid) as refused:
        d.set_schedule(None, c.SetSchedule("s1", Timing("cron", "every day"), LIST), USER)
    assert "0 9 * * mon" in refused.value.hint
    agent = TaskSpec("Look", "Look at it.", "claude")
    with pytest.raises(Invalid):
        d.set_schedule(None, c.SetSchedule("s1", DAILY, agent, watch=True), USER)
    with pytest.raises(NotFound):
        d.remove_schedule(None, c.RemoveSchedule("s1"), USER)


def test_a_due_time_fires_once_whichever_process_looks() -> None:
    known = given(SCHEDULE, SET).state
    fire = c.FireSchedule("s1", LATER, "s1-1")
    (draft,) = d.fire_schedule(known, fire, USER)
    fired = given(SCHEDULE, SET, draft.event).state
    assert d.fire_schedule(fired, fire, USER) == []
    assert d.skip_schedule(fired, c.SkipSchedule("s1", LATER, 1, "late"), USER) == []


def test_a_removed_schedule_does_not_fire() -> None:
    removed = given(SCHEDULE, SET, e.ScheduleRemoved("s1")).state
    assert d.fire_schedule(removed, c.FireSchedule("s1", LATER, "s1-1"), USER) == []
    assert d.remove_schedule(removed, c.RemoveSchedule("s1"), USER) == []


def test_a_rule_starts_as_many_tasks_a_day_as_it_says() -> None:
    facts: list[Event] = [e.StartRuleSet("r1", RULE)]
    for name in ("t1", "t2", "t3"):
        (draft,) = d.apply_start_rule(rules(*facts), c.ApplyStartRule("r1", name), USER)
        facts.append(draft.event)
    assert [type(one).__name__ for one in facts[1:]] == [
        "StartRuleApplied", "StartRuleApplied", "StartRuleDeclined"
    ]  # fmt: skip


def test_a_rule_that_was_removed_starts_nothing() -> None:
    gone = rules(e.StartRuleSet("r1", RULE), e.StartRuleRemoved("r1"))
    (draft,) = d.apply_start_rule(gone, c.ApplyStartRule("r1", "t1"), USER)
    assert isinstance(draft.event, e.StartRuleDeclined)


@pytest.mark.parametrize("proposer", ["", "*", "user"])
def test_a_start_rule_names_one_agent(proposer: str) -> None:
    with pytest.raises(Invalid):
        d.set_start_rule(None, c.SetStartRule("r1", StartRule(proposer)), USER)
