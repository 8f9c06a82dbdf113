"""Fixtures for the tests of the MCP server."""

import socket
import threading
from collections.abc import Generator
from pathlib import Path

import pytest
import uvicorn
from tests.interfaces.mcp.guests import Guest, at

from everloop.app import Engine
from everloop.interfaces.mcp.server import build, room_for
from everloop.interfaces.mcp.tool_context import Room
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return Settings(home=str(tmp_path / "home"), memory=MemorySettings(embedder="none"))


@pytest.fixture
def room(settings: Settings) -> Generator[Room]:
    """A room over a log of its own, as `everloop mcp` makes one."""
    room = room_for(Engine.open(settings=settings), settings, run="mcp-run")
    yield room
    room.close()


@pytest.fixture
def engine(room: Room) -> Engine:
    return room.engine


@pytest.fixture(params=["auto", "legacy"], ids=["2026", "2025"])
def guest(room: Room, request: pytest.FixtureRequest) -> Generator[Guest]:
    """A client in the room, once of each era of the protocol."""
    with at(room, mode=request.param) as guest:
        yield guest


@pytest.fixture
def address(room: Room) -> Generator[str]:
    """Where the server is served, on a port that nobody else has."""
    listening = socket.create_server(("127.0.0.1", 0))
    app = build(room).streamable_http_app()
    config = uvicorn.Config(app, log_level="error", timeout_graceful_shutdown=1)
    server = uvicorn.Server(config)
    thread = threading.Thread(target=server.run, kwargs={"sockets": [listening]})
    thread.start()
    yield f"http://127.0.0.1:{listening.getsockname()[1]}/mcp"
    server.should_exit = True
    thread.join()
    listening.close()
