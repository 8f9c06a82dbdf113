"""MCP over HTTP on loopback: both protocol generations, and Host and Origin checks."""

from pathlib import Path

import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.interfaces.mcp.clients import open_client

from everloop.app import Engine
from everloop.interfaces.mcp.http_mount import McpMount
from everloop.settings import DoorSettings, Settings

WORDS = {"text": "The user prefers tabs.", "scope": "user", "confirmation": "tabs"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HEADERS = {"accept": "application/json, text/event-stream"}


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_client_calls_a_tool_over_http(address: str, engine: Engine, mode: str) -> None:
    with open_client(address, mode=mode, name="phone") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    assert engine.memory.find("user", kept["id"]).author == "agent:phone"


def test_two_handshake_connections_are_two_sessions(address: str, engine: Engine) -> None:
    sessions: set[str] = set()
    for number in range(2):
        with open_client(address, mode="legacy") as mcp_client:
            kept = mcp_client.call("remember", **WORDS | {"text": f"Number {number} of two."})
        sessions.add(engine.memory.find("user", kept["id"]).origin.session)
    assert len(sessions) == 2
    assert all(session.startswith("mcp-") for session in sessions)


def test_a_session_id_invented_by_a_client_is_ignored(address: str, engine: Engine) -> None:
    client = httpx2.AsyncClient(headers={"mcp-session-id": "made-up"})
    transport = streamable_http_client(address, http_client=client)
    with open_client(transport, mode="2026-07-28", name="liar") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
        mcp_client.portal.call(client.aclose)
    assert engine.memory.find("user", kept["id"]).origin.session == "mcp-run"


@pytest.mark.parametrize(
    "header", [{"host": "evil.example"}, {"origin": "http://evil.example"}], ids=["host", "origin"]
)
def test_another_sites_page_cannot_reach_it(address: str, header: dict[str, str]) -> None:
    answer = httpx2.post(address, json=PING, headers=HEADERS | header)
    assert answer.status_code in (403, 421)


def test_sessions_end_when_nobody_uses_them(tmp_path: Path) -> None:
    settings = Settings(home=str(tmp_path), doors=DoorSettings(session_idle_s=5.0, sessions_max=7))
    with Engine.open(settings=settings) as engine:
        sessions = McpMount(engine, settings, ["127.0.0.1"]).sessions
    assert (sessions.session_idle_timeout, sessions.max_sessions) == (5.0, 7)
    assert DoorSettings().session_idle_s == 1_800
