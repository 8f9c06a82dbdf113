"""Durable jobs: work that a person asked for, such as an import, with progress, cancel and resume.

A job lies in a folder of its own beside the log, with all that it needs, until it is done. So it
goes on by itself after its process ended or was killed, in the next process or in another on the
same log. One process at a time runs it (a claim); every process can list it with its progress.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import Generic, Literal, TypeVar

import msgspec

from everloop.background.health import TaskHealth
from everloop.errors import Conflict, EverloopError, NotFound, Rejected, Unavailable
from everloop.log import Log
from everloop.log.ownership import Claim
from everloop.ports import Clock, Progress
from everloop.tracing import span

PROGRESS = "progress.json"
CANCELLED = "broken off"  # the marker file of a job that waits for somebody to resume it
LOOK_EVERY_S = 2.0  # for jobs of a process that died
DAY_S = 86_400
IMPORTS_SUFFIX = ".imports"  # of the folder of imports beside a log: another log has its own
WORLD_IMPORTS_SUFFIX = ".world-imports"  # the same for cards, chats and worlds
IMPORTS_SPEC = "asked.json"  # in a job's folder once all of an upload is there
UPLOAD_STALLED_S = 600  # an upload to which nothing was added for so long is given up
AGAIN = "Resume it, or start it again: nothing is done twice."

JobState = Literal["waiting", "running", "done", "failed", "broken off"]


class JobStatus(msgspec.Struct, frozen=True):
    """One job as every interface shows it. `done` of `total` is counted in `unit`."""

    job_id: str
    kind: str
    title: str
    state: JobState
    done: int = 0
    total: int = 0
    unit: str = ""
    problem: str = ""
    hint: str = ""


class Cancelled(Exception):
    """Ends a job from inside `run`."""


class Job:
    """One job. A kind of job is a subclass that says how to `run` it."""

    kind = "job"
    unit = ""

    def __init__(self, folder: Path, job_id: str, title: str) -> None:
        self.folder, self.job_id, self.title = folder, job_id, title
        self.state: JobState = "waiting"
        self.done, self.total = 0, 0
        self.problem: EverloopError | None = None
        self.over = threading.Event()
        self.cancelled = threading.Event()  # somebody wants it to end
        self.closing = threading.Event()  # the process ends; it goes on with the next one
        self.on_progress: Progress | None = None
        self._saved: JobStatus | None = None

    def run(self) -> None:
        """Do it. Call `advance` often: it is where a job can be cancelled.

        Raises:
            Cancelled: by `advance`.
            EverloopError: it failed.
        """
        raise NotImplementedError

    def release(self) -> None:
        """Let go of what the job held, once it is over."""

    def advance(self, done: int, total: int) -> None:
        """Note the progress, for this process and for others.

        Raises:
            Cancelled: somebody cancelled it, or the process ends.
        """
        self.done, self.total = done, total
        if self.on_progress:
            self.on_progress(done, total)
        status = self.status()
        step = max(1, total // 200)
        if self._saved is None or abs(done - self._saved.done) >= step:
            self._saved = status
            with suppress(OSError):
                part = self.folder / f"{PROGRESS}.part"
                part.write_bytes(msgspec.json.encode(status))
                part.replace(self.folder / PROGRESS)
        if self.cancelled.is_set() or self.closing.is_set():
            raise Cancelled

    def status(self) -> JobStatus:
        """The job as interfaces show it."""
        problem = self.problem
        return JobStatus(
            self.job_id,
            self.kind,
            self.title,
            self.state,
            self.done,
            self.total,
            self.unit,
            str(problem) if problem else "",
            problem.hint if problem else "",
        )


J = TypeVar("J", bound=Job)


def erase_uploads(log: Log, now: datetime) -> None:
    """Erase the uploads of imports that nobody runs: a purge must not leave their text.

    What is being uploaded or imported stays.
    """
    beside = (log.file.path.with_suffix(each) for each in (IMPORTS_SUFFIX, WORLD_IMPORTS_SUFFIX))
    for folder in (folder for each in beside for folder in each.glob("*")):
        if not (folder / IMPORTS_SPEC).exists():
            written = max((one.stat().st_mtime for one in folder.glob("*")), default=0.0)
            if written < now.timestamp() - UPLOAD_STALLED_S:
                shutil.rmtree(folder, ignore_errors=True)
            continue
        claim = log.claim(f"import:{folder.name}")
        if claim is not None:
            with claim:
                shutil.rmtree(folder, ignore_errors=True)


class JobQueue(Generic[J]):
    """Jobs of one kind, one after the other, in a thread. Safe from any thread.

    A subclass says how to `open_job` from its folder, and with which file a folder is complete.
    """

    name = "jobs"
    complete = "job.json"

    def __init__(self, log: Log, clock: Clock, folder: Path) -> None:
        self._log, self._clock, self._folder = log, clock, folder
        self._jobs: dict[str, J] = {}
        self._unreadable: set[Path] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._runner = ThreadPoolExecutor(1, thread_name_prefix=f"everloop-{self.name}")
        self._looker = threading.Thread(
            target=self._keep_looking, name=f"everloop-{self.name}-look", daemon=True
        )

    def open_job(self, folder: Path) -> J:
        """The job that lies in a folder.

        Raises:
            EverloopError: it cannot be read.
        """
        raise NotImplementedError

    def start(self) -> None:
        """Go on with what no process runs, now and from now on; clear what nobody wants."""
        self._clear()
        for folder in self._folders():
            if (folder / CANCELLED).exists():
                self._reopen_cancelled(folder)
        self._look()
        self._looker.start()

    def stop(self) -> None:
        """Pause what runs; it goes on with the next start."""
        self._closing.set()
        with self._lock:
            jobs = list(self._jobs.values())
        for job in jobs:
            job.closing.set()
        self._runner.shutdown(cancel_futures=True)
        if self._looker.is_alive():
            self._looker.join()
        for job in jobs:
            job.over.set()  # also of those that never began

    def health(self) -> TaskHealth:
        """Whether jobs run, and how far the current one is."""
        if self._closing.is_set():
            return TaskHealth(self.name, "stopped")
        with self._lock:
            running = [job for job in self._jobs.values() if job.state == "running"]
        if not running:
            return TaskHealth(self.name, "running")
        return TaskHealth(self.name, "running", done=running[0].done, total=running[0].total)

    def statuses(self) -> list[JobStatus]:
        """Every job: those of this process, and those that lie beside the log."""
        with self._lock:
            ours = {job.folder: job.status() for job in self._jobs.values()}
        others = (self._status_of(folder) for folder in self._folders() if folder not in ours)
        return [*ours.values(), *(one for one in others if one is not None)]

    def new_folder(self) -> Path:
        """A folder for a new job. It counts once `complete` is in it."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return Path(tempfile.mkdtemp(dir=self._folder))

    def drop(self, folder: Path) -> None:
        """Remove a job's folder."""
        shutil.rmtree(folder, ignore_errors=True)

    def submit(self, folder: Path, spec: bytes) -> J:
        """Start a job: write its spec and queue it. One that runs already is not started again.

        Raises:
            EverloopError: it cannot be read.
        """
        claim = self._commit(folder, spec)
        try:
            return self._begin(folder, claim)
        except EverloopError:
            self.drop(folder)
            raise

    def run_here(self, folder: Path, spec: bytes, progress: Progress | None = None) -> J:
        """Run a job in the calling thread, until it is over. Interrupted, it can be resumed.

        Raises:
            EverloopError: it cannot be read, or failed.
        """
        claim = self._commit(folder, spec)
        try:
            job = self.open_job(folder)
        except EverloopError:
            claim.release()
            self.drop(folder)
            raise
        self._drop_earlier(job)
        job.on_progress = progress
        self._carry(job, claim)
        if job.problem is not None:
            raise job.problem
        return job

    def job(self, job_id: str) -> J | None:
        """A job that this process knows."""
        with self._lock:
            return self._jobs.get(job_id)

    def resume(self, job_id: str) -> J:
        """Go on with a job that was cancelled or failed.

        Raises:
            NotFound: there is nothing left to go on with.
            Conflict: another process runs it.
        """
        known = self.job(job_id)
        if known is not None and not known.over.is_set():
            return known
        folder, claim = self._left_of(job_id)
        (folder / CANCELLED).unlink(missing_ok=True)
        return self._begin(folder, claim)

    def cancel(self, job_id: str) -> None:
        """End a running job after its current step; of one that is over, remove what is left.

        What it did stays, and the folder is kept to resume it.

        Raises:
            NotFound: nothing of it is here.
            Conflict: another process runs it.
        """
        job = self.job(job_id)
        if job is not None and not job.over.is_set():
            job.cancelled.set()
            return
        folder, claim = self._left_of(job_id)
        with claim:
            self.drop(folder)

    @property
    def kept_s(self) -> float:
        """How long a cancelled job is kept to be resumed."""
        return 7 * DAY_S

    def _drop_earlier(self, job: J) -> None:
        """Remove what an interrupted run of the same job left, unless another process has it."""
        for folder in self._folders():
            if folder == job.folder:
                continue
            with suppress(EverloopError):
                same = self.open_job(folder).job_id == job.job_id
                claim = self._claim(folder) if same else None
                if claim is not None:
                    with claim:
                        self.drop(folder)

    def _commit(self, folder: Path, spec: bytes) -> Claim:
        claim = self._claim(folder)  # before others can see that it is complete
        assert claim is not None, "the folder is new"
        part = folder / f"{self.complete}.part"
        part.write_bytes(spec)
        part.replace(folder / self.complete)
        return claim

    def _keep_looking(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        """Adopt jobs that no process runs: the one that did has died, or could not go on."""
        with self._lock:
            ours = {job.folder for job in self._jobs.values()} | self._unreadable
        for folder in self._folders():
            if folder in ours or (folder / CANCELLED).exists():
                continue
            try:
                claim = self._claim(folder)
                if claim is not None:
                    self._begin(folder, claim)
            except EverloopError:
                self._unreadable.add(folder)

    def _reopen_cancelled(self, folder: Path) -> None:
        with suppress(EverloopError):
            job = self.open_job(folder)
            job.state = "broken off"
            job.over.set()
            self._jobs[job.job_id] = job

    def _clear(self) -> None:
        """Remove what never was complete, and what nobody resumed for long."""
        now_s = self._clock.now_us() / 1_000_000
        for folder in self._folder.glob("*"):
            complete, held = (folder / self.complete).exists(), (folder / CANCELLED).exists()
            lives_s = self.kept_s if held else DAY_S
            if (held or not complete) and folder.stat().st_mtime < now_s - lives_s:
                self.drop(folder)

    def _folders(self) -> Iterator[Path]:
        return (one.parent for one in sorted(self._folder.glob(f"*/{self.complete}")))

    def _status_of(self, folder: Path) -> JobStatus | None:
        """A job of another process, as that one noted it."""
        try:
            return msgspec.json.decode((folder / PROGRESS).read_bytes(), type=JobStatus)
        except (OSError, msgspec.MsgspecError):
            with suppress(EverloopError):
                return self.open_job(folder).status()
        return None

    def _left_of(self, job_id: str) -> tuple[Path, Claim]:
        """What is left of a job that is over, and the claim on it."""
        folder = self._folder_of(job_id)
        claim = self._claim(folder)
        if claim is None:
            raise Conflict(f"{job_id!r} runs in another process", hint="Wait until it is done.")
        return folder, claim

    def _folder_of(self, job_id: str) -> Path:
        for folder in self._folders():
            with suppress(EverloopError):
                if self.open_job(folder).job_id == job_id:
                    return folder
        raise NotFound(f"nothing of {job_id!r} is left here", hint="Start it again.")

    def _claim(self, folder: Path) -> Claim | None:
        return self._log.claim(f"import:{folder.name}")  # so named since the first version

    def _begin(self, folder: Path, claim: Claim) -> J:
        try:
            job = self.open_job(folder)
        except EverloopError:
            claim.release()
            raise
        with self._lock:
            known = self._jobs.get(job.job_id)
            if known is not None and not known.over.is_set():
                self.drop(folder)  # the same was submitted before
                claim.release()
                return known
            self._jobs[job.job_id] = job
            self._runner.submit(self._carry, job, claim)
        return job

    def _carry(self, job: J, claim: Claim) -> None:
        state: JobState = "failed"
        problem: EverloopError | None = Unavailable("the job ended unexpectedly", hint=AGAIN)
        try:
            job.state = "running"
            with span("job", kind=job.kind):
                job.run()
            state, problem = "done", None
        except Cancelled:
            state, problem = "broken off", None
        except EverloopError as said:
            problem = said
        except OSError as said:
            problem = Unavailable(str(said), hint=AGAIN)
        finally:
            self._put_away(job, over=state == "done" or isinstance(problem, Rejected))
            claim.release()
            job.release()
            job.problem = problem
            job.over.set()
            job.state = state  # last: a reader who sees it sees all of it

    def _put_away(self, job: J, *, over: bool) -> None:
        if over:
            self.drop(job.folder)  # what was refused would be refused again
        elif job.cancelled.is_set():
            with suppress(OSError):
                (job.folder / CANCELLED).touch()
