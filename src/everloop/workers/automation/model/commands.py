"""Commands of schedules, watches and start rules."""

from everloop.log import Command
from everloop.workers.automation.model.events import StartRule, Timing
from everloop.workers.model.spec import TaskSpec


class SetSchedule(Command, frozen=True):
    """Do a task at certain times. With `watch`, tell only about failures."""

    schedule_id: str
    timing: Timing
    spec: TaskSpec
    watch: bool = False


class RemoveSchedule(Command, frozen=True):
    """Take a schedule back."""

    schedule_id: str


class FireSchedule(Command, frozen=True):
    """Start the task of a schedule that is due. For one due time, once."""

    schedule_id: str
    due_us: int
    task_id: str
    missed: int = 0


class SkipSchedule(Command, frozen=True):
    """Record that a schedule was due and nothing is started."""

    schedule_id: str
    due_us: int
    missed: int
    reason: str


class SetStartRule(Command, frozen=True):
    """Let certain proposals start without asking."""

    rule_id: str
    rule: StartRule


class RemoveStartRule(Command, frozen=True):
    """Take a start rule back."""

    rule_id: str


class ApplyStartRule(Command, frozen=True):
    """Start a proposed task by a rule, if it still holds and was not used too often today."""

    rule_id: str
    task_id: str
    because: tuple[int, ...] = ()
