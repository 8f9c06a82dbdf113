"""Routes for schedules, watches, and rules by which tasks start without asking."""

from datetime import datetime

from fastapi import APIRouter
from pydantic import BaseModel, Field

from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.tasks import NewTaskBody, task_spec
from everloop.interfaces.http.schemas.request import EMPTY_BODY, Body
from everloop.workers import MissedRule, ScheduleView, StartRule, Timing, TimingKind

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["tasks"])


class ScheduleOut(BaseModel):
    """A schedule. A watch tells only when its command begins or ceases to fail."""

    schedule_id: str
    title: str
    runner: str
    command: list[str]
    kind: TimingKind
    when: str
    zone: str
    missed: MissedRule
    watch: bool
    runs: int
    last_task: str
    next_at: datetime | None


class SchedulesOut(BaseModel):
    """All schedules, the oldest first."""

    schedules: list[ScheduleOut]


class NewScheduleBody(NewTaskBody):
    """A task with its times. `when` is a cron expression, or a date and time for `once`."""

    kind: TimingKind = "cron"
    when: str = Field(max_length=200)
    zone: str = Field(default="UTC", max_length=100)
    missed: MissedRule = "once"
    watch: bool = False


class StartRuleOut(BaseModel):
    """Whose tasks start without asking, with which runner, in which folder, how often a day."""

    rule_id: str
    proposer: str
    runner: str
    path: str
    per_day: int


class StartRulesOut(BaseModel):
    """All start rules."""

    rules: list[StartRuleOut]


class NewStartRuleBody(Body):
    """A start rule."""

    proposer: str = Field(max_length=200)
    runner: str = Field(default="claude", max_length=40)
    path: str = Field(default="", max_length=4_000)
    per_day: int = Field(default=10, ge=1, le=1_000)


@router.get("/schedules")
def list_schedules(deps: Deps) -> SchedulesOut:
    """Scheduled tasks and watches, with when each is due next."""
    found = deps.engine.automation.list_schedules()
    return SchedulesOut(schedules=[_out(one) for one in found])


@router.post("/schedules", status_code=201)
def set_schedule(body: NewScheduleBody, deps: Deps, actor: ActorDep) -> ScheduleOut:
    """Do a task at certain times."""
    spec = task_spec(body, deps.engine.workers.settings.limits)
    timing = Timing(body.kind, body.when, body.zone, body.missed)
    view = deps.engine.automation.set_schedule(
        timing, spec, actor, watch=body.watch, request_id=body.request_id
    )
    return _out(view)


@router.post("/schedules/{schedule_id}/remove", status_code=204)
def remove_schedule(schedule_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> None:
    """End a schedule or watch. A task that runs just now goes on."""
    del body
    deps.engine.automation.remove_schedule(schedule_id, actor)


@router.get("/start-rules")
def list_start_rules(deps: Deps) -> StartRulesOut:
    """Rules by which tasks start without asking."""
    return _rules(deps)


@router.post("/start-rules", status_code=201)
def set_start_rule(body: NewStartRuleBody, deps: Deps, actor: ActorDep) -> StartRulesOut:
    """Let an agent's tasks start without asking."""
    rule = StartRule(body.proposer, body.runner, body.path, body.per_day)
    deps.engine.automation.set_start_rule(rule, actor, body.request_id)
    return _rules(deps)


@router.post("/start-rules/{rule_id}/remove", status_code=204)
def remove_start_rule(rule_id: str, deps: Deps, actor: ActorDep, body: Body = EMPTY_BODY) -> None:
    """Remove a start rule."""
    del body
    deps.engine.automation.remove_start_rule(rule_id, actor)


def _rules(deps: Deps) -> StartRulesOut:
    found = deps.engine.automation.list_start_rules()
    return StartRulesOut(
        rules=[
            StartRuleOut(
                rule_id=name,
                proposer=one.proposer,
                runner=one.runner,
                path=one.path,
                per_day=one.per_day,
            )
            for name, one in found.items()
        ]
    )


def _out(view: ScheduleView) -> ScheduleOut:
    schedule, timing = view.schedule, view.schedule.timing
    return ScheduleOut(
        schedule_id=schedule.schedule_id,
        title=schedule.spec.title,
        runner=schedule.spec.runner,
        command=list(schedule.spec.command),
        kind=timing.kind,
        when=timing.text,
        zone=timing.zone,
        missed=timing.missed,
        watch=schedule.watch,
        runs=schedule.runs,
        last_task=schedule.last_task,
        next_at=view.next_at,
    )
