"""Tables of schedules, of the tasks that they started, and of start rules."""

from typing import ClassVar

import apsw

from everloop.log import Fact, Projection, on
from everloop.workers.automation.model import events as e


class ScheduleTable(Projection):
    """Schedules, their runs, and start rules."""

    name = "worker_schedules"
    tables: ClassVar[tuple[str, ...]] = (
        "worker_schedules",
        "worker_schedule_removals",
        "worker_schedule_runs",
        "worker_start_rules",
        "worker_start_rule_removals",
    )
    schema = """
    CREATE TABLE worker_schedules (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        schedule_id TEXT NOT NULL,
        watch       INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX worker_schedules_id ON worker_schedules (schedule_id);
    CREATE TABLE worker_schedule_removals (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        schedule_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX worker_schedule_removals_id ON worker_schedule_removals (schedule_id);
    CREATE TABLE worker_schedule_runs (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        schedule_id TEXT NOT NULL,
        task_id     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX worker_schedule_runs_task ON worker_schedule_runs (task_id);
    CREATE INDEX worker_schedule_runs_schedule ON worker_schedule_runs (schedule_id, position);
    CREATE TABLE worker_start_rules (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        rule_id  TEXT NOT NULL,
        proposer TEXT NOT NULL,
        runner   TEXT NOT NULL,
        path     TEXT NOT NULL
    ) STRICT;
    CREATE TABLE worker_start_rule_removals (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        rule_id  TEXT NOT NULL
    ) STRICT;
    """

    @on(e.ScheduleSet)
    def _set(self, db: apsw.Connection, new: e.ScheduleSet, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.schedule_id, int(new.watch))
        db.execute("INSERT INTO worker_schedules VALUES (?, ?, ?, ?)", row)

    @on(e.ScheduleRemoved)
    def _removed(self, db: apsw.Connection, new: e.ScheduleRemoved, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.schedule_id)
        db.execute("INSERT INTO worker_schedule_removals VALUES (?, ?, ?)", row)

    @on(e.ScheduleFired)
    def _fired(self, db: apsw.Connection, new: e.ScheduleFired, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.schedule_id, new.task_id)
        db.execute("INSERT INTO worker_schedule_runs VALUES (?, ?, ?, ?)", row)

    @on(e.StartRuleSet)
    def _rule_set(self, db: apsw.Connection, new: e.StartRuleSet, fact: Fact) -> None:
        rule = new.rule
        row = (fact.position, fact.branch, new.rule_id, rule.proposer, rule.runner, rule.path)
        db.execute("INSERT INTO worker_start_rules VALUES (?, ?, ?, ?, ?, ?)", row)

    @on(e.StartRuleRemoved)
    def _rule_removed(self, db: apsw.Connection, new: e.StartRuleRemoved, fact: Fact) -> None:
        row = (fact.position, fact.branch, new.rule_id)
        db.execute("INSERT INTO worker_start_rule_removals VALUES (?, ?, ?)", row)
