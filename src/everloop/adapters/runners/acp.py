"""The runner of agents that speak the Agent Client Protocol, such as Codex, Gemini and goose.

The agent runs below a host process (`acp_host.py`), whose records are read here. Each agent of the
settings is one runner, chosen by its name.
"""

import importlib.util
import os
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import msgspec

from everloop.adapters.runners.agent_records import (
    RECORDS_BYTES_MAX,
    agent_prompt,
    conclude_records,
    host_command,
    host_needs,
    input_records,
    parse_records,
    reply_record,
    with_known_session,
)
from everloop.adapters.runners.environment import scrubbed_environment
from everloop.adapters.runners.sandbox import (
    PROCESSES,
    SandboxNeeds,
    git_folder,
    has_sandbox,
    hosts_of,
    in_sandbox,
    settings_in,
)
from everloop.errors import RunnerFailed
from everloop.workers import (
    AgentSettings,
    Conclusion,
    Launch,
    Parsed,
    PreparedWorkspace,
    ProcessExit,
    Task,
)

PLANNING = (
    "Make a plan for this task first. Change nothing yet, and run nothing that changes anything."
    " Answer with the plan.\n\n"
)


class AcpRunner:
    """Runs tasks with one agent."""

    def __init__(self, name: str, settings: AgentSettings) -> None:
        self._name, self._settings = name, settings

    @property
    def name(self) -> str:
        """The name of the agent in the settings."""
        return self._name

    @property
    def is_installed(self) -> bool:
        """Whether both the agent and the protocol's package are there."""
        words = self._settings.command
        return bool(
            words and importlib.util.find_spec("acp") is not None and shutil.which(words[0])
        )

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The host process with its order.

        Raises:
            RunnerFailed: the agent, or the protocol's package, is not installed.
        """
        command = self._command()
        agent = folder.parent / "agent"
        task = with_known_session(task, agent)
        home = agent / "home"
        home.mkdir(mode=0o700, parents=True, exist_ok=True)
        variables = {
            name: os.environ[name] for name in self._settings.variables if name in os.environ
        }
        environment = {**scrubbed_environment(task, folder), "HOME": str(home), **variables}
        if task.spec.grants.skip_permissions:
            environment["IS_SANDBOX"] = "1"
        logins = self._link_logins(home)
        order = {
            **self._order(task, place, agent, command),
            "sandboxed": has_sandbox(task),
            "private": [environment["TMPDIR"]],
            "withheld": [*map(str, logins), PROCESSES],
        }
        (folder / "order.json").write_bytes(msgspec.json.encode(order))
        limits = task.spec.limits
        writable = (Path(place.path), folder, agent, *logins)
        readable = (*host_needs(), *git_folder(place), Path(command[0]).parent)
        hosts = (*self._settings.hosts, *hosts_of(variables))
        settings = tuple(path for one in logins for path in settings_in(one))
        needs = SandboxNeeds(writable, readable, hosts, folder / "proxy", settings)
        return Launch(
            argv=in_sandbox(task, host_command("acp_host", folder), needs),
            cwd=place.path,
            env=environment,
            time_s=limits.time_s,
            output_bytes_max=RECORDS_BYTES_MAX,
            memory_bytes_max=0,  # agents in Node reserve far more address space than they use
            processes_max=limits.processes_max,
        )

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """The whole lines of a piece of output."""
        return parse_records(data, ended=ended)

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """What the last record says; without one, what happened is uncertain."""
        return conclude_records(task, ended, tail, f"The agent {self._name!r}")

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Answers that came while the process runs, and messages of the user."""
        return input_records(task, sent)

    def _command(self) -> tuple[str, ...]:
        if importlib.util.find_spec("acp") is None:
            raise RunnerFailed(
                "agents of the Agent Client Protocol need a package",
                hint="Install it: pip install 'everloop[acp]'",
            )
        words = self._settings.command
        found = shutil.which(words[0]) if words else None
        if found is None:
            raise RunnerFailed(
                f"the agent {self._name!r} is not installed",
                hint=f"Install {words[0] if words else 'it'!r}, or change `workers.agents`"
                " in the settings.",
            )
        return (found, *words[1:])

    def _link_logins(self, home: Path) -> list[Path]:
        """Folders with the user's login of this agent, reachable from its own home."""
        found: list[Path] = []
        for name in self._settings.login_folders:
            source, link = Path.home() / name, home / name
            if source.is_dir():
                link.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
                if not link.is_symlink():
                    link.symlink_to(source)
                found.append(source)
        return found

    def _order(
        self,
        task: Task,
        place: PreparedWorkspace,
        agent: Path,
        command: tuple[str, ...],
    ) -> dict[str, Any]:
        return {
            "step": task.step,
            "command": command,
            "prompt": agent_prompt(task, PLANNING),
            "whole_prompt": _whole_prompt(task),
            "session_id": task.session_id,
            "replies": {one.call_id: reply_record(one) for one in task.replies},
            "cwd": place.path,
            "agent_folder": str(agent),
            "skip_permissions": task.spec.grants.skip_permissions,
        }


def _whole_prompt(task: Task) -> str:
    """Everything again, for an agent that cannot resume its session."""
    parts = [task.spec.brief]
    if task.plan_approved:
        parts.append(f"The user approved this plan. Carry it out:\n\n{task.plan}")
    if task.feedback:
        parts.append("These changes are asked for:\n\n" + "\n\n".join(task.feedback))
    return "\n\n".join(parts) if task.step == "run" else PLANNING + "\n\n".join(parts)
