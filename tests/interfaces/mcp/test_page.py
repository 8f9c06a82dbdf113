"""`docs/mcp.md` documents every tool, prompt and resource."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.mcp.clients import McpClient

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()


def test_the_docs_list_every_tool_and_its_arguments(mcp_client: McpClient) -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    told = {name: set(re.findall(r"`(\w+)`", arguments)) for name, arguments in rows}
    tools = mcp_client.ask("list_tools").tools
    offered = {tool.name: set(tool.input_schema["properties"]) - {"scope"} for tool in tools}
    assert told == offered


def test_the_docs_show_how_to_mount_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERLOOP_HOME", str(tmp_path))
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "mcp.md", "exec"), names)  # noqa: S102 - our own page
    assert [route.path for route in names["app"].routes] == ["/mcp"]
    names["room"].close()


def test_the_docs_name_every_prompt_and_resource(mcp_client: McpClient) -> None:
    for prompt in mcp_client.ask("list_prompts").prompts:
        assert f"`{prompt.name}`" in PAGE
    for template in mcp_client.ask("list_resource_templates").resource_templates:
        assert f"`{template.uri_template}`" in PAGE
