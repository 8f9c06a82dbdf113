"""Fixtures for the tests of the MCP server."""

import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
import uvicorn
from tests.interfaces.mcp.clients import McpClient, connect_to

from everloop.app import Engine
from everloop.interfaces.mcp.server import build_server, make_tool_context
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.memory.model.commands import GrantAudience
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path / "home"), memory=MemorySettings(embedder="none"))


@pytest.fixture
def room(settings: Settings) -> Generator[ToolContext]:
    """A tool context with its own log, as `everloop mcp` makes one, which lets new hosts in."""
    engine = Engine.open(settings=settings)
    engine.do(GrantAudience("agent:*", ("*",)))
    room = make_tool_context(engine, settings, run="mcp-run")
    yield room
    room.close()


@pytest.fixture
def engine(room: ToolContext) -> Engine:
    return room.engine


@pytest.fixture(params=["auto", "legacy"], ids=["2026", "2025"])
def mcp_client(room: ToolContext, request: pytest.FixtureRequest) -> Generator[McpClient]:
    """A client, once for each protocol generation."""
    with connect_to(room, mode=request.param) as mcp_client:
        yield mcp_client


@pytest.fixture
def address(room: ToolContext) -> Generator[str]:
    """The URL of the server on a free port."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = build_server(room).streamable_http_app()
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()
    listening.close()
