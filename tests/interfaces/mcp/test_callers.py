"""Who speaks over MCP: a host, never the user, whatever the client calls itself."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.interfaces.mcp.guests import at

from everloop.app import Engine
from everloop.errors import Invalid
from everloop.host_admission import host_of
from everloop.interfaces.mcp.callers import host_name
from everloop.interfaces.mcp.server import room_for
from everloop.interfaces.mcp.tool_context import Room
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
def test_a_clients_own_name_is_tamed(said: str, name: str) -> None:
    assert host_name(said) == name


@given(st.text())
def test_whatever_a_client_calls_itself_is_a_hosts_name(said: str) -> None:
    assert host_of(host_name(said)).startswith("agent:")


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_the_client_names_the_host(room: Room, engine: Engine, mode: str) -> None:
    with at(room, mode=mode, name="Claude Code") as guest:
        kept = guest.call("remember", **WORDS)
    item = engine.memory.find("user", kept["id"])
    assert item.author == "agent:claude-code"
    assert item.origin.session == "mcp-run"


@pytest.mark.promise("P-MCP-1")
def test_a_client_that_calls_itself_user_is_no_user(room: Room, engine: Engine) -> None:
    with at(room, name="user") as guest:
        kept = guest.call("remember", **WORDS)
    assert engine.memory.find("user", kept["id"]).author == "agent:user"


def test_the_name_given_at_the_start_wins(settings: Settings) -> None:
    with Engine.open(settings=settings) as engine:
        room = room_for(engine, settings, run="mcp-run", name="work-laptop")
        with at(room, name="something-else") as guest:
            kept = guest.call("remember", **WORDS)
        assert engine.memory.find("user", kept["id"]).author == "agent:work-laptop"


def test_a_name_that_is_none_is_refused(settings: Settings) -> None:
    with pytest.raises(Invalid, match="not a host's name"):
        room_for(Engine.open(settings=settings), settings, run="r", name="agent:user")


def test_where_only_granted_hosts_come_in_a_new_one_sees_nothing(settings: Settings) -> None:
    with Engine.open(settings=settings) as engine:
        doors = DoorSettings(admit_hosts="granted")
        closed = Settings(home=settings.home, memory=settings.memory, doors=doors)
        with connect_to(room_for(engine, closed, run="mcp-run")) as mcp_client:
            answer = mcp_client.call("browse", what="memories", scope="user")
        assert "agent:test-host has no access to any scope" in answer["notices"][0]
        assert engine.log.head == 0
