"""Imports on their way: one after the other, beside all else, in a thread.

An export that was sent in is kept until all of it is in. So an import goes on by itself after the
server ended or was killed, in this server or in another on the same log, and on request after
anything else. One server at a time carries it. What is in already is passed over.
"""

import shutil
import tempfile
import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

from everloop.adapters.exports.open_export import OpenedExport, open_export
from everloop.errors import Conflict, EverloopError, NotFound, Rejected, Unavailable
from everloop.log import Context
from everloop.log.ownership import Claim
from everloop.running import Running
from everloop.thread.transfer.import_threads import Imported, Importer, import_id_of

FOLDER = ".imports"  # beside the log: another log in the same home has its own
ASKED = "asked.json"
HELD = "broken off"  # a mark beside what was sent: it goes on when somebody says so
DAY_S = 86_400
LOOK_EVERY_S = 2.0  # for what a server left that is gone
AGAIN = "Resume it, or send the file again: nothing comes in twice."
State = Literal["waiting", "running", "done", "failed", "broken off"]


class Asked(msgspec.Struct, frozen=True):
    """How an export is to be taken in. It lies beside what was sent."""

    name: str
    home: bool
    by: Context


class BrokenOff(Exception):
    """Somebody ended it, or the server ends."""


class Job:
    """One import, as it stands."""

    def __init__(self, parcel: Path, asked: Asked, export: OpenedExport) -> None:
        self.parcel, self.asked, self.export = parcel, asked, export
        self.import_id = import_id_of(export)
        self.state: State = "waiting"
        self.bytes_read, self.messages, self.known = 0, 0, 0
        self.result: Imported | None = None
        self.problem: EverloopError | None = None
        self.over = threading.Event()
        self.unwanted = threading.Event()  # somebody broke it off

    def outcome(self) -> Imported:
        """What it led to, when it is over.

        Raises:
            EverloopError: it failed, or was broken off.
        """
        self.over.wait()
        if self.problem is not None:
            raise self.problem
        if self.result is None:
            raise Conflict("the import was broken off", hint="Resume it to go on.")
        return self.result


class Porter:
    """Takes in what is sent. Safe from any thread."""

    def __init__(self, running: Running) -> None:
        self._running = running
        self._folder = running.engine.log.file.path.with_suffix(FOLDER)
        self._jobs: dict[str, Job] = {}
        self._unreadable: set[Path] = set()
        self._lock = threading.Lock()
        self._closing = threading.Event()
        self._hands = ThreadPoolExecutor(1, thread_name_prefix="everloop-import")
        self._eyes = threading.Thread(
            target=self._keep_looking, name="everloop-parcels", daemon=True
        )

    def start(self) -> None:
        """Go on with what nobody carries, now and from now on; clear what nobody wants."""
        self._clear()
        for parcel in self._parcels():
            if (parcel / HELD).exists():
                self._recall(parcel)
        self._look()
        self._eyes.start()

    def close(self) -> None:
        """Break off what comes in; it goes on with the next start."""
        self._closing.set()
        self._hands.shutdown(cancel_futures=True)
        if self._eyes.is_alive():
            self._eyes.join()
        with self._lock:
            for job in self._jobs.values():
                job.over.set()  # also of those that never began

    def parcel(self, asked: Asked) -> Path:
        """A folder of its own for what is being sent. It counts as sent with `take`."""
        self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        folder = Path(tempfile.mkdtemp(dir=self._folder))
        (folder / asked.name).touch()
        return folder / asked.name

    def drop(self, sent: Path) -> None:
        """Throw away what was sent."""
        shutil.rmtree(sent.parent, ignore_errors=True)

    def take(self, sent: Path, asked: Asked) -> Job:
        """Begin with what was sent. One that is under way is not begun again.

        Raises:
            Invalid: it is no export.
        """
        claim = self._claim(sent.parent)  # before others can see that it is whole
        assert claim is not None, "the folder is new"
        whole = sent.parent / f"{ASKED}.part"
        whole.write_bytes(msgspec.json.encode(asked))
        whole.replace(sent.parent / ASKED)
        try:
            return self._begin(sent.parent, claim)
        except EverloopError:
            self.drop(sent)
            raise

    def job(self, import_id: str) -> Job | None:
        """An import that this process has to do with."""
        with self._lock:
            return self._jobs.get(import_id)

    def resume(self, import_id: str) -> Job:
        """Go on with one that was broken off.

        Raises:
            NotFound: there is nothing left to go on with.
            Conflict: another server carries it.
        """
        known = self.job(import_id)
        if known is not None and not known.over.is_set():
            return known
        parcel, claim = self._left_of(import_id)
        (parcel / HELD).unlink(missing_ok=True)
        return self._begin(parcel, claim)

    def break_off(self, import_id: str) -> None:
        """End one that is under way, after what is at hand; of another, throw away what was sent.

        What is in stays, and what was sent is kept to go on with.

        Raises:
            NotFound: nothing of it is here.
            Conflict: another server carries it.
        """
        job = self.job(import_id)
        if job is not None and not job.over.is_set():
            job.unwanted.set()
            return
        parcel, claim = self._left_of(import_id)
        with claim:
            self.drop(parcel / ASKED)

    def _keep_looking(self) -> None:
        while not self._closing.wait(LOOK_EVERY_S):
            self._look()

    def _look(self) -> None:
        """Take on what was sent and nobody carries: whoever did has died, or could not go on."""
        with self._lock:
            ours = {job.parcel for job in self._jobs.values()} | self._unreadable
        for parcel in self._parcels():
            if parcel in ours or (parcel / HELD).exists():
                continue
            try:
                claim = self._claim(parcel)
                if claim is not None:
                    self._begin(parcel, claim)
            except EverloopError:
                self._unreadable.add(parcel)

    def _recall(self, parcel: Path) -> None:
        """Know again of one that was broken off before this process began."""
        with suppress(EverloopError):
            job = Job(parcel, *self._opened(parcel))
            job.state = "broken off"
            job.over.set()
            self._jobs[job.import_id] = job

    def _clear(self) -> None:
        """Throw away what never was whole, and what nobody went on with for long."""
        now_s = self._running.engine.world.clock.now_us() / 1_000_000
        kept_s = self._running.settings.thread.imports.kept_days * DAY_S
        for parcel in self._folder.glob("*"):
            whole, held = (parcel / ASKED).exists(), (parcel / HELD).exists()
            lives_s = kept_s if held else DAY_S
            if (held or not whole) and parcel.stat().st_mtime < now_s - lives_s:
                shutil.rmtree(parcel, ignore_errors=True)

    def _parcels(self) -> Iterator[Path]:
        return (one.parent for one in sorted(self._folder.glob(f"*/{ASKED}")))

    def _left_of(self, import_id: str) -> tuple[Path, Claim]:
        """What was sent of an import that is over, and the right to it."""
        parcel = self._parcel_of(import_id)
        claim = self._claim(parcel)
        if claim is None:
            raise Conflict(f"{import_id!r} is under way elsewhere", hint="Wait until it is in.")
        return parcel, claim

    def _parcel_of(self, import_id: str) -> Path:
        for parcel in self._parcels():
            with suppress(EverloopError):
                if import_id_of(self._opened(parcel)[1]) == import_id:
                    return parcel
        raise NotFound(f"nothing of {import_id!r} is left here", hint="Send the file again.")

    def _opened(self, parcel: Path) -> tuple[Asked, OpenedExport]:
        try:
            asked = msgspec.json.decode((parcel / ASKED).read_bytes(), type=Asked)
        except (OSError, msgspec.MsgspecError) as problem:
            raise NotFound(f"{parcel.name} cannot be read: {problem}") from problem
        limits = self._running.settings.thread.imports
        return asked, open_export(parcel / asked.name, limits)

    def _claim(self, parcel: Path) -> Claim | None:
        return self._running.engine.log.own(f"import:{parcel.name}")

    def _begin(self, parcel: Path, claim: Claim) -> Job:
        try:
            job = Job(parcel, *self._opened(parcel))
        except EverloopError:
            claim.release()
            raise
        with self._lock:
            known = self._jobs.get(job.import_id)
            if known is not None and not known.over.is_set():
                shutil.rmtree(parcel, ignore_errors=True)  # the same was sent before
                claim.release()
                return known
            self._jobs[job.import_id] = job
            self._hands.submit(self._carry, job, claim)
        return job

    def _carry(self, job: Job, claim: Claim) -> None:
        state: State = "failed"
        problem: EverloopError | None = Unavailable("the import ended unexpectedly", hint=AGAIN)
        try:
            self._import(job)
            state, problem = "done", None
        except BrokenOff:
            state, problem = "broken off", None
        except EverloopError as said:
            problem = said
        except OSError as said:
            problem = Unavailable(str(said), hint=AGAIN)
        finally:
            self._put_away(job, over=state == "done" or isinstance(problem, Rejected))
            claim.release()
            job.problem = problem
            job.over.set()
            job.state = state  # last: whoever sees it sees all

    def _put_away(self, job: Job, *, over: bool) -> None:
        if over:
            shutil.rmtree(job.parcel, ignore_errors=True)  # what is refused would be again
        elif job.unwanted.is_set():
            with suppress(OSError):
                (job.parcel / HELD).touch()

    def _import(self, job: Job) -> None:
        engine, limits = self._running.engine, self._running.settings.thread.imports
        importer = Importer(
            engine.log,
            engine.do_many,
            job.asked.by,
            batch=limits.batch,
            into_home=job.asked.home,
            keep=job.export.keeping(self._running.files),
        )

        def progress(done: int, total: int) -> None:
            del total
            job.bytes_read = done
            job.messages, job.known = importer.taken
            if job.unwanted.is_set() or self._closing.is_set():
                raise BrokenOff

        job.state = "running"
        progress(0, job.export.size)
        job.result = importer.run(job.export, progress)
        job.bytes_read = job.export.size
        job.messages, job.known = importer.taken
