"""MCP over HTTP: authentication, sessions and tools, with clients of the official SDK."""

import time
from collections.abc import Generator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import httpx
import httpx2
import pytest
from mcp.client.streamable_http import streamable_http_client
from tests.interfaces.http.serving import Served, served
from tests.interfaces.mcp.clients import McpClient, connect_to, open_client

from everloop.access import pairing
from everloop.access.commands import RevokeDevice
from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.mcp.server import make_tool_context
from everloop.log import Context

WORDS = {"text": "The user prefers tabs.", "scope": "user", "confirmation": "tabs"}
ACCEPT = {"accept": "application/json, text/event-stream"}
PING = {"jsonrpc": "2.0", "id": 1, "method": "ping"}
HELLO = {
    "jsonrpc": "2.0",
    "id": 1,
    "method": "initialize",
    "params": {
        "protocolVersion": "2025-06-18",
        "capabilities": {},
        "clientInfo": {"name": "raw", "version": "1"},
    },
}
YEAR_S = 365 * 86_400


def _token(server: Served, host: str = "claude-code") -> pairing.Credential:
    engine = server.engine
    return pairing.issue_host_token(engine.log, engine, engine.ports, host, USER)


def _bearer(credential: pairing.Credential) -> dict[str, str]:
    return {"authorization": f"Bearer {credential.text}"}


@contextmanager
def _mcp_client(
    server: Served, credential: pairing.Credential, mode: str = "auto", name: str = "a-client"
) -> Generator[McpClient]:
    client = httpx2.AsyncClient(headers=_bearer(credential), trust_env=False)
    transport = streamable_http_client(f"{server.url}/mcp", http_client=client)
    with open_client(transport, mode=mode, name=name) as mcp_client:
        yield mcp_client
        mcp_client.portal.call(client.aclose)


@contextmanager
def _session(server: Served, credential: pairing.Credential) -> Generator[tuple[httpx.Client, str]]:
    """A handshake session, made by hand."""
    with server.stranger() as client:
        client.headers.update(_bearer(credential) | ACCEPT)
        opened = client.post("/mcp", json=HELLO)
        assert opened.status_code == 200
        yield client, opened.headers["mcp-session-id"]


@pytest.mark.promise("P-MCP-4")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_hosts_token_decides_the_actor_whatever_the_client_claims(
    server: Served, mode: str
) -> None:
    with _mcp_client(server, _token(server), mode, name="user") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    assert server.engine.memory.find("user", kept["id"]).author == "agent:claude-code"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_with_a_devices_credential_the_actor_is_a_host_never_the_user(
    server: Served, mode: str
) -> None:
    with _mcp_client(server, server.credential(), mode, name="user") as mcp_client:
        kept = mcp_client.call("remember", **WORDS)
    assert server.engine.memory.find("user", kept["id"]).author == "agent:user"


def test_a_signed_in_browser_may_use_mcp(server: Served) -> None:
    with server.client() as client:
        assert client.post("/mcp", json=HELLO, headers=ACCEPT).status_code == 200


def test_it_offers_the_same_tools_as_over_standard_streams(server: Served) -> None:
    room = make_tool_context(server.engine, server.running.settings, run="stdio")
    with _mcp_client(server, _token(server)) as mounted, connect_to(room) as plain:
        for what in ("list_tools", "list_prompts", "list_resource_templates"):
            assert mounted.ask(what) == plain.ask(what)


def test_a_scope_is_required_and_an_unknown_one_gives_no_results(server: Served) -> None:
    with _mcp_client(server, _token(server)) as mcp_client:
        mcp_client.call("remember", **WORDS)
        mcp_client.error("recall", query="tabs")
        mcp_client.error("recall", query="tabs", scope="everything")
        found = mcp_client.call("recall", query="tabs", scope="project:unheard")
    assert "NOTHING was searched" in str(found)
    assert "prefers tabs" not in str(found)


@pytest.mark.promise("P-MCP-4")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("bring", ["nothing", "wrong", "foreign", "expired", "revoked", "cookie"])
def test_a_request_without_a_valid_credential_is_refused(
    tmp_path: Path, bring: str, method: str
) -> None:
    with served(tmp_path / "a") as server, served(tmp_path / "b") as elsewhere:
        token = _token(server)
        headers = {
            "nothing": {},
            "wrong": {"authorization": f"Bearer {token.device_id}.{'x' * 43}"},
            "foreign": {"authorization": f"Bearer {_twisted(_token(elsewhere))}"},
            "expired": _bearer(token),
            "revoked": _bearer(token),
            "cookie": {"cookie": f"{server.cookie_name}=dev-1.nothing"},
        }[bring]
        if bring == "expired":
            server.stage.clock.tick(seconds=YEAR_S + 1)
        if bring == "revoked":
            server.engine.do(RevokeDevice(token.device_id))
        with server.stranger() as client:
            answer = client.request(method, "/mcp", json=PING, headers=headers | ACCEPT)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "mcp-session-id" not in answer.headers


def _twisted(credential: pairing.Credential) -> str:
    """A credential of another server; two sets of deterministic ports would make equal ones."""
    return f"{credential.device_id}.{credential.secret[::-1]}"


def test_a_session_belongs_to_the_credential_that_opened_it(server: Served) -> None:
    with _session(server, _token(server)) as (mine, session):
        named = {"mcp-session-id": session}
        assert mine.post("/mcp", json=PING, headers=named).status_code == 200
        with server.stranger() as other:
            headers = _bearer(_token(server, "other-host")) | ACCEPT | named
            assert other.post("/mcp", json=PING, headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("header", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)],
    ids=["host", "origin"],
)
def test_another_sites_page_cannot_reach_it(
    server: Served, header: dict[str, str], status: int
) -> None:
    with server.stranger() as client:
        headers = _bearer(_token(server)) | ACCEPT | header
        assert client.post("/mcp", json=PING, headers=headers).status_code == status


@pytest.mark.promise("P-MCP-4")
def test_a_hosts_token_is_valid_for_mcp_only(server: Served) -> None:
    with server.stranger() as client:
        client.headers.update(_bearer(_token(server)))
        for path in ("/api/threads", "/api/session", "/api/stream", "/openapi.json", "/mcp/x"):
            assert client.get(path).status_code == 403, path
        assert client.post("/api/devices/code").status_code == 403
        assert client.post("/api/devices/token", json={"host": "x"}).status_code == 403


@pytest.mark.promise("P-HTTP-6")
def test_revoking_a_token_closes_its_streams_within_a_second(server: Served) -> None:
    assert (
        min(_cut_after_s(server) for _ in range(3)) < 1
    )  # a busy machine may be late now and then


def _cut_after_s(server: Served) -> float:
    """Seconds until a host's stream ended after its token was revoked."""
    token = _token(server)
    with _session(server, token) as (client, session):
        named = {"mcp-session-id": session}
        with client.stream("GET", "/mcp", headers=named) as listening:
            assert listening.status_code == 200
            began = time.monotonic()
            server.engine.do(RevokeDevice(token.device_id))
            assert b"".join(listening.iter_raw()) == b""
        took_s = time.monotonic() - began
        assert client.post("/mcp", json=PING, headers=named).status_code == 401
    return took_s


def test_an_open_stream_does_not_delay_shutdown(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with served(tmp_path) as server:
            client, session = stack.enter_context(_session(server, _token(server)))
            named = {"mcp-session-id": session}
            listening = stack.enter_context(client.stream("GET", "/mcp", headers=named))
        assert b"".join(listening.iter_raw()) == b""


def test_a_token_is_shown_once_listed_and_revoked(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/devices/token", json={"host": "claude-code"})
        assert made.status_code == 201
        listed: list[dict[str, Any]] = client.get("/api/devices").json()
        (shown,) = [one for one in listed if one["device_id"] == made.json()["device_id"]]
        assert (shown["host"], shown["way"]) == ("claude-code", "host")
        assert made.json()["token"].partition(".")[2] not in str(listed)
        headers = {"authorization": f"Bearer {made.json()['token']}"} | ACCEPT
        with server.stranger() as program:
            assert program.post("/mcp", json=HELLO, headers=headers).status_code == 200
            client.delete(f"/api/devices/{shown['device_id']}")
            assert program.post("/mcp", json=HELLO, headers=headers).status_code == 401


def test_only_the_user_makes_tokens_and_only_for_valid_host_names(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        for by, host, refusal in (
            (Context(actor="agent:cli"), "x", Forbidden),
            (USER, "../x", Invalid),
            (USER, "", Invalid),
        ):
            with pytest.raises(refusal):
                pairing.issue_host_token(engine.log, engine, engine.ports, host, by)


def test_oauth_discovery_gets_a_plain_not_found(server: Served) -> None:
    with server.client() as client:
        for path in ("/.well-known/oauth-protected-resource", "/.well-known/openid-configuration"):
            assert client.get(path).status_code == 404
