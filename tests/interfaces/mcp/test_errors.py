"""Everloop's errors as MCP errors."""

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from mcp.server.mcpserver.exceptions import ResourceError, ResourceNotFoundError, ToolError
from mcp.shared.exceptions import MCPError

from everloop.errors import Corrupt, EverloopError, Forbidden, NotFound, Unavailable
from everloop.interfaces.mcp import errors

Kind = Callable[[Callable[[], None]], Callable[[], None]]


@pytest.mark.parametrize(
    ("kind", "problem", "becomes"),
    [
        (errors.wrap_tool, NotFound, ToolError),
        (errors.wrap_tool, Forbidden, ToolError),
        (errors.wrap_tool, Unavailable, ToolError),
        (errors.wrap_tool, Corrupt, MCPError),
        (errors.wrap_resource, NotFound, ResourceNotFoundError),
        (errors.wrap_resource, Unavailable, ResourceError),
        (errors.wrap_resource, Corrupt, MCPError),
        (errors.wrap_prompt, NotFound, MCPError),
    ],
)
def test_an_error_is_reported_with_its_hint(
    kind: Kind, problem: type[EverloopError], becomes: type[Exception]
) -> None:
    def fails() -> None:
        raise problem("there is no tea", hint="Put the kettle on.")

    with pytest.raises(becomes, match=r"there is no tea\. Put the kettle on\."):
        kind(fails)()


@pytest.mark.parametrize("words", [["mcp"], ["--yes", "install", "claude-code"]])
def test_without_the_extra_it_says_what_to_install(tmp_path: Path, words: list[str]) -> None:
    program = (
        "import sys; sys.modules['mcp'] = None; from everloop.__main__ import main;"
        f" sys.exit(main(['--home', {str(tmp_path / 'data')!r}, *{words}]))"
    )
    done = subprocess.run(  # noqa: S603 - our own interpreter
        [sys.executable, "-c", program], env={"HOME": str(tmp_path)},
        capture_output=True, text=True, timeout=60, check=False,
    )  # fmt: skip
    assert done.returncode == 69
    assert not (tmp_path / ".claude.json").exists()
    assert "pip install 'everloop[mcp]'" in done.stderr
    assert done.stdout == ""
