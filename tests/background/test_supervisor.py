"""Tasks under supervision: started, stopped, and their health seen from other processes."""

import subprocess
import sys
import threading
from collections.abc import Generator
from pathlib import Path

import pytest

from everloop.background.health import HealthFile, TaskHealth, read_health
from everloop.background.supervisor import Supervisor
from everloop.background.task import BackgroundTask
from everloop.errors import Unavailable
from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.testing.deterministic import DeterministicPorts


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    opened = DeterministicPorts().open(tmp_path / "everloop.db", [])
    yield opened
    opened.close()


class Waiting(BackgroundTask):
    """A task that waits to be stopped."""

    def __init__(self, log: Log, name: str, claim: str = "") -> None:
        super().__init__(log, name, self._work, claim=claim)
        self.began = threading.Event()

    def _work(self, _: Claim) -> None:
        self.began.set()
        self.progress = (3, 8)
        self.stopping.wait(30)


def test_the_health_of_every_task_is_published_while_they_run(log: Log, tmp_path: Path) -> None:
    tasks = [Waiting(log, "one"), Waiting(log, "two", claim="two")]
    supervisor = Supervisor(tasks, tmp_path / "health")
    supervisor.start()
    assert all(task.began.wait(30) for task in tasks)
    working = [TaskHealth(name, "running", done=3, total=8) for name in ("one", "two")]
    while supervisor.health() != working:
        pass
    while [list(one.tasks) for one in read_health(tmp_path / "health")] != [working]:
        pass
    supervisor.stop()
    assert read_health(tmp_path / "health") == []
    assert [one.state for one in supervisor.health()] == ["stopped", "stopped"]


def test_a_task_whose_claim_another_process_holds_is_on_standby(log: Log) -> None:
    claim = log.claim("two")
    assert claim is not None
    task = Waiting(log, "two", claim="two")
    assert task.health().state == "starting"
    task.start()
    assert task.health().state == "standby"
    claim.release()
    assert task.began.wait(30)
    assert task.health().state == "running"
    task.stop()


def test_a_failing_task_says_why_and_tries_again(log: Log) -> None:
    tries = threading.Semaphore(0)

    def fail(_: Claim) -> None:
        tries.release()
        raise Unavailable("the disk is full", hint="Free some space.")

    task = BackgroundTask(log, "three", fail)
    task.start()
    assert tries.acquire(timeout=30)
    assert tries.acquire(timeout=30)
    failing = TaskHealth("three", "failing", "the disk is full", "Free some space.")
    while task.health() != failing:
        pass
    task.stop()


def test_health_of_a_process_that_died_is_not_shown(tmp_path: Path) -> None:
    program = (
        "import os, sys\nfrom pathlib import Path\n"
        "from everloop.background.health import HealthFile, TaskHealth\n"
        "HealthFile(Path(sys.argv[1])).publish((TaskHealth('a', 'running'),))\nos._exit(9)"
    )
    subprocess.run([sys.executable, "-c", program, str(tmp_path)], check=False)  # noqa: S603
    assert len(list(tmp_path.iterdir())) == 1
    assert read_health(tmp_path) == []
    assert list(tmp_path.iterdir()) == []


def test_health_that_cannot_be_written_troubles_nobody(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    HealthFile(tmp_path / "file").publish((TaskHealth("a", "running"),))
    assert read_health(tmp_path / "file") == []
