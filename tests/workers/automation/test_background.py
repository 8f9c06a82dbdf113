"""Schedules, watches and start rules at work, with real commands."""

from collections.abc import Generator
from datetime import timedelta
from pathlib import Path

import msgspec
import pytest
from tests.workers.rig import Rig, rig

from everloop.app import USER
from everloop.errors import Invalid
from everloop.log import Context
from everloop.workers import Grants, ScheduleTask, StartRule, TaskSpec, Timing, Workspace

AGENT = Context(actor="agent:x")
MINUTELY = Timing("cron", "* * * * *")


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path) as one:
        yield one


def schedule(work: Rig, timing: Timing, *argv: str, watch: bool = False) -> str:
    """Set a schedule of a command."""
    spec = TaskSpec("Now and then", command=argv, grants=Grants(sandbox="off"))
    view = work.engine.automation.set_schedule(timing, spec, USER, watch=watch)
    return view.schedule.schedule_id


def look(work: Rig) -> str:
    """Look for what is due, as a process that has just started; the task that runs, to its end."""
    clock = work.stage.clock
    ScheduleTask(work.engine.log, work.engine, clock, grace_s=60).tick()
    board = work.engine.workers.board()
    if not board.active:
        return ""
    name = board.active[0].task.task_id
    work.until(name, "done", "failed", "uncertain")
    return name


def test_a_schedule_starts_its_task_at_each_due_time_once(work: Rig, tmp_path: Path) -> None:
    count = tmp_path / "count"
    schedule(work, MINUTELY, "sh", "-c", f"echo x >> {count}")
    assert look(work) == ""
    for _ in range(2):
        work.stage.clock.tick(minutes=1)
        assert look(work)
        assert look(work) == ""
    assert count.read_text() == "x\nx\n"
    assert work.engine.automation.list_schedules()[0].schedule.runs == 2


def test_a_date_that_is_over_is_refused_and_the_same_request_later_is_not(work: Rig) -> None:
    past, soon = Timing("once", "2001-01-01 09:00"), work.stage.clock.now() + timedelta(hours=1)
    with pytest.raises(Invalid, match="has passed"):
        schedule(work, past, "true")
    service, spec = work.engine.automation, TaskSpec("Once", command=("true",))
    timing = Timing("once", soon.isoformat())
    first = service.set_schedule(timing, spec, USER, request_id="r1")
    work.stage.clock.tick(hours=2)
    assert service.set_schedule(timing, spec, USER, request_id="r1").schedule == first.schedule


@pytest.mark.parametrize(("missed", "runs"), [("once", 1), ("skip", 0)])
def test_runs_that_were_missed_are_decided_by_the_rule(work: Rig, missed: str, runs: int) -> None:
    timing = msgspec.structs.replace(Timing("cron", "0 * * * *"), missed=missed)
    schedule(work, timing, "true")
    work.stage.clock.tick(hours=5, minutes=30)
    assert bool(look(work)) is bool(runs)
    assert look(work) == ""
    (view,) = work.engine.automation.list_schedules()
    assert view.schedule.runs == runs
    assert view.next_at is not None
    assert view.next_at > work.stage.clock.now()


def test_a_run_that_has_not_ended_is_not_started_again_and_does_not_wedge_the_schedule(
    work: Rig, tmp_path: Path
) -> None:
    go = tmp_path / "go"
    schedule(work, MINUTELY, "sh", "-c", f"while [ ! -e {go} ]; do sleep 0.02; done")
    looking = ScheduleTask(work.engine.log, work.engine, work.stage.clock, grace_s=60)
    work.stage.clock.tick(minutes=1)
    looking.tick()
    work.stage.clock.tick(minutes=1)
    looking.tick()
    (first,) = work.engine.workers.board().active
    go.touch()
    work.until(first.task.task_id, "done")
    work.stage.clock.tick(minutes=1)
    assert look(work)
    kinds = [record.kind for record in work.engine.log.records()]
    assert kinds.count("workers.schedule_skipped") == 1


def test_a_watch_tells_when_it_begins_to_fail_and_when_it_no_longer_does(
    work: Rig, tmp_path: Path
) -> None:
    broken = tmp_path / "broken"
    schedule(work, MINUTELY, "sh", "-c", f"test ! -e {broken}", watch=True)
    told: list[int] = []
    for is_broken in (False, False, True, True, True, False, False):
        broken.touch() if is_broken else broken.unlink(missing_ok=True)
        work.stage.clock.tick(minutes=1)
        assert look(work)
        told.append(len(work.waiting()))
    assert told == [0, 0, 1, 1, 1, 2, 2]
    assert sorted(one.kind for one in work.waiting()) == ["failure", "finished"]


def test_a_removed_schedule_starts_nothing(work: Rig) -> None:
    name = schedule(work, MINUTELY, "true")
    work.engine.automation.remove_schedule(name, USER)
    work.stage.clock.tick(minutes=5)
    assert look(work) == ""
    assert work.engine.automation.list_schedules() == []


@pytest.mark.promise("P-WORK-1")
def test_a_proposal_starts_without_asking_only_by_a_rule_of_the_user(
    work: Rig, tmp_path: Path
) -> None:
    workers = work.engine.workers
    shop = Workspace("folder", str(tmp_path / "code" / "shop"))
    spec = TaskSpec("Fix it", "Fix it.", "claude", workspace=shop)
    asked = workers.propose(spec, AGENT).task
    assert (asked.state, len(work.waiting())) == ("proposed", 1)
    rule = StartRule("agent:x", path=str(tmp_path / "code"), per_day=1)
    work.engine.automation.set_start_rule(rule, USER)
    assert workers.propose(spec, AGENT).task.state == "approved"
    assert len(work.waiting()) == 1
    assert workers.propose(spec, AGENT).task.state == "proposed"  # one per day
    assert len(work.waiting()) == 2


@pytest.mark.parametrize(
    "more",
    [
        {"workspace": Workspace("folder", "/code/../etc")},
        {"workspace": Workspace("folder", "/codebase")},
        {"grants": Grants(network=True), "workspace": Workspace("folder", "/code")},
        {"grants": Grants(sandbox="off"), "workspace": Workspace("folder", "/code")},
        {"runner": "command", "command": ("ls",), "workspace": Workspace("folder", "/code")},
        {"check": ("sh", "-c", "anything"), "workspace": Workspace("folder", "/code")},
    ],
)
def test_a_rule_does_not_start_what_it_does_not_name(work: Rig, more: dict[str, object]) -> None:
    work.engine.automation.set_start_rule(StartRule("agent:x", path="/code"), USER)
    spec = msgspec.structs.replace(TaskSpec("Fix it", "Fix it.", "claude"), **more)
    assert work.engine.workers.propose(spec, AGENT).task.state == "proposed"
    assert len(work.waiting()) == 1
