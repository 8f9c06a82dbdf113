"""Imports of conversations as durable jobs, the same ones for every interface.

What was uploaded lies in the job's folder until all of it is imported. An import from the command
line names the file instead. Messages that were imported before are skipped.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from everloop.adapters.exports.open_export import OpenedExport, open_export
from everloop.app import Engine
from everloop.background.jobs import DAY_S, Job, JobQueue
from everloop.errors import Conflict, NotFound
from everloop.log import Context
from everloop.ports import Progress
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.import_threads import ImportResult, ThreadImporter, import_id_of

SUFFIX = ".imports"  # of the folder beside the log: another log in the same home has its own


class ImportSpec(msgspec.Struct, frozen=True):
    """How a file is to be imported. It lies in the job's folder, beside an uploaded file."""

    name: str
    home: bool
    by: Context
    path: str = ""  # of a file that was not uploaded


class ImportJob(Job):
    """One import, and how far it is."""

    kind = "import"
    unit = "bytes"

    def __init__(self, folder: Path, spec: ImportSpec, export: OpenedExport) -> None:
        super().__init__(folder, import_id_of(export), export.name)
        self.spec, self.export = spec, export
        self.total = export.size
        self.messages, self.known = 0, 0
        self.result: ImportResult | None = None
        self.importer: ThreadImporter | None = None

    def outcome(self) -> ImportResult:
        """What it led to, when it is over.

        Raises:
            EverloopError: it failed, or was cancelled.
        """
        self.over.wait()
        if self.problem is not None:
            raise self.problem
        if self.result is None:
            raise Conflict("the import was cancelled", hint="Resume it to go on.")
        return self.result

    def run(self) -> None:
        """Import what is not there yet."""
        assert self.importer is not None, "the queue gives it"
        self._note(0, self.export.size)
        self.result = self.importer.run(self.export, self._note)
        self.messages, self.known = self.importer.counts
        self.done = self.export.size

    def _note(self, done: int, total: int) -> None:
        del total
        assert self.importer is not None
        self.messages, self.known = self.importer.counts
        self.advance(done, self.export.size)


class ImportJobs(JobQueue[ImportJob]):
    """The imports of one log."""

    name = "imports"
    complete = "asked.json"

    def __init__(self, engine: Engine, limits: Callable[[], ImportLimits]) -> None:
        log = engine.log
        super().__init__(log, engine.world.clock, log.file.path.with_suffix(SUFFIX))
        self._engine, self._limits = engine, limits

    @property
    def kept_s(self) -> float:
        """How long a cancelled import is kept to be resumed."""
        return self._limits().kept_days * DAY_S

    def open_job(self, folder: Path) -> ImportJob:
        """The import that lies in a folder.

        Raises:
            Invalid: the file is not an export.
            NotFound: it cannot be read.
        """
        try:
            spec = msgspec.json.decode((folder / self.complete).read_bytes(), type=ImportSpec)
        except (OSError, msgspec.MsgspecError) as problem:
            raise NotFound(f"{folder.name} cannot be read: {problem}") from problem
        export = open_export(Path(spec.path) if spec.path else folder / spec.name, self._limits())
        job = ImportJob(folder, spec, export)
        job.importer = ThreadImporter(
            self._engine.log,
            self._engine,
            spec.by,
            batch=self._limits().batch,
            into_home=spec.home,
            keep=export.file_storer(self._engine.files),
        )
        return job

    def upload_path(self, name: str) -> Path:
        """Where to write an uploaded file: in the folder of a new job."""
        safe = f"_{name}" if name == self.complete else name
        path = self.new_folder() / safe
        path.touch()
        return path

    def submit_upload(self, path: Path, *, into_home: bool, by: Context) -> ImportJob:
        """Import an uploaded file in the background.

        Raises:
            Invalid: it is not an export.
        """
        spec = ImportSpec(path.name, into_home, by)
        return self.submit(path.parent, msgspec.json.encode(spec))

    def import_file(
        self, path: Path, *, into_home: bool, by: Context, progress: Progress | None
    ) -> ImportResult:
        """Import a file now, in the calling thread.

        Raises:
            EverloopError: it failed.
        """
        spec = ImportSpec(path.name, into_home, by, str(path.absolute()))
        return self.run_here(self.new_folder(), msgspec.json.encode(spec), progress).outcome()
