"""What every import of a file has: a spec in the job's folder, an upload, and an outcome.

What was uploaded lies in the job's folder until all of it is imported. An import from the command
line names the file instead.
"""

from pathlib import Path
from typing import Generic, TypeVar

import msgspec

from everloop.background.jobs import IMPORTS_SPEC, Job, JobQueue
from everloop.errors import Conflict, NotFound
from everloop.log import Context


class FileImportSpec(msgspec.Struct, frozen=True, kw_only=True):
    """Which file is to be imported, and for whom. It lies in the job's folder."""

    name: str
    by: Context
    path: str = ""  # of a file that was not uploaded

    def file(self, folder: Path) -> Path:
        """Where the file is, for the job in this folder."""
        return Path(self.path) if self.path else folder / self.name


Result = TypeVar("Result")
Spec = TypeVar("Spec", bound=FileImportSpec)


class FileImportJob(Job, Generic[Result]):
    """One import, and how far it is."""

    unit = "bytes"
    result: Result | None = None

    def outcome(self) -> Result:
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


ImportKind = TypeVar("ImportKind", bound=Job)


class FileImportJobs(JobQueue[ImportKind], Generic[ImportKind]):
    """The imports of one kind of one log."""

    complete = IMPORTS_SPEC

    def upload_path(self, name: str) -> Path:
        """Where to write an uploaded file: in the folder of a new job."""
        safe = f"_{name}" if name == self.complete else name
        path = self.new_folder() / safe
        path.touch()
        return path

    def read_spec(self, folder: Path, kind: type[Spec]) -> Spec:
        """The spec of the job in a folder.

        Raises:
            NotFound: it cannot be read.
        """
        try:
            return msgspec.json.decode((folder / self.complete).read_bytes(), type=kind)
        except (OSError, msgspec.MsgspecError) as problem:
            raise NotFound(f"{folder.name} cannot be read: {problem}") from problem
