"""The task that looks which schedules are due, and starts their tasks.

One process of all that have the log open does it. What came while none ran is decided by the rule
of each schedule. A run whose task has not ended yet is not started a second time.
"""

from everloop.background.task import BackgroundTask
from everloop.log import CommandBus, Context, Log
from everloop.log.model.record import from_microseconds, to_microseconds
from everloop.log.ownership import Claim
from everloop.ports import Clock
from everloop.workers.automation.cron import Due, due_run
from everloop.workers.automation.model import commands as c
from everloop.workers.automation.model.state import SCHEDULE, Schedule, schedule_stream
from everloop.workers.automation.queries import active_schedule_ids
from everloop.workers.model.state import TASK, task_stream

ENGINE = Context(actor="engine")
LOOK_S = 1.0


class ScheduleTask(BackgroundTask):
    """Starts what is due."""

    def __init__(self, log: Log, bus: CommandBus, clock: Clock, grace_s: int) -> None:
        super().__init__(log, "schedules", self._work, claim="workers.schedules")
        self._bus, self._clock, self._grace_us = bus, clock, grace_s * 1_000_000

    def tick(self) -> None:
        """Look once at every schedule."""
        with self._log.reading() as reader:
            names = active_schedule_ids(reader)
        for name in names:
            schedule = self._log.state(SCHEDULE, schedule_stream(name))
            if schedule is not None and not schedule.removed:
                self._look(schedule)

    def _work(self, claim: Claim) -> None:
        while claim.held and not self.over:
            self.tick()
            self.stopping.wait(LOOK_S)

    def _look(self, schedule: Schedule) -> None:
        now = self._clock.now()
        due = due_run(schedule.timing, from_microseconds(schedule.last_us), now)
        if due is None:
            return
        due_us = to_microseconds(due.at)
        late = to_microseconds(now) - due_us > self._grace_us
        if late and schedule.timing.missed == "skip":
            self._skip(schedule, due_us, due, "nothing ran at that time")
        elif self._is_open(schedule.last_task):
            self._skip(schedule, due_us, due, f"task {schedule.last_task} has not ended yet")
        else:
            name = f"{schedule.schedule_id}-{due_us // 1_000_000}"
            fire = c.FireSchedule(schedule.schedule_id, due_us, name, due.earlier)
            self._bus.do(fire, by=ENGINE)

    def _skip(self, schedule: Schedule, due_us: int, due: Due, reason: str) -> None:
        skip = c.SkipSchedule(schedule.schedule_id, due_us, due.earlier + 1, reason)
        self._bus.do(skip, by=ENGINE)

    def _is_open(self, task_id: str) -> bool:
        task = self._log.state(TASK, task_stream(task_id)) if task_id else None
        return task is not None and not task.ended
