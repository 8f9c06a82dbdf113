"""State of schedules and start rules: pure folds of their events."""

import msgspec

from everloop.errors import Corrupt
from everloop.log import Fact, Fold
from everloop.workers.automation.model import events as e
from everloop.workers.automation.model.events import StartRule, Timing
from everloop.workers.model.spec import TaskSpec

START_RULES_STREAM = "start_rules"


class Schedule(msgspec.Struct, frozen=True):
    """A schedule. `last_us` is the due time that was dealt with last, at first when it was set."""

    schedule_id: str
    timing: Timing
    spec: TaskSpec
    watch: bool
    position: int
    last_us: int
    last_task: str = ""
    runs: int = 0
    removed: bool = False


def evolve_schedule(known: Schedule | None, fact: Fact) -> Schedule:
    """The schedule after a fact."""
    match fact.event:
        case e.ScheduleSet() as new:
            return Schedule(
                new.schedule_id, new.timing, new.spec, new.watch, fact.position, fact.recorded_us
            )
        case _ if known is None:
            raise Corrupt(f"{fact.event.wire} came before workers.schedule_set")
        case e.ScheduleFired() as new:
            return msgspec.structs.replace(
                known, last_us=new.due_us, last_task=new.task_id, runs=known.runs + 1
            )
        case e.ScheduleSkipped() as new:
            return msgspec.structs.replace(known, last_us=new.due_us)
        case e.ScheduleRemoved():
            return msgspec.structs.replace(known, removed=True)
        case _:
            return known


class StartRules(msgspec.Struct, frozen=True):
    """The start rules that hold, by id, and how often each was used on its last day (UTC)."""

    rules: dict[str, StartRule] = {}
    used: dict[str, tuple[int, int]] = {}

    def used_on(self, rule_id: str, day: int) -> int:
        """How often a rule was used on a day."""
        last, count = self.used.get(rule_id, (0, 0))
        return count if last == day else 0


def day_number(microseconds: int) -> int:
    """The day of a time (UTC)."""
    return microseconds // 86_400_000_000


def evolve_start_rules(known: StartRules | None, fact: Fact) -> StartRules:
    """The rules after a fact."""
    before = known or StartRules()
    rules, used = dict(before.rules), dict(before.used)
    match fact.event:
        case e.StartRuleSet() as new:
            rules[new.rule_id] = new.rule
        case e.StartRuleRemoved() as new:
            rules.pop(new.rule_id, None)
        case e.StartRuleApplied() as new:
            day = day_number(fact.recorded_us)
            used[new.rule_id] = (day, before.used_on(new.rule_id, day) + 1)
        case _:
            pass
    return StartRules(rules, used)


def schedule_stream(schedule_id: str) -> str:
    """The stream of a schedule."""
    return f"schedule:{schedule_id}"


SCHEDULE = Fold("workers.schedule", Schedule, evolve_schedule)
START_RULES = Fold("workers.start_rules", StartRules, evolve_start_rules)
