"""The actor of an MCP request is a host, never the user, whatever the client's name."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interfaces.mcp.clients import connect_to

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.host_admission import host_actor
from everloop.interfaces.mcp.callers import normalise_host_name
from everloop.interfaces.mcp.server import make_tool_context
from everloop.interfaces.mcp.tool_context import ToolContext
from everloop.settings import DoorSettings, Settings

WORDS = {"text": "Tabs.", "scope": "user", "confirmation": "tabs"}


@pytest.mark.parametrize(
    ("said", "name"),
    [
        ("claude-code", "claude-code"),
        ("Claude Desktop", "claude-desktop"),
        ("user", "user"),
        ("../../etc", "etc"),
        ("", "mcp"),
        ("   ", "mcp"),
        ("日本", "mcp"),
        ("-a-", "a"),
        ("x" * 200, "x" * 64),
    ],
)
def test_a_clients_own_name_is_normalised(said: str, name: str) -> None:
    assert normalise_host_name(said) == name


@given(st.text())
def test_any_client_name_becomes_a_valid_host_name(said: str) -> None:
    assert host_actor(normalise_host_name(said)).startswith("agent:")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_names_the_host(room: ToolContext, engine: Engine, mode: str) -> None:
    with connect_to(room, mode=mode, name="Claude Code") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    item = engine.memory.find("user", kept["id"])
    assert item.author == "agent:claude-code"
    assert item.origin.session == "mcp-run"


@pytest.mark.promise("P-MCP-1")
def test_a_client_named_user_is_still_a_host(room: ToolContext, engine: Engine) -> None:
    with connect_to(room, name="user") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    assert engine.memory.find("user", kept["id"]).author == "agent:user"


def test_the_host_name_of_the_command_line_wins(settings: Settings) -> None:
    with Engine.open(settings=settings) as engine:
        room = make_tool_context(engine, settings, run="mcp-run", name="work-laptop")
        with connect_to(room, name="something-else") as mcp_client:
            kept = mcp_client.call("remember", **WORDS)
        assert engine.memory.find("user", kept["id"]).author == "agent:work-laptop"


def test_an_invalid_host_name_is_refused(settings: Settings) -> None:
    with pytest.raises(Invalid, match="not a valid host name"):
        make_tool_context(Engine.open(settings=settings), settings, run="r", name="agent:user")


def test_with_admit_hosts_granted_a_new_host_sees_nothing(settings: Settings) -> None:
    with Engine.open(settings=settings) as engine:
        doors = DoorSettings(admit_hosts="granted")
        closed = Settings(home=settings.home, memory=settings.memory, doors=doors)
        with connect_to(make_tool_context(engine, closed, run="mcp-run")) as mcp_client:
            answer = mcp_client.call("browse", what="memories", scope="user")
        assert "agent:test-host has no access to any scope" in answer["notices"][0]
        assert engine.log.head == 1  # that new hosts wait is in the log
