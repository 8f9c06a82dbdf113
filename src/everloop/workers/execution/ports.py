"""What running a task needs from outside: processes, workspaces and runners.

A process is known by its folder alone. So a server that starts again finds what an earlier one
started, and a runner whose process is on another machine can offer the same.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Protocol

import msgspec

from everloop.inbox import Question
from everloop.workers.model.check_files import CheckFiles
from everloop.workers.model.events import TranscriptEntry
from everloop.workers.model.spec import Outcome
from everloop.workers.model.state import Task


class Launch(msgspec.Struct, frozen=True):
    """A command to start, with all that it may have. `env` is the whole environment."""

    argv: tuple[str, ...]
    cwd: str
    env: dict[str, str]
    time_s: int
    output_bytes_max: int
    memory_bytes_max: int = 0
    processes_max: int = 0
    grace_s: float = 5.0


class ProcessExit(msgspec.Struct, frozen=True):
    """How a process ended. `reason` is exited, timeout, cancelled, or why it could not start."""

    exit_code: int
    reason: str
    output_digest: str
    output_bytes: int
    duration_s: float


class ProcessStatus(msgspec.Struct, frozen=True):
    """What is known of a process. Neither alive nor ended: it was lost, or never begun."""

    alive: bool
    begun: bool
    exit: ProcessExit | None = None


class Processes(Protocol):
    """Starts, finds and ends the processes of attempts on this machine."""

    @property
    def host(self) -> str:
        """The name of this machine, stable over restarts."""
        ...

    def folder(self, task_id: str, attempt: int) -> Path:
        """The folder of an attempt: its output, its private home and its temporary files."""
        ...

    def alive(self) -> list[tuple[str, int]]:
        """The attempts whose process lives: task and number of each."""
        ...

    def start(self, folder: Path, launch: Launch) -> None:
        """Start a process that lives on when this one dies.

        Raises:
            RunnerFailed: it cannot be started.
        """
        ...

    def status(self, folder: Path) -> ProcessStatus:
        """What is known of the process of a folder."""
        ...

    def read(self, folder: Path, offset: int, limit: int) -> bytes:
        """Output from an offset on."""
        ...

    def send(self, folder: Path, line: bytes) -> None:
        """Add a line to the input that a process follows."""
        ...

    def terminate(self, folder: Path) -> None:
        """Ask a process to end, with everything it started. Asking again is harmless."""
        ...

    def sweep(self, folder: Path) -> None:
        """End whatever a lost process left behind."""
        ...


class PreparedWorkspace(msgspec.Struct, frozen=True):
    """A prepared workspace. `repository` is where git keeps it: to be read, not written."""

    path: str
    branch: str = ""
    repository: str = ""


class Workspaces(Protocol):
    """Prepares, compares and disposes of the folders in which tasks work."""

    def prepare(self, task: Task) -> PreparedWorkspace:
        """The workspace of a task, made if it is not there yet.

        Raises:
            Rejected: it cannot be made as asked.
            RunnerFailed: making it failed.
        """
        ...

    def diff(self, task: Task) -> str:
        """What the task changed, as a patch; empty without a repository."""
        ...

    def compare_check_files(self, task: Task) -> CheckFiles:
        """What the worker did to the files that the task's check depends on."""
        ...

    def dispose(self, task: Task, disposition: str) -> str:
        """Keep, merge or discard; returns what was done.

        Raises:
            Rejected: it cannot be done without losing work.
        """
        ...


class FolderSize(msgspec.Struct, frozen=True):
    """What a task takes on this machine's disk: its workspace, and the folders of its processes."""

    task_id: str
    size: int


class TaskFolders(Protocol):
    """The folders of the processes of tasks on this machine, after they ended."""

    def task_ids(self) -> list[str]:
        """The tasks that have such folders."""
        ...

    def measure(self, max_age_s: float = 0.0) -> list[FolderSize]:
        """What each task takes, the largest first, as it was at most so long ago.

        Raises:
            RunnerFailed: it cannot be measured.
        """
        ...

    def workspace(self, task_id: str) -> Path:
        """Where the workspace of a task is, if it has one here."""
        ...

    def has_attempts(self, task_id: str) -> bool:
        """Whether a task has folders of attempts."""
        ...

    def remove_temporary(self, task_id: str) -> None:
        """Remove the temporary files of all attempts of a task. Its output and session stay."""
        ...

    def remove(self, task_id: str) -> None:
        """Remove all folders of the attempts of a task. Its workspace stays."""
        ...

    def empty_trash(self) -> None:
        """Delete what was removed, beside the work that goes on."""
        ...


class SessionReport(msgspec.Struct, frozen=True):
    """The session of the agent."""

    session_id: str


class QuestionReport(msgspec.Struct, frozen=True):
    """The agent asks the user."""

    call_id: str
    questions: tuple[Question, ...]


class ApprovalReport(msgspec.Struct, frozen=True):
    """The agent needs an approval."""

    call_id: str
    tool: str
    arguments: str


class SpendingReport(msgspec.Struct, frozen=True):
    """What was spent since the last report."""

    cost_usd: float
    tokens: int
    model: str = ""


class DeliveredReport(msgspec.Struct, frozen=True):
    """A message of the user reached the agent."""

    message_id: str


Report = SessionReport | QuestionReport | ApprovalReport | SpendingReport | DeliveredReport


class Parsed(msgspec.Struct, frozen=True):
    """What a piece of output says. `consumed` bytes of it were whole; the rest is read again."""

    consumed: int
    entries: tuple[TranscriptEntry, ...] = ()
    reports: tuple[Report, ...] = ()


class Conclusion(msgspec.Struct, frozen=True):
    """What the end of a process means for its attempt."""

    outcome: Outcome
    reason: str = ""
    passing: bool = False
    limit: str = ""
    plan: str = ""
    claim: str = ""


class Runner(Protocol):
    """A way to do the work of a task: a command, or an agent."""

    @property
    def name(self) -> str:
        """The name by which a task chooses it."""
        ...

    @property
    def is_installed(self) -> bool:
        """Whether this machine has what it needs to start."""
        ...

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The process that does the current step of a task.

        Raises:
            Rejected: the task asks for what is not allowed here.
            RunnerFailed: something that it needs is missing.
        """
        ...

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """What a piece of output says."""
        ...

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """What the end of the process means; `tail` is the end of its output."""
        ...

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Answers and messages for the running process, by id, without those sent before."""
        ...
