"""Imports of conversations as durable jobs, the same ones for every interface.

Messages that were imported before are skipped.
"""

from collections.abc import Callable
from pathlib import Path

import msgspec

from everloop.adapters.exports.open_export import OpenedExport, open_export
from everloop.app import Engine
from everloop.background.jobs import DAY_S, IMPORTS_SUFFIX
from everloop.errors import EverloopError
from everloop.import_jobs.file_import import FileImportJob, FileImportJobs, FileImportSpec
from everloop.inbox import Choice, RaiseRequest
from everloop.log import Context
from everloop.ports import Progress
from everloop.thread.settings import ImportLimits
from everloop.thread.transfer.import_threads import ImportResult, ThreadImporter, import_id_of


class ImportSpec(FileImportSpec, frozen=True, kw_only=True):
    """How a file is to be imported: into threads of its own, or all into the home thread."""

    home: bool


class ImportJob(FileImportJob[ImportResult]):
    """One import, and how far it is."""

    kind = "import"

    def __init__(self, folder: Path, spec: ImportSpec, export: OpenedExport) -> None:
        super().__init__(folder, import_id_of(export), export.name)
        self.spec, self.export = spec, export
        self.total = export.size
        self.messages, self.known = 0, 0
        self.importer: ThreadImporter | None = None
        self.on_failure: Callable[[EverloopError], None] | None = None

    def run(self) -> None:
        """Import what is not there yet."""
        assert self.importer is not None, "the queue gives it"
        self._note(0, self.export.size)
        try:
            self.result = self.importer.run(self.export, self._note)
        except EverloopError as problem:
            if self.on_failure is not None:
                self.on_failure(problem)
            raise
        self.messages, self.known = self.importer.counts
        self.done = self.export.size

    def release(self) -> None:
        """Let go of the file: what was imported from it is in the log."""
        self.importer = None
        self.export.close()

    def _note(self, done: int, total: int) -> None:
        del total
        assert self.importer is not None
        self.messages, self.known = self.importer.counts
        self.advance(done, self.export.size)


class ImportJobs(FileImportJobs[ImportJob]):
    """The imports of one log."""

    name = "imports"

    def __init__(self, engine: Engine, limits: Callable[[], ImportLimits]) -> None:
        log = engine.log
        super().__init__(log, engine.ports.clock, log.file.path.with_suffix(IMPORTS_SUFFIX))
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
        spec = self.read_spec(folder, ImportSpec)
        export = open_export(spec.file(folder), self._limits())
        job = ImportJob(folder, spec, export)
        job.importer = ThreadImporter(
            self._engine.log,
            self._engine,
            spec.by,
            batch=self._limits().batch,
            into_home=spec.home,
            keep=export.file_storer(self._engine.files),
        )
        if not spec.path:  # nobody waits for an upload, so its failure goes to the inbox
            job.on_failure = lambda problem: self._report_failure(job, problem)
        return job

    def _report_failure(self, job: ImportJob, problem: EverloopError) -> None:
        request = RaiseRequest(
            self._engine.log.ids.new("req"),
            "failed_import",
            f"Import of {job.title} failed",
            f"{problem}\n{problem.hint}".strip(),
            (Choice("dismiss", "OK"),),
            subject=f"import:{job.job_id}",
        )
        self._engine.do(request, by=Context(actor="engine"))

    def submit_upload(self, path: Path, *, into_home: bool, by: Context) -> ImportJob:
        """Import an uploaded file in the background.

        Raises:
            Invalid: it is not an export.
        """
        spec = ImportSpec(name=path.name, home=into_home, by=by)
        return self.submit(path.parent, msgspec.json.encode(spec))

    def import_file(
        self, path: Path, *, into_home: bool, by: Context, progress: Progress | None
    ) -> ImportResult:
        """Import a file now, in the calling thread.

        Raises:
            EverloopError: it failed.
        """
        spec = ImportSpec(name=path.name, home=into_home, by=by, path=str(path.absolute()))
        return self.run_here(self.new_folder(), msgspec.json.encode(spec), progress).outcome()
