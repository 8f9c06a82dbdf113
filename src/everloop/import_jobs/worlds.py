"""Imports of cards, lorebooks, chats and worlds as durable jobs, the same ones for every interface.

An import from the command line may name a folder. What was imported before is skipped.
"""

from pathlib import Path

import msgspec

from everloop.app import Engine
from everloop.background.jobs import DAY_S, WORLD_IMPORTS_SUFFIX
from everloop.import_jobs.file_import import FileImportJob, FileImportJobs, FileImportSpec
from everloop.log import Context
from everloop.ports import Progress
from everloop.worlds import (
    ExchangeLimits,
    ExchangeService,
    ImportChoices,
    ImportSource,
    WorldImportResult,
)


class WorldImportSpec(FileImportSpec, frozen=True, kw_only=True):
    """What is to be imported, and what the player chose."""

    choices: ImportChoices = ImportChoices()


class WorldImportJob(FileImportJob[WorldImportResult]):
    """One import, and how far it is."""

    kind = "world-import"

    def __init__(
        self, folder: Path, spec: WorldImportSpec, source: ImportSource, exchange: ExchangeService
    ) -> None:
        super().__init__(folder, source.import_id, source.name)
        self._spec, self._exchange = spec, exchange
        self._source: ImportSource | None = source
        self.total = source.size

    def run(self) -> None:
        """Import what is not there yet."""
        assert self._source is not None, "it runs once"
        self.advance(0, self.total)
        spec = self._spec
        self.result = self._exchange.run(self._source, spec.by, spec.choices, self.advance)

    def release(self) -> None:
        """Let go of the file: what was imported from it is in the log."""
        self._source = None


class WorldImportJobs(FileImportJobs[WorldImportJob]):
    """The imports into worlds of one log."""

    name = "world-imports"

    def __init__(self, engine: Engine, limits: ExchangeLimits) -> None:
        log = engine.log
        super().__init__(log, engine.ports.clock, log.file.path.with_suffix(WORLD_IMPORTS_SUFFIX))
        self._engine, self._limits = engine, limits

    @property
    def kept_s(self) -> float:
        """How long a cancelled import is kept to be resumed."""
        return self._limits.kept_days * DAY_S

    def open_job(self, folder: Path) -> WorldImportJob:
        """The import that lies in a folder.

        Raises:
            Invalid: the file is nothing that can be imported.
            NotFound: it cannot be read.
        """
        spec = self.read_spec(folder, WorldImportSpec)
        exchange = self._engine.exchange
        source = exchange.open(spec.file(folder))
        return WorldImportJob(folder, spec, source, exchange)

    def submit_upload(self, path: Path, choices: ImportChoices, by: Context) -> WorldImportJob:
        """Import an uploaded file in the background.

        Raises:
            Invalid: it is nothing that can be imported.
        """
        spec = WorldImportSpec(name=path.name, by=by, choices=choices)
        return self.submit(path.parent, msgspec.json.encode(spec))

    def import_path(
        self, path: Path, choices: ImportChoices, by: Context, progress: Progress | None
    ) -> WorldImportResult:
        """Import a file or folder now, in the calling thread.

        Raises:
            EverloopError: it failed.
        """
        spec = WorldImportSpec(name=path.name, by=by, choices=choices, path=str(path.absolute()))
        return self.run_here(self.new_folder(), msgspec.json.encode(spec), progress).outcome()
