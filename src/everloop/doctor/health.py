"""Health of an open log and of the processes on it, with a next step for each problem.

`everloop doctor` and the page Health show the same findings: both ask here.
"""

from collections.abc import Iterable, Iterator, Sequence
from datetime import datetime, timedelta
from pathlib import Path
from typing import Literal

import msgspec

from everloop.app import Engine
from everloop.background.followers import SAVE_EVERY
from everloop.background.health import TaskHealth
from everloop.background.jobs import JobStatus
from everloop.errors import RunnerFailed
from everloop.log.maintenance.backup import list_backups
from everloop.log.opening import BACKUP_FOLDER
from everloop.thread.queries.turn_steps import recent_turn_steps
from everloop.turns.outcomes import TurnOutcomes, count_outcomes
from everloop.worlds import recent_world_turn_steps

Verdict = Literal["fine", "attention", "absent", "broken"]

LOW_BYTES = 1_073_741_824
MEASURED_EVERY_S = 600.0  # how old the sizes of tasks may be on the page Health
TOO_LOW_BYTES = 52_428_800
OLD_BACKUP = timedelta(days=7)
RECENT = timedelta(days=1)  # model errors older than this are history
STOPPED = "it was stopped"  # by a person; no failure of a model
NO_SERVER = "no server is running; tasks wait for one"
START = "everloop serve; or, to keep it running: everloop service install"


class Finding(msgspec.Struct, frozen=True):
    """The result of one check. `absent`: not installed or not set up, and not required."""

    topic: str
    verdict: Verdict
    words: str
    next_step: str = ""


class WaitingWork(msgspec.Struct, frozen=True):
    """The length of one queue. `for_you`: it waits for a person, not for Everloop."""

    name: str
    length: int
    for_you: bool = False


class HealthReport(msgspec.Struct, frozen=True):
    """Findings about a running server, and the lengths of its queues."""

    findings: tuple[Finding, ...]
    queues: tuple[WaitingWork, ...]

    @property
    def problems(self) -> int:
        """How many findings need somebody."""
        return sum(one.verdict in ("attention", "broken") for one in self.findings)


def check_running(
    engine: Engine, tasks: Sequence[TaskHealth], jobs: Sequence[JobStatus], free_bytes: int
) -> HealthReport:
    """Check a server that runs: its tasks, jobs, queues, backups, disk, and model errors."""
    outcomes = recent_outcomes(engine)
    findings = (
        *check_tasks(tasks),
        *check_jobs(jobs),
        *check_models(outcomes),
        *_check_backups_of(engine),
        *check_disk(free_bytes),
        *check_task_folders(engine, MEASURED_EVERY_S),
        *check_upkeep(engine),
    )
    return HealthReport(findings, tuple(queue_lengths(engine, outcomes, tasks, jobs)))


def check_tasks(tasks: Sequence[TaskHealth]) -> Iterator[Finding]:
    """Check background tasks, as the processes that run them publish their health."""
    if not tasks:
        yield Finding("background", "absent", NO_SERVER, START)
        return
    failing = [task for task in tasks if task.state == "failing"]
    for task in failing:
        words = f"{task.name}: {task.problem}"
        yield Finding("background", "attention", words, task.hint or "everloop serve")
    busy = [f"{task.name} {task.done:,} of {task.total:,}" for task in tasks if task.total]
    names = len({task.name for task in tasks if task.state in ("running", "standby")})
    words = f"{names} tasks run" + (f"; {', '.join(busy)}" if busy else "")
    if not failing:
        yield Finding("background", "fine", words)


def check_jobs(jobs: Sequence[JobStatus]) -> Iterator[Finding]:
    """Check jobs that somebody started, such as imports."""
    failed = [job for job in jobs if job.state == "failed"]
    for job in failed:
        words = f"{job.kind} of {job.title}: {job.problem or 'it failed'}"
        yield Finding("jobs", "attention", words, job.hint or "Start it again.")
    if not failed:
        running = sum(job.state in ("waiting", "running") for job in jobs)
        yield Finding("jobs", "fine", f"{running} running, none failed" if jobs else "none")


def check_models(outcomes: TurnOutcomes) -> Iterator[Finding]:
    """Check how answers of models went in the last day."""
    newest = outcomes.newest_failure
    if outcomes.uncertain:
        words = f"{_count(outcomes.uncertain, 'answer')} broke off with a server in the last 24 h"
        yield Finding("answers", "attention", words, "Ask again there if you still need them.")
    if newest is None:
        words = f"{_count(outcomes.answered, 'answer')} in the last 24 h, none failed"
        yield Finding("model errors", "fine", words)
        return
    failed = f"{_count(outcomes.failed, 'answer')} failed in the last 24 h"
    if outcomes.answered_since:
        yield Finding("model errors", "fine", f"{failed}; answers have come since")
        return
    step = newest.hint or "Check the model in the settings, then ask again."
    yield Finding("model errors", "attention", f"{failed}, last: {newest.reason}", step)


def check_backups(folder: Path, now: datetime) -> Iterator[Finding]:
    """Check how old the newest backup in a folder is."""
    found = list_backups(folder)
    if not found:
        yield Finding("backup", "attention", "none yet", "everloop backup")
        return
    age = now - found[0].made_at
    words = f"the newest of {len(found)} is {age_words(age)} old, at position {found[0].head:,}"
    if age > OLD_BACKUP:
        yield Finding("backup", "attention", words, "everloop backup")
    else:
        yield Finding("backup", "fine", words)


def check_disk(free_bytes: int) -> Iterator[Finding]:
    """Check the free space on the disk."""
    words = f"{size_words(free_bytes)} free"
    if free_bytes < TOO_LOW_BYTES:
        yield Finding("disk", "broken", words, "Free some disk space; writing will fail.")
    elif free_bytes < LOW_BYTES:
        step = "Free some disk space soon; backups need it too."
        yield Finding("disk", "attention", words, step)
    else:
        yield Finding("disk", "fine", words)


def check_task_folders(engine: Engine, max_age_s: float = 0.0) -> Iterator[Finding]:
    """Check what the folders of tasks take on the disk."""
    step = "everloop tasks storage"
    try:
        found = engine.workers.storage(max_age_s)
    except RunnerFailed as problem:
        yield Finding("task folders", "attention", str(problem), problem.hint)
        return
    if found:
        total, largest = sum(one.size for one in found), found[0]
        tasks = sum(bool(one.task_id) for one in found)
        words = f"{size_words(total)} of {_count(tasks, 'task')}"
        named = f"; most, {size_words(largest.size)}: {largest.title}" if largest.title else ""
        yield Finding("task folders", "fine", words + named, step)


def check_upkeep(engine: Engine) -> Iterator[Finding]:
    """Check what the log does for itself: backups, snapshots, checkpoints."""
    for trouble in engine.log.problems:
        yield Finding("log upkeep", "attention", str(trouble), trouble.hint)


def recent_outcomes(engine: Engine) -> TurnOutcomes:
    """How turns of threads and worlds went in the last day."""
    since_us = engine.ports.clock.now_us() - RECENT // timedelta(microseconds=1)
    with engine.reading() as reader:
        steps = [*recent_turn_steps(reader, since_us), *recent_world_turn_steps(reader, since_us)]
    return count_outcomes(
        msgspec.structs.replace(one, phase="stopped") if one.reason == STOPPED else one
        for one in steps
    )


def queue_lengths(
    engine: Engine, outcomes: TurnOutcomes, tasks: Iterable[TaskHealth], jobs: Iterable[JobStatus]
) -> Iterator[WaitingWork]:
    """What waits, by queue."""
    board, inbox = engine.workers.board(ended_limit=0), engine.inbox.count()
    yield WaitingWork("answers", outcomes.waiting)
    yield WaitingWork("workers", len(board.active))
    yield WaitingWork("jobs", sum(job.state in ("waiting", "running") for job in jobs))
    behind = engine.log.head - engine.followers.checkpoint()
    yield WaitingWork("reactions", behind if behind > SAVE_EVERY else 0)  # saved now and then
    for task in tasks:
        if task.total:
            yield WaitingWork(task.name, max(0, task.total - task.done))
    yield WaitingWork("inbox", inbox.waiting, for_you=True)
    yield WaitingWork("reviews", len(board.review) + len(board.proposed), for_you=True)


def size_words(count: int) -> str:
    """A number of bytes as a person reads it."""
    for unit in ("bytes", "KB", "MB", "GB"):
        if count < 1024:
            return f"{count:,.0f} {unit}"
        count //= 1024
    return f"{count:,.0f} TB"


def age_words(passed: timedelta) -> str:
    """A stretch of time as a person reads it."""
    if passed < timedelta(minutes=1):
        return "less than a minute"
    if passed < timedelta(hours=1):
        return f"{passed // timedelta(minutes=1)} min"
    if passed < timedelta(days=2):
        return f"{passed // timedelta(hours=1)} h"
    return f"{passed.days} days"


def _check_backups_of(engine: Engine) -> Iterator[Finding]:
    """Check the backups of a log that is a local file; a database server has its own."""
    if engine.log.backups is None:
        words = "the log is in PostgreSQL; back that up with its own tools"
        yield Finding("backup", "absent", words)
    else:
        folder = engine.log.file.path.parent / BACKUP_FOLDER
        yield from check_backups(folder, engine.ports.clock.now())


def _count(number: int, noun: str) -> str:
    return f"{number:,} {noun}" + ("" if number == 1 else "s")
