"""Events of schedules, watches and start rules."""

from typing import Literal

import msgspec

from everloop.log import Event, event
from everloop.workers.model.spec import TaskSpec

MissedRule = Literal["once", "skip"]
TimingKind = Literal["cron", "once"]


class Timing(msgspec.Struct, frozen=True):
    """When a schedule is due. `cron`: `text` is a cron expression; `once`: a local date and time.

    `missed` decides about runs that came while nothing ran: one for all of them, or none.
    """

    kind: TimingKind
    text: str
    zone: str = "UTC"
    missed: MissedRule = "once"


class StartRule(msgspec.Struct, frozen=True):
    """Which proposals start without asking: of whom, with which runner, in which folder.

    Without a `path` only tasks in an empty folder of their own. Tasks that want the network, or no
    sandbox, always ask.
    """

    proposer: str
    runner: str = "claude"
    path: str = ""
    per_day: int = 10


@event("workers.schedule_set")
class ScheduleSet(Event, frozen=True):
    """The user wants a task done at certain times. A watch tells only about failures."""

    schedule_id: str
    timing: Timing
    spec: TaskSpec
    watch: bool


@event("workers.schedule_removed")
class ScheduleRemoved(Event, frozen=True):
    """The user took a schedule back."""

    schedule_id: str


@event("workers.schedule_fired")
class ScheduleFired(Event, frozen=True):
    """A schedule was due, and its task starts. `missed` runs before it are not made up for."""

    schedule_id: str
    due_us: int
    task_id: str
    missed: int


@event("workers.schedule_skipped")
class ScheduleSkipped(Event, frozen=True):
    """A schedule was due and nothing was started; `missed` says how often."""

    schedule_id: str
    due_us: int
    missed: int
    reason: str


@event("workers.start_rule_set")
class StartRuleSet(Event, frozen=True):
    """The user lets certain proposals start without asking."""

    rule_id: str
    rule: StartRule


@event("workers.start_rule_removed")
class StartRuleRemoved(Event, frozen=True):
    """The user took a start rule back."""

    rule_id: str


@event("workers.start_rule_applied")
class StartRuleApplied(Event, frozen=True):
    """A proposed task starts by a rule of the user."""

    rule_id: str
    task_id: str


@event("workers.start_rule_declined")
class StartRuleDeclined(Event, frozen=True):
    """A rule matched and did not start the task, so the user is asked."""

    rule_id: str
    task_id: str
    reason: str
