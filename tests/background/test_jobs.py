"""Durable jobs: progress, cancel, resume, and what is left of a process that died."""

import threading
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest

from everloop.background.jobs import PROGRESS, Job, JobQueue, JobStatus
from everloop.errors import Conflict, Invalid, NotFound, Unavailable
from everloop.log import Log
from everloop.testing.deterministic import DeterministicPorts


class Counting(Job):
    """Counts to ten, waiting at each step for a sign."""

    kind = "count"

    def __init__(self, folder: Path, go: threading.Semaphore, fails: Exception | None) -> None:
        super().__init__(folder, f"count-{(folder / 'job.json').read_text()}", "Counting")
        self._go, self._fails = go, fails

    def run(self) -> None:
        """Count."""
        for number in range(1, 11):
            self._go.acquire(timeout=30)
            self.advance(number, 10)
            if self._fails:
                raise self._fails


class Counts(JobQueue[Counting]):
    """A queue of counts."""

    def __init__(self, log: Log, stage: DeterministicPorts, folder: Path) -> None:
        super().__init__(log, stage.clock, folder)
        self.go = threading.Semaphore(0)
        self.fails: Exception | None = None

    def open_job(self, folder: Path) -> Counting:
        """The count in a folder."""
        return Counting(folder, self.go, self.fails)

    def begin(self, name: str = "a") -> Counting:
        """Submit one."""
        return self.submit(self.new_folder(), name.encode())


@pytest.fixture
def log(tmp_path: Path) -> Generator[Log]:
    opened = DeterministicPorts().open(tmp_path / "everloop.db", [])
    yield opened
    opened.close()


@pytest.fixture
def counts(log: Log, tmp_path: Path) -> Generator[Counts]:
    queue = Counts(log, DeterministicPorts(), tmp_path / "jobs")
    queue.start()
    yield queue
    queue.go.release(100)
    queue.stop()


def test_a_job_runs_to_its_end_and_leaves_nothing_behind(counts: Counts) -> None:
    counts.go.release(10)
    job = counts.begin()
    assert job.over.wait(30)
    _settled(job)
    assert (job.state, job.done, job.total) == ("done", 10, 10)
    assert not job.folder.exists()


def _settled(job: Job) -> None:
    while job.state in ("waiting", "running"):
        pass


def test_every_process_lists_a_running_job_with_its_progress(
    counts: Counts, log: Log, tmp_path: Path
) -> None:
    job = counts.begin()
    counts.go.release(4)
    while job.done < 4:
        pass
    other = Counts(log, DeterministicPorts(), tmp_path / "jobs")
    while other.statuses() != [JobStatus("count-a", "count", "Counting", "running", 4, 10)]:
        pass
    assert counts.health().done == 4


def test_a_cancelled_job_waits_to_be_resumed(counts: Counts) -> None:
    job = counts.begin()
    counts.cancel("count-a")
    counts.go.release(1)
    assert job.over.wait(30)
    _settled(job)
    assert job.state == "broken off"
    counts.go.release(10)
    again = counts.resume("count-a")
    assert again.over.wait(30)
    _settled(again)
    assert again.state == "done"


def test_a_cancelled_job_that_is_cancelled_again_is_removed(counts: Counts) -> None:
    job = counts.begin()
    counts.cancel("count-a")
    counts.go.release(1)
    assert job.over.wait(30)
    _settled(job)
    counts.cancel("count-a")
    assert not job.folder.exists()
    with pytest.raises(NotFound, match="nothing of 'count-a'"):
        counts.resume("count-a")


def test_the_same_job_submitted_twice_runs_once(counts: Counts) -> None:
    assert counts.begin() is counts.begin()


def test_a_job_of_a_process_that_ended_goes_on_in_the_next(log: Log, tmp_path: Path) -> None:
    first = Counts(log, DeterministicPorts(), tmp_path / "jobs")
    first.start()
    job = first.begin()
    first.go.release(2)
    while job.done < 2:
        pass
    stopping = threading.Thread(target=first.stop)
    stopping.start()
    while not job.closing.is_set():
        pass
    first.go.release(1)
    stopping.join(30)
    second = Counts(log, DeterministicPorts(), tmp_path / "jobs")
    second.go.release(100)
    second.start()
    adopted = second.job("count-a")
    assert adopted is not None
    assert adopted.over.wait(30)
    _settled(adopted)
    second.stop()
    assert adopted.state == "done"


def test_a_job_that_another_process_runs_cannot_be_resumed(counts: Counts, log: Log) -> None:
    counts.begin()
    other = Counts(log, DeterministicPorts(), counts.new_folder().parent)
    with pytest.raises(Conflict, match="another process"):
        other.resume("count-a")


@pytest.mark.parametrize(
    ("problem", "kept"), [(Invalid("no"), False), (Unavailable("disk"), True), (OSError("x"), True)]
)
def test_a_failed_job_is_kept_if_trying_again_may_help(
    counts: Counts, problem: Exception, kept: bool
) -> None:
    counts.fails = problem
    counts.go.release(1)
    job = counts.begin()
    assert job.over.wait(30)
    _settled(job)
    assert job.state == "failed"
    assert job.folder.exists() is kept
    assert job.status().problem


def test_a_job_in_the_calling_thread_shows_its_progress(counts: Counts) -> None:
    seen: list[tuple[int, int]] = []
    counts.go.release(10)
    folder = counts.new_folder()
    job = counts.run_here(folder, b"b", lambda done, total: seen.append((done, total)))
    assert (job.state, seen[-1]) == ("done", (10, 10))


def test_what_an_interrupted_run_left_is_replaced_by_the_next(counts: Counts) -> None:
    left = counts.new_folder()
    (left / "broken off").touch()
    (left / "job.json").write_text("c")
    (left / PROGRESS).write_bytes(msgspec.json.encode(JobStatus("count-c", "count", "", "running")))
    counts.go.release(10)
    counts.run_here(counts.new_folder(), b"c")
    assert not left.exists()
