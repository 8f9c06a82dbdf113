"""The thread is answered through a claude-code-mcp server, end to end."""

import json
import sys
from pathlib import Path

import msgspec
import pytest
from tests.adapters.models import claude_code_mcp_server
from tests.thread.fixtures import PLAIN

from everloop.adapters.models.claude_code_mcp import ClaudeCodeMcpModel
from everloop.app import USER, Engine
from everloop.errors import ModelFailed
from everloop.model_settings import ModelSettings
from everloop.ports import Message, Params, Prompt, Text
from everloop.services import Services
from everloop.thread.model.commands import HOME
from everloop.thread.model.events import AnswerGiven, TurnFailed
from everloop.thread.service import OutgoingMessage

pytest.importorskip("mcp")


def command(noted: Path) -> str:
    """The command of the fake server."""
    return f"{sys.executable} {claude_code_mcp_server.__file__} {noted}"


def ask(model: ClaudeCodeMcpModel, text: str) -> list[object]:
    """The chunks of an answer."""
    return list(model.generate(Prompt((Message("user", (Text(text),)),)), Params()))


def test_a_thread_is_answered_through_a_claude_code_mcp_server(tmp_path: Path) -> None:
    noted = tmp_path / "noted.json"
    models = ModelSettings(narrative="claude-code-mcp", claude_mcp_command=command(noted))
    settings = msgspec.structs.replace(PLAIN, models=models)
    home = tmp_path / "home"
    with Engine.open(home, settings=settings) as engine, Services(engine, settings) as running:
        sent = running.talk.send(HOME, OutgoingMessage("What is two and two?"), USER)
        for fact in engine.follow(after=0):
            assert not isinstance(fact.event, TurnFailed), fact.event
            if isinstance(fact.event, AnswerGiven) and fact.event.turn_id == sent.turn_id:
                assert fact.event.text == "Four, said Claude Code."
                break
    asked = json.loads(noted.read_text())
    assert "What is two and two?" in asked["prompt"]
    assert Path(asked["workFolder"]).name.startswith("everloop-claude-")  # never the user's home


def test_what_a_claude_code_mcp_server_refuses_is_told(tmp_path: Path) -> None:
    with pytest.raises(ModelFailed, match="returned an error"):
        ask(ClaudeCodeMcpModel(command(tmp_path / "noted")), "fail")


@pytest.mark.parametrize("words", ["", "no-such-program-here"])
def test_a_claude_code_mcp_server_that_is_missing_is_told(words: str) -> None:
    with pytest.raises(ModelFailed) as refused:
        ask(ClaudeCodeMcpModel(words), "Hi.")
    assert "claude_mcp_command" in refused.value.hint
