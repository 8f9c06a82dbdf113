"""docs/mcp.md says what there is."""

import re
from pathlib import Path
from typing import Any

import pytest
from tests.interfaces.mcp.guests import Guest

PAGE = (Path(__file__).parents[3] / "docs" / "mcp.md").read_text()


def test_the_page_lists_every_tool_and_its_arguments(guest: Guest) -> None:
    rows = re.findall(r"^\| `(\w+)` \|[^|]*\| (.*) \|$", PAGE, re.MULTILINE)
    told = {name: set(re.findall(r"`(\w+)`", arguments)) for name, arguments in rows}
    tools = guest.ask("list_tools").tools
    offered = {tool.name: set(tool.input_schema["properties"]) - {"scope"} for tool in tools}
    assert told == offered


def test_the_page_shows_how_to_mount_the_server(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("EVERLOOP_HOME", str(tmp_path))
    (program,) = re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(compile(program, "mcp.md", "exec"), names)  # noqa: S102 - our own page
    assert [route.path for route in names["app"].routes] == ["/mcp"]
    names["room"].close()


def test_the_page_names_every_prompt_and_resource(guest: Guest) -> None:
    for prompt in guest.ask("list_prompts").prompts:
        assert f"`{prompt.name}`" in PAGE
    for template in guest.ask("list_resource_templates").resource_templates:
        assert f"`{template.uri_template}`" in PAGE
