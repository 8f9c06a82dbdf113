"""The real Claude Code with what `everloop install` wrote: our tools, our hooks, a model of ours.

It runs with nothing inherited: a home of its own, a made-up key, and a service on the loopback in
place of the model. It takes the CLI that the extra `claude` brings.
"""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from tests.adapters.models.fake_services import KEY, FakeService, Reply, fake_service

from everloop.app import Engine
from everloop.log import Context
from everloop.memory.model.commands import GrantAudience, RememberItem

pytestmark = [pytest.mark.soak, pytest.mark.timeout(600)]

USER = Context()
PROMPT = "When does the kettle whistle at noon?"
RECALL = ("t1", "mcp__everloop__recall", '{"query": "kettle", "scope": "user", "mode": "text"}')
CORRECTION = "No, always warm the pot before you make tea."


class ClaudeHome:
    """A home with a project, an installed Everloop, and Claude Code in it."""

    def __init__(self, folder: Path) -> None:
        sdk = pytest.importorskip("claude_agent_sdk")
        self._claude = Path(sdk.__file__).parent / "_bundled" / "claude"
        if not self._claude.exists():
            pytest.skip("the extra brought no CLI")
        self.home = folder / "home"
        self.data = folder / "data"
        self.project = self.home / "teahouse"
        (self.project / ".git").mkdir(parents=True)
        binaries = Path(sys.executable).parent
        self._environment = {
            "HOME": str(self.home),
            "PATH": f"{binaries}:/usr/bin:/bin",
            "EVERLOOP_MEMORY_EMBEDDER": "none",
            "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
            "DISABLE_AUTOUPDATER": "1",
            "ENABLE_TOOL_SEARCH": "false",  # name every tool in the first request
            "MCP_CONNECTION_NONBLOCKING": "0",  # after waiting for the server
            "MCP_CONNECT_TIMEOUT_MS": "60000",
            "MCP_TIMEOUT": "60000",
        }

    def everloop(self, *words: str) -> str:
        """The output of a command."""
        return self._run([sys.executable, "-m", "everloop", "--home", str(self.data), *words], {})

    def claude(self, service: FakeService, prompt: str, *options: str) -> dict[str, Any]:
        """One turn of Claude Code."""
        model = {"ANTHROPIC_BASE_URL": service.url, "ANTHROPIC_API_KEY": KEY}
        words = ["-p", prompt, "--output-format", "json", "--max-turns", "3", *options]
        result: dict[str, Any] = json.loads(self._run([str(self._claude), *words], model))
        return result

    def _run(self, command: Sequence[str], more: dict[str, str]) -> str:
        done = subprocess.run(  # noqa: S603 - our own commands
            command, cwd=self.project, env={**self._environment, **more},
            stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=240, check=False,
        )  # fmt: skip
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout


@pytest.fixture
def claude_home(tmp_path: Path) -> ClaudeHome:
    home = ClaudeHome(tmp_path)
    with Engine.open(home.data) as engine:
        engine.do(GrantAudience("agent:claude-code", ("*",)))
        engine.do(RememberItem("mem-kettle", "The kettle whistles at noon."), by=USER)
    home.everloop("--yes", "install", "claude-code")
    return home


def test_the_model_is_offered_our_tools_and_calls_one(claude_home: ClaudeHome) -> None:
    with fake_service(Reply(calls=(RECALL,)), Reply()) as service:
        result = claude_home.claude(service, PROMPT, "--allowedTools", "mcp__everloop__recall")
        first, second = (service.asked[0].body, service.asked[-1].body)
    assert result["is_error"] is False
    offered = {tool["name"] for tool in first["tools"] if tool["name"].startswith("mcp__everloop")}
    assert "mcp__everloop__propose_lesson" in offered
    assert not any("promote" in name for name in offered)
    assert "The kettle whistles at noon." in json.dumps(second["messages"])


def test_the_hook_adds_memories_to_the_prompt(claude_home: ClaudeHome) -> None:
    with fake_service() as service:
        claude_home.claude(service, PROMPT)
        asked = json.dumps(service.asked[0].body["messages"])
    assert "mem-kettle" in asked


def test_a_users_correction_is_proposed_as_a_lesson_at_session_end(claude_home: ClaudeHome) -> None:
    with fake_service() as service:
        first = claude_home.claude(service, "Please make some tea for the whole claude_home.")
        claude_home.claude(service, CORRECTION, "--resume", first["session_id"])
    with Engine.open(claude_home.data) as engine:
        lessons = engine.lessons.page("user").lessons
    assert [lesson.status for lesson in lessons] == ["pending"]
    assert "warm the pot" in lessons[0].body


def test_after_uninstalling_claude_has_no_trace_of_everloop(claude_home: ClaudeHome) -> None:
    claude_home.everloop("--yes", "install", "claude-code", "--uninstall")
    with fake_service() as service:
        claude_home.claude(service, PROMPT)
        asked = json.dumps(service.asked[0].body)
    assert "everloop" not in asked.replace(str(claude_home.home), "")
