"""Commands as tasks, with real processes: output, verdicts, limits, cancelling, isolation."""

import os
import sys
import time
from collections.abc import Generator
from pathlib import Path

import pytest
from tests.workers.rig import Rig, rig, survivors

from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.app import USER
from everloop.errors import Forbidden
from everloop.log import Context
from everloop.workers import Grants, TaskLimits, TaskScheduler, TaskSpec, WorkerMachine

NO_SANDBOX = Grants(sandbox="off")


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path) as one:
        yield one


def test_a_command_runs_and_its_output_is_its_transcript(work: Rig) -> None:
    name = work.start("sh", "-c", "echo one; echo two >&2; echo three")
    done = work.until(name, "done")
    assert work.shown(name) == "one\ntwo\nthree\n"
    assert done.claim == "one\ntwo\nthree"
    assert [one.kind for one in work.waiting()] == ["finished"]


@pytest.mark.promise("P-WORK-3")
def test_the_exit_code_is_the_verdict_and_a_failure_offers_a_retry(work: Rig) -> None:
    name = work.start("sh", "-c", "echo broken; exit 3")
    failed = work.until(name, "failed")
    assert failed.reason == "Exit code 3.\nbroken"
    work.answer("retry")
    assert work.task(name).state == "approved"
    assert work.until(name, "failed").attempts == 2


def test_a_program_that_does_not_exist_fails_with_a_reason(work: Rig) -> None:
    failed = work.until(work.start("no-such-program-here"), "failed")
    assert "No such file" in failed.reason


@pytest.mark.promise("P-WORK-1")
def test_what_an_agent_proposes_does_not_start_without_the_user(work: Rig) -> None:
    agent = Context(actor="agent:thread")
    proposed = work.engine.workers.propose(TaskSpec("List", command=("ls",)), agent)
    name = proposed.task.task_id
    work.scheduler.tick()
    assert work.task(name).state == "proposed"
    with pytest.raises(Forbidden, match="only the user"):
        work.engine.workers.start(name, agent)
    with pytest.raises(Forbidden, match="only the user"):
        work.engine.workers.propose(TaskSpec("Again", command=("ls",)), agent, start=True)
    work.answer("start")
    assert work.until(name, "done").attempts == 1


@pytest.mark.promise("P-WORK-3")
def test_a_check_outside_the_worker_gives_the_verdict_beside_the_claim(work: Rig) -> None:
    name = work.start(
        "sh", "-c", "echo all tests pass", check=("sh", "-c", "echo 1 failed; exit 1")
    )
    task = work.until(name, "review")
    assert task.claim == "all tests pass"
    assert task.verdict is not None
    assert (task.verdict.passed, task.verdict.exit_code) == (False, 1)
    (request,) = work.waiting()
    assert "The worker says:\nall tests pass" in request.body
    assert "failed with exit code 1" in request.body
    assert request.choices[0].value == "again"
    work.answer("keep")
    assert work.until(name, "done").ended


def test_a_passed_check_needs_no_review_without_a_repository(work: Rig) -> None:
    done = work.until(work.start("true", check=("true",)), "done")
    assert done.verdict is not None
    assert done.verdict.passed


def test_output_beyond_the_limit_keeps_its_beginning_and_its_end(work: Rig) -> None:
    program = "for i in range(20000): print(f'line {i}')"
    limits = TaskLimits(output_bytes_max=10_000)
    name = work.start(sys.executable, "-c", program, limits=limits)
    work.until(name, "done")
    shown = work.shown(name)
    assert shown.startswith("line 0\nline 1\n")
    assert shown.endswith("line 19999\n")
    assert "bytes left out" in shown
    assert len(shown) < 11_000


def test_a_command_that_takes_too_long_is_ended(work: Rig) -> None:
    limits = TaskLimits(time_s=1)
    failed = work.until(work.start("sleep", "600", limits=limits), "failed")
    assert "took longer than 1 s" in failed.reason


@pytest.mark.promise("P-WORK-4")
def test_a_task_is_cancelled_only_when_its_whole_process_tree_has_ended(
    work: Rig, tmp_path: Path
) -> None:
    """Also a grandchild in a session of its own, which ignores SIGTERM."""
    ready = tmp_path / "ready"
    stubborn = f"trap '' TERM; touch {ready}; while :; do sleep 0.05; done"
    name = work.start("sh", "-c", f'setsid sh -c "{stubborn}" & sleep 600', grants=NO_SANDBOX)
    while not ready.exists():
        work.scheduler.tick()
        time.sleep(0.01)
    assert len(survivors(tmp_path)) >= 2
    task = work.engine.workers.cancel(name, USER).task
    assert (task.state, task.cancelling) == ("running", True)
    work.until(name, "cancelled")
    assert survivors(tmp_path) == []


def test_nothing_that_a_command_started_outlives_it(work: Rig, tmp_path: Path) -> None:
    work.until(work.start("sh", "-c", "sleep 600 & echo done", grants=NO_SANDBOX), "done")
    assert survivors(tmp_path) == []


def test_many_that_end_at_once_cost_one_look_at_the_processes_of_the_machine(work: Rig) -> None:
    looks: list[list[int]] = []

    class Counted(SupervisedProcesses):
        def _look_for_left(self) -> None:
            super()._look_for_left()
            here = work.engine.log.file.path.parent  # other tests run beside this one
            looks.append([p for f, left in self._left.items() if here in f.parents for p in left])

    work.processes = Counted(work.engine.log.file.path.parent / "workers")
    machine = WorkerMachine(
        work.runners, work.processes, work.engine.workspaces, work.engine.task_folders
    )
    settings = work.settings.workers
    work.scheduler = TaskScheduler(
        work.engine.log, work.engine, work.stage.clock, machine, settings
    )
    names = [work.start("true") for _ in range(5)]
    work.scheduler.tick()
    ends = [work.processes.folder(name, 1) / "exit.json" for name in names]
    while not all(end.exists() for end in ends) or work.processes.alive():
        time.sleep(0.01)
    while {work.task(name).state for name in names} != {"done"}:
        work.scheduler.tick()
    assert looks == [[]]


def test_the_environment_is_scrubbed_and_home_and_temporary_folder_are_private(
    work: Rig, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MY_SECRET_TOKEN", "hunter2")
    monkeypatch.setenv("GRANTED", "yes")
    name = work.start("env", grants=Grants(variables=("GRANTED",)))
    work.until(name, "done")
    shown = dict(line.split("=", 1) for line in work.shown(name).splitlines())
    assert "hunter2" not in work.shown(name)
    assert shown["GRANTED"] == "yes"
    assert shown["HOME"].startswith(str(tmp_path))
    assert shown["TMPDIR"].startswith(str(tmp_path))


def test_no_more_tasks_run_at_once_than_the_limit(work: Rig) -> None:
    names = [work.start("sleep", "600", grants=NO_SANDBOX) for _ in range(10)]
    work.scheduler.tick()
    assert [work.task(name).state for name in names].count("running") == 8
    for name in names:
        work.engine.workers.cancel(name, USER)
    for name in names:
        work.until(name, "cancelled")


@pytest.mark.skipif(os.geteuid() == 0, reason="root is not limited")
def test_a_memory_limit_holds(work: Rig) -> None:
    limits = TaskLimits(memory_bytes_max=200_000_000)
    name = work.start(sys.executable, "-c", "b'x' * 10**9", limits=limits)
    assert "MemoryError" in work.until(name, "failed").reason


def test_a_command_whose_check_failed_can_be_run_again_and_is_asked_for_no_changes(
    work: Rig,
) -> None:
    name = work.start("sh", "-c", "echo x >> tries", check=("sh", "-c", "test $(wc -l <tries) = 2"))
    work.until(name, "review")
    (request,) = work.waiting()
    assert [one.value for one in request.choices] == ["again", "keep"]
    work.answer("again")
    assert work.until(name, "done", "review").state == "done"
