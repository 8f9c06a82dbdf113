"""Crashes at every step: nothing is lost, nothing is repeated, nothing runs for ever."""

import json
import os
import signal
import time
from collections.abc import Generator
from contextlib import suppress
from pathlib import Path

import pytest
from tests.workers.rig import Rig, rig, survivors

from everloop.adapters.processes.supervisor import SupervisedProcesses
from everloop.app import ENGINE
from everloop.errors import RunnerFailed
from everloop.workers import Grants, TaskScheduler, WorkerMachine
from everloop.workers.execution.other_nodes import scheduling_claim
from everloop.workers.model.commands import BeginAttempt, EndAttempt

NO_SANDBOX = Grants(sandbox="off")


@pytest.fixture
def work(tmp_path: Path) -> Generator[Rig]:
    """An engine with a scheduler that is moved by hand."""
    with rig(tmp_path) as one:
        yield one


def wait_for(path: Path) -> None:
    """Wait until a file is there."""
    while not path.exists():
        time.sleep(0.01)


def attempt_folder(work: Rig, name: str) -> Path:
    """The folder of a task's newest attempt."""
    return work.processes.folder(name, work.task(name).attempts)


@pytest.mark.promise("P-WORK-2")
def test_a_crash_between_record_and_start_tries_the_step_again(work: Rig, tmp_path: Path) -> None:
    """Nothing was started, so trying again repeats nothing."""
    count = tmp_path / "count"
    name = work.start("sh", "-c", f"echo x >> {count}", grants=NO_SANDBOX)
    work.engine.do(BeginAttempt(name, 1, work.processes.host), by=ENGINE)
    work.restart()
    work.scheduler.tick()
    assert (work.task(name).state, work.task(name).retry_at_us > 0) == ("approved", True)
    work.stage.clock.tick(seconds=10)
    work.until(name, "done")
    assert count.read_text() == "x\n"


@pytest.mark.promise("P-WORK-2")
def test_a_command_goes_on_while_the_server_is_away_and_is_followed_again(
    work: Rig, tmp_path: Path
) -> None:
    go, count = tmp_path / "go", tmp_path / "count"
    wait = f"echo before; while [ ! -e {go} ]; do sleep 0.02; done"
    name = work.start("sh", "-c", f"{wait}; echo x >> {count}; echo after", grants=NO_SANDBOX)
    while "before" not in work.shown(name):
        work.scheduler.tick()
    work.restart()
    go.touch()
    done = work.until(name, "done")
    assert work.shown(name) == "before\nafter\n"
    assert (done.attempts, count.read_text()) == (1, "x\n")


@pytest.mark.promise("P-WORK-2")
def test_a_command_that_ended_while_the_server_was_away_keeps_its_verdict(work: Rig) -> None:
    name = work.start("sh", "-c", "echo out; exit 7")
    work.scheduler.tick()
    wait_for(attempt_folder(work, name) / "exit.json")
    work.restart()
    failed = work.until(name, "failed")
    assert (failed.attempts, failed.reason) == (1, "Exit code 7.\nout")
    assert work.shown(name) == "out\n"


@pytest.mark.promise("P-WORK-2")
def test_killing_the_watching_process_leaves_the_task_uncertain_and_nothing_running(
    work: Rig, tmp_path: Path
) -> None:
    ready = tmp_path / "ready"
    name = work.start("sh", "-c", f"touch {ready}; setsid sleep 600 & sleep 600", grants=NO_SANDBOX)
    work.scheduler.tick()
    wait_for(ready)
    watching = json.loads((attempt_folder(work, name) / "process.json").read_text())["pid"]
    os.kill(watching, signal.SIGKILL)
    task = work.until(name, "uncertain")
    assert survivors(tmp_path) == []
    assert task.attempts == 1
    for _ in range(3):
        work.stage.clock.tick(days=1)
        work.scheduler.tick()
    assert work.task(name).attempts == 1  # it is never repeated by itself
    (request,) = work.waiting()
    assert (request.kind, request.choices[0].value) == ("uncertain", "retry")


@pytest.mark.promise("P-WORK-2")
def test_killing_the_command_is_a_failure_that_is_known(work: Rig, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    name = work.start("sh", "-c", f"touch {ready}; exec sleep 600", grants=NO_SANDBOX)
    work.scheduler.tick()
    wait_for(ready)
    path = attempt_folder(work, name) / "process.json"
    while "group" not in (known := json.loads(path.read_text())):  # written once it was started
        time.sleep(0.01)
    os.kill(known["group"], signal.SIGKILL)
    assert "Exit code 137" in work.until(name, "failed").reason


@pytest.mark.promise("P-WORK-2")
def test_an_attempt_of_another_machine_is_uncertain_here(work: Rig) -> None:
    name = work.start("true")
    work.engine.do(BeginAttempt(name, 1, "another-machine"), by=ENGINE)
    work.scheduler.tick()
    assert work.task(name).state == "running"  # that machine may be restarting
    work.stage.clock.tick(seconds=work.settings.workers.node_lost_s)
    assert "machine" in work.until(name, "uncertain").reason


@pytest.mark.promise("P-WORK-8")
def test_an_attempt_of_another_machine_that_lives_is_left_to_it(work: Rig) -> None:
    name = work.start("true")
    work.engine.do(BeginAttempt(name, 1, "another-machine"), by=ENGINE)
    claim = work.engine.log.claim(scheduling_claim("another-machine"))
    assert claim is not None
    with claim:
        for _ in range(3):
            work.stage.clock.tick(days=1)
            work.scheduler.tick()
    assert work.task(name).state == "running"


@pytest.mark.promise("P-WORK-8")
def test_a_process_that_was_given_up_meanwhile_is_ended(work: Rig, tmp_path: Path) -> None:
    ready = tmp_path / "ready"
    name = work.start("sh", "-c", f"touch {ready}; exec sleep 600", grants=NO_SANDBOX)
    work.scheduler.tick()
    wait_for(ready)
    folder = attempt_folder(work, name)
    work.engine.do(EndAttempt(name, 1, "uncertain", elsewhere=True), by=ENGINE)
    work.restart()
    work.scheduler.end_strays()
    wait_for(folder / "exit.json")
    assert survivors(tmp_path) == []


@pytest.mark.promise("P-WORK-2")
def test_a_restart_at_every_tick_records_output_and_end_once(work: Rig) -> None:
    name = work.start("sh", "-c", "for i in 1 2 3 4 5 6; do echo $i; sleep 0.05; done")
    while not work.task(name).ended:
        work.scheduler.tick()
        work.restart()
    assert work.shown(name) == "1\n2\n3\n4\n5\n6\n"
    ends = [
        record.kind for record in work.engine.log.records() if record.stream == f"task:{name}"
    ].count("workers.attempt_ended")
    assert (ends, len(work.waiting())) == (1, 1)


def test_cancelling_survives_a_restart(work: Rig, tmp_path: Path) -> None:
    name = work.start("sleep", "600", grants=NO_SANDBOX)
    work.scheduler.tick()
    wait_for(attempt_folder(work, name) / "process.json")
    work.engine.workers.cancel(name, ENGINE.__class__(actor="user"))
    work.restart()
    work.until(name, "cancelled")
    assert survivors(tmp_path) == []


class BrokenFolders(SupervisedProcesses):
    """Processes whose output cannot be read for some tasks."""

    broken: tuple[str, ...] = ()

    def read(self, folder: Path, offset: int, limit: int) -> bytes:
        """Output, unless the disk refuses."""
        if folder.parent.name in self.broken:
            raise PermissionError(13, "Permission denied", str(folder))
        return super().read(folder, offset, limit)


def test_a_task_whose_folder_cannot_be_read_holds_up_no_other(work: Rig) -> None:
    processes = BrokenFolders(work.engine.log.file.path.parent / "workers")
    machine = WorkerMachine(
        work.runners, processes, work.engine.workspaces, work.engine.task_folders
    )
    engine, clock = work.engine, work.stage.clock
    work.scheduler = TaskScheduler(engine.log, engine, clock, machine, work.settings.workers)
    first, second = (work.start("echo", word) for word in ("one", "two"))
    processes.broken = (first,)
    while work.task(second).state != "done":
        with suppress(RunnerFailed):
            work.scheduler.tick()
    assert work.task(first).state == "running"
    processes.broken = ()
    work.until(first, "done")
    assert work.shown(first) == "one\n"
