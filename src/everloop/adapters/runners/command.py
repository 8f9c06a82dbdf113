"""The command runner: any program. Its output is the transcript, its exit code the verdict."""

from collections.abc import Sequence
from pathlib import Path

from everloop.adapters.runners.environment import scrubbed_environment
from everloop.adapters.runners.sandbox import SandboxNeeds, git_folder, in_sandbox
from everloop.workers import (
    Conclusion,
    Launch,
    Parsed,
    PreparedWorkspace,
    ProcessExit,
    Task,
    TranscriptEntry,
)

TAIL_SHOWN = 2_000  # characters of the end of the output that a failure shows


class CommandRunner:
    """Runs a task's command, and the check command of any task."""

    name = "command"
    is_installed = True

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The task's command, or its check, in its workspace."""
        argv = task.spec.check if task.step == "check" else task.spec.command
        limits = task.spec.limits
        writable = (Path(place.path), folder / "home", folder / "tmp")
        needs = SandboxNeeds(writable, git_folder(place))
        return Launch(
            argv=in_sandbox(task, argv, needs),
            cwd=place.path,
            env=scrubbed_environment(task, folder),
            time_s=limits.time_s,
            output_bytes_max=limits.output_bytes_max,
            memory_bytes_max=limits.memory_bytes_max,
            processes_max=limits.processes_max,
        )

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """Output up to the last whole line; at the end, all of it."""
        whole = len(data) if ended else data.rfind(b"\n") + 1
        if not whole:
            return Parsed(0)
        text = data[:whole].decode(errors="replace")
        return Parsed(whole, (TranscriptEntry("output", text),))

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """Exit code 0 is success; anything else is a failure, with the end of the output."""
        said = tail.decode(errors="replace")[-TAIL_SHOWN:].strip()
        if ended.reason == "timeout":
            return Conclusion("failed", f"It took longer than {task.spec.limits.time_s} s.\n{said}")
        if ended.reason == "cancelled":
            return Conclusion("cancelled", "It was cancelled.")
        if ended.reason != "exited":
            return Conclusion("failed", ended.reason)
        if ended.exit_code == 0:
            return Conclusion("succeeded", claim=said if task.step == "run" else "")
        return Conclusion("failed", f"Exit code {ended.exit_code}.\n{said}".strip())

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Nothing: a command reads no messages."""
        del task, sent
        return []
