"""The runner `kubernetes`: a command, or an agent with its brief, in a Job's container."""

from collections.abc import Sequence
from pathlib import Path

from everloop.adapters.kubernetes.manifest import EVICTED, EVICTED_UNSTARTED, LOGIN, LOST, WORKSPACE
from everloop.adapters.runners.command import CommandRunner
from everloop.errors import Invalid
from everloop.workers import (
    CheckFiles,
    Conclusion,
    KubernetesSettings,
    Launch,
    Parsed,
    PreparedWorkspace,
    ProcessExit,
    Task,
)

NAME = "kubernetes"
WAS_EVICTED = (
    "The cluster evicted its pod while it worked, so what it did is not known. Nothing of it runs."
)
EARLY = "The cluster evicted its pod before the container began."
GONE = "Its pod is gone, so how it ended is not known."


class KubernetesRunner:
    """Runs a task's command in the configured image; without one, the agent with the brief."""

    name = NAME
    is_installed = True

    def __init__(self, settings: KubernetesSettings) -> None:
        self._settings = settings
        self._command = CommandRunner()

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The container's command. It inherits nothing of this machine.

        Raises:
            Invalid: the task asks for what a Job cannot give.
        """
        del folder
        if task.spec.check or task.spec.plan_first or task.spec.workspace.kind != "scratch":
            raise Invalid(
                "a Job works in an empty folder of its own, without plan and check",
                hint="Let the command clone what it needs, check it, and push what it made.",
            )
        argv = task.spec.command or (*self._settings.agent_command, task.spec.brief)
        env = {
            "HOME": WORKSPACE,
            "TMPDIR": "/tmp",  # noqa: S108 - inside the pod
            "GIT_TERMINAL_PROMPT": "0",
            "EVERLOOP_TASK": task.task_id,
        }
        if self._settings.login_secret:
            env["CLAUDE_CONFIG_DIR"] = LOGIN
        limits = task.spec.limits
        return Launch(argv, place.path, env, limits.time_s, limits.output_bytes_max)

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """Output up to the last whole line; at the end, all of it."""
        return self._command.parse(data, ended=ended)

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """Eviction is no failure of the work: what had begun is uncertain, the rest is retried."""
        if ended.reason == EVICTED:
            return Conclusion("uncertain", WAS_EVICTED)
        if ended.reason == EVICTED_UNSTARTED:
            return Conclusion("failed", EARLY, passing=True)
        if ended.reason == LOST:
            return Conclusion("uncertain", GONE)
        return self._command.conclude(task, ended, tail)

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Nothing: a Job reads no messages."""
        del task, sent
        return []


class PodWorkspaces:
    """The folder inside each pod, which is gone with it."""

    def prepare(self, task: Task) -> PreparedWorkspace:
        """The folder inside the pod."""
        del task
        return PreparedWorkspace(WORKSPACE)

    def diff(self, task: Task) -> str:
        """Nothing: the folder is not here."""
        del task
        return ""

    def compare_check_files(self, task: Task) -> CheckFiles:
        """Nothing: a Job has no check."""
        raise Invalid(f"task {task.task_id!r} runs in a Job, which has no check", hint="Remove it.")

    def dispose(self, task: Task, disposition: str) -> str:
        """Nothing is left to dispose of."""
        del task
        return f"{disposition}: its folder went with the pod"
