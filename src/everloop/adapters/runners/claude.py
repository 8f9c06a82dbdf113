"""The Claude Code runner: plans, questions, approvals, sub-agents, sessions that are resumed.

The CLI runs in a process of its own (`claude_host.py`), whose records are read here. It uses the
user's own login, or a key that was granted. Its configuration is private to the task, but for the
user's own login without a sandbox.
"""

import importlib.util
import os
import uuid
from collections.abc import Iterator, Mapping, Sequence
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
)
from everloop.errors import RunnerFailed
from everloop.workers import (
    CLAUDE_HOSTS,
    Conclusion,
    Launch,
    Parsed,
    PreparedWorkspace,
    ProcessExit,
    Task,
)

QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "CLAUDE_CODE_DISABLE_BACKGROUND_TASKS": "1",
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_TOOL_SEARCH": "false",
}
KEYS = (
    "ANTHROPIC_API_KEY",
    "ANTHROPIC_AUTH_TOKEN",
    "ANTHROPIC_BASE_URL",
    "CLAUDE_CODE_MAX_RETRIES",
)
CONFIGURATION = "CLAUDE_CONFIG_DIR"
LOGIN_FOLDER = "CLAUDE_SECURESTORAGE_CONFIG_DIR"  # where the CLI has its login, if elsewhere
PLANNING = (
    "Make a plan for this task first. Ask the user with AskUserQuestion where something is unclear."
    " Change nothing yet.\n\n"
)


class ClaudeRunner:
    """Runs tasks with Claude Code."""

    name = "claude"

    def __init__(
        self, model: str = "", variables: Sequence[str] = KEYS, hosts: Sequence[str] = CLAUDE_HOSTS
    ) -> None:
        self._model, self._hosts = model, tuple(hosts)
        self._variables = tuple(variables)

    @property
    def is_installed(self) -> bool:
        """Whether claude-agent-sdk is there, which brings the CLI."""
        return importlib.util.find_spec("claude_agent_sdk") is not None

    def launch(self, task: Task, place: PreparedWorkspace, folder: Path) -> Launch:
        """The host process with its order.

        Raises:
            RunnerFailed: claude-agent-sdk is not installed.
        """
        if not self.is_installed:
            raise RunnerFailed(
                "Claude Code needs claude-agent-sdk",
                hint="Install it: pip install 'everloop[claude]'",
            )
        agent = folder.parent / "agent"
        task = with_known_session(task, agent)
        agent.mkdir(mode=0o700, parents=True, exist_ok=True)
        login = self._login(agent, sandboxed=has_sandbox(task))
        environment = {**scrubbed_environment(task, folder), **QUIET, **login}
        if task.spec.grants.skip_permissions:
            environment["IS_SANDBOX"] = "1"
        order = self._order(task, place, agent, environment)
        (folder / "order.json").write_bytes(msgspec.json.encode(order))
        limits = task.spec.limits
        argv = host_command("claude_host", folder)
        writable = (Path(place.path), folder, agent, *_credentials(login))
        readable = (*host_needs(), *git_folder(place))
        hosts = (*self._hosts, *hosts_of(login))
        needs = SandboxNeeds(writable, readable, hosts, folder / "proxy")
        return Launch(
            argv=in_sandbox(task, argv, needs),
            cwd=place.path,
            env=environment,
            time_s=limits.time_s,
            output_bytes_max=RECORDS_BYTES_MAX,
            memory_bytes_max=0,  # the CLI reserves far more address space than it uses
            processes_max=limits.processes_max,
        )

    def parse(self, data: bytes, *, ended: bool) -> Parsed:
        """The whole lines of a piece of output."""
        return parse_records(data, ended=ended)

    def conclude(self, task: Task, ended: ProcessExit, tail: bytes) -> Conclusion:
        """What the last record says; without one, what happened is uncertain."""
        return conclude_records(task, ended, tail, "Claude Code")

    def input_lines(self, task: Task, sent: Sequence[str]) -> list[tuple[str, bytes]]:
        """Answers that came while the process runs, and messages of the user."""
        return input_records(task, sent)

    def _login(self, agent: Path, *, sandboxed: bool) -> dict[str, str]:
        """The variables of a key, with a private configuration; else the user's own login.

        In the sandbox the configuration is private in any case: the user's own has hooks, which
        run in their later sessions. Of it there is only the file with the login.
        """
        found = {name: os.environ[name] for name in self._variables if os.environ.get(name)}
        if found.keys() & {"ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"}:
            return {**found, CONFIGURATION: str(agent)}
        own = os.environ.get(CONFIGURATION) or str(Path.home() / ".claude")
        if sandboxed:
            return {**found, CONFIGURATION: str(agent), LOGIN_FOLDER: own}
        return {**found, CONFIGURATION: own}

    def _order(
        self, task: Task, place: PreparedWorkspace, agent: Path, environment: dict[str, str]
    ) -> dict[str, Any]:
        left = max(0.01, task.spec.limits.cost_usd - task.cost_usd)
        return {
            "step": task.step,
            "prompt": agent_prompt(task, PLANNING),
            "session_id": task.session_id or str(uuid.uuid4()),
            "resume": bool(task.session_id),
            "replies": {one.call_id: reply_record(one) for one in task.replies},
            "model": task.spec.model or self._model,
            "cwd": place.path,
            "agent_folder": str(agent),
            "budget_usd": left,
            "skip_permissions": task.spec.grants.skip_permissions,
            "sandboxed": has_sandbox(task),
            "private": [environment["TMPDIR"]],
            "withheld": [*_folders_withheld(environment), PROCESSES],
            "env": environment,
        }


def _credentials(login: Mapping[str, str]) -> tuple[Path, ...]:
    """The file with the user's own login; the CLI renews it in place where it is mounted alone."""
    file = Path(login.get(LOGIN_FOLDER, "")) / ".credentials.json"
    return (file,) if LOGIN_FOLDER in login and file.is_file() else ()


def _folders_withheld(environment: Mapping[str, str]) -> Iterator[str]:
    """The folders with the agent's configuration and login."""
    return (environment[name] for name in (CONFIGURATION, LOGIN_FOLDER) if name in environment)
