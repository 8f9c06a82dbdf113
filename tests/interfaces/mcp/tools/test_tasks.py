"""The MCP tools for tasks."""

from pathlib import Path

import pytest
from tests.interfaces.mcp.clients import McpClient, text_of

from everloop.app import ENGINE, USER, Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import DoorSettings, Settings
from everloop.workers.model.commands import BeginAttempt, EndAttempt


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(
        home=str(tmp_path / "home"),
        memory=MemorySettings(embedder="none"),
        doors=DoorSettings(task_wait_s=0),
    )


@pytest.mark.promise("P-WORK-1")
def test_claude_code_is_only_proposed_and_returns_its_result_once_it_is_done(
    mcp_client: McpClient, engine: Engine, tmp_path: Path
) -> None:
    asked = {"prompt": "Say hello.", "workFolder": str(tmp_path)}
    said = text_of(mcp_client.result("claude_code", **asked))
    (view,) = engine.workers.board().proposed
    name = view.task.task_id
    assert f"[task {name} is proposed]" in said
    assert (view.task.spec.brief, view.task.spec.workspace.path) == ("Say hello.", str(tmp_path))
    engine.workers.start(name, USER)
    assert "at work" in text_of(mcp_client.result("claude_code", **asked))
    assert len(engine.workers.board().active) == 1  # the same words again ask for the same task
    engine.do(BeginAttempt(name, 1, "here"), by=ENGINE)
    engine.do(EndAttempt(name, 1, "succeeded", claim="Hello."), by=ENGINE)
    assert engine.workers.find(name).task.state == "done"


@pytest.mark.parametrize("folder", ["relative", "/no/such/folder"])
def test_claude_code_never_works_in_another_folder_than_the_one_named(
    mcp_client: McpClient, folder: str
) -> None:
    assert "is not a folder" in mcp_client.error("claude_code", prompt="Hi.", workFolder=folder)


def test_claude_code_has_the_name_and_parameters_of_claude_code_mcp(mcp_client: McpClient) -> None:
    tools = {tool.name: tool for tool in mcp_client.ask("list_tools").tools}
    schema = tools["claude_code"].input_schema
    assert schema["properties"].keys() == {"prompt", "workFolder"}
    assert schema["required"] == ["prompt"]
