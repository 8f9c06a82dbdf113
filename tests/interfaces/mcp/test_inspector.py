"""The official inspector's command line lists and calls every tool over standard input and output.

It takes a download from the npm registry, so `make soak` runs it.
"""

import json
import sys
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.mcp import node

pytestmark = [pytest.mark.soak, pytest.mark.timeout(900)]

PACKAGE = "@modelcontextprotocol/inspector@0.15.0"


WHERE = {"scope": "project:tea"}
LESSON = {"description": "Warm the pot.", "body": "With hot water.", **WHERE}
BY_ID = (
    "zoom",
    "report_use",
    "give_feedback",
    "task_status",
)  # told what to look at by a call before
CALLS: dict[str, dict[str, str]] = {
    "remember": {"text": "The tea was cold.", "confirmation": "It was cold.", **WHERE},
    "propose_lesson": LESSON,
    "recall": {"query": "tea", "mode": "text", **WHERE},
    "browse": {"what": "memories", **WHERE},
    "manifest": WHERE,
    "zoom": WHERE,
    "report_use": WHERE,
    "give_feedback": {"helpful": "true", "words": "Good tea.", **WHERE},
    "propose_task": {"title": "Make tea", "brief": "Make tea."},
    "task_status": {},
    "claude_code": {"prompt": "Make tea."},
}


@pytest.fixture(scope="module")
def inspector(tmp_path_factory: pytest.TempPathFactory) -> Path:
    package = node.installed(tmp_path_factory.mktemp("inspector"), PACKAGE)
    return package / "cli" / "build" / "cli.js"


def _inspected(inspector: Path, home: Path, method: str, *words: str) -> Any:
    server = [sys.executable, "-m", "everloop", "--home", str(home), "mcp"]
    done = node.run(inspector, "--cli", *server, "--method", method, *words)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_the_inspector_lists_and_calls_every_tool(inspector: Path, tmp_path: Path) -> None:
    home = tmp_path / "home"
    home.mkdir()
    (home / "settings.toml").write_text("[doors]\ntask_wait_s = 0\n")
    tools = {tool["name"]: tool for tool in _inspected(inspector, home, "tools/list")["tools"]}
    assert tools.keys() == CALLS.keys()
    made: dict[str, str] = {}
    for name, arguments in CALLS.items():
        made_by = {"zoom": "remember", "task_status": "propose_task"}.get(name, "propose_lesson")
        named = {"id": made[made_by]} if name in BY_ID else {}
        words = [f"{key}={value}" for key, value in {**arguments, **named}.items()]
        given = [part for word in words for part in ("--tool-arg", word)]
        answer = _inspected(inspector, home, "tools/call", "--tool-name", name, *given)
        assert answer["isError"] is False, (name, answer)
        made[name] = answer["structuredContent"].get("id", "")
