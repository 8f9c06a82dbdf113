"""Background tasks and jobs: what runs beside requests, how far it is, and what fails."""

from typing import Literal

from fastapi import APIRouter

from everloop.background.health import TaskState
from everloop.background.jobs import State
from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.response import ResponseBody

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
    kind: Literal["import"]
    title: str
    state: State
    done: int
    total: int
    unit: str
    problem: str
    hint: str


class BackgroundOut(ResponseBody):
    """The tasks of this process, and the jobs of this log."""

    tasks: list[TaskOut]
    jobs: list[JobOut]


@router.get("/background")
def background(deps: Deps) -> BackgroundOut:
    """Health of background tasks, and progress of jobs."""
    return BackgroundOut(
        tasks=[TaskOut.model_validate(one) for one in deps.running.supervisor.health()],
        jobs=[JobOut.model_validate(one) for one in deps.running.imports.statuses()],
    )
