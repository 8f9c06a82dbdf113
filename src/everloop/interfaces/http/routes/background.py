"""Background tasks and jobs, and the health of the whole: what runs, waits and fails."""

from typing import Literal

from fastapi import APIRouter

from everloop.adapters import SystemMachine
from everloop.background import JobState, JobStatus, TaskState
from everloop.doctor import Verdict, check_running
from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.services import Services

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["background"])


class TaskOut(ResponseBody):
    """A background task. `standby`: another process does this work. `total` 0: nothing to count."""

    name: str
    state: TaskState
    problem: str
    hint: str
    done: int
    total: int


class JobOut(ResponseBody):
    """A job that somebody started. `done` of `total` is counted in `unit`."""

    job_id: str
    kind: Literal["import", "world-import"]
    title: str
    state: JobState
    done: int
    total: int
    unit: str
    problem: str
    hint: str


class BackgroundOut(ResponseBody):
    """The tasks of this process, and the jobs of this log."""

    tasks: list[TaskOut]
    jobs: list[JobOut]


class FindingOut(ResponseBody):
    """One check. `attention` and `broken` need somebody: `next_step` says what to do."""

    topic: str
    verdict: Verdict
    words: str
    next_step: str


class QueueOut(ResponseBody):
    """The length of a queue. `for_you`: it waits for a person, not for Everloop."""

    name: str
    length: int
    for_you: bool


class HealthReportOut(ResponseBody):
    """How this installation is: the same findings as `everloop doctor`, and what waits."""

    problems: int
    findings: list[FindingOut]
    queues: list[QueueOut]


@router.get("/background")
def background(deps: Deps) -> BackgroundOut:
    """Health of background tasks, and progress of jobs."""
    return BackgroundOut(
        tasks=[TaskOut.model_validate(one) for one in deps.running.supervisor.health()],
        jobs=[JobOut.model_validate(one) for one in _jobs(deps.running)],
    )


@router.get("/health/report")
def health_report(deps: Deps) -> HealthReportOut:
    """Tasks, jobs, queue lengths, last backup, disk and model errors, with next steps."""
    running = deps.running
    free = SystemMachine().free_bytes(running.settings.folder)
    tasks = running.supervisor.health()
    return HealthReportOut.model_validate(check_running(deps.engine, tasks, _jobs(running), free))


def _jobs(running: Services) -> list[JobStatus]:
    queues = (running.imports, running.world_imports)
    return [one for queue in queues for one in queue.statuses()]
