"""The MCP door inside the HTTP door: real clients of the official SDK, and who is kept out."""

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
from tests.interfaces.mcp.guests import Guest, at, visiting

from everloop.access import credentials
from everloop.access.commands import RevokeDevice
from everloop.app import USER, Engine
from everloop.errors import Forbidden, Invalid
from everloop.interfaces.http.security.middleware import COOKIE
from everloop.interfaces.mcp.server import room_for
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


def _token(house: Served, host: str = "claude-code") -> credentials.Credential:
    engine = house.engine
    return credentials.give_token(engine.log, engine.do, engine.world, host, USER)


def _bearer(credential: credentials.Credential) -> dict[str, str]:
    return {"authorization": f"Bearer {credential.text}"}


@contextmanager
def _guest(
    house: Served, credential: credentials.Credential, mode: str = "auto", name: str = "a-client"
) -> Generator[Guest]:
    client = httpx2.AsyncClient(headers=_bearer(credential), trust_env=False)
    transport = streamable_http_client(f"{house.url}/mcp", http_client=client)
    with visiting(transport, mode=mode, name=name) as guest:
        yield guest
        guest.portal.call(client.aclose)


@contextmanager
def _session(
    house: Served, credential: credentials.Credential
) -> Generator[tuple[httpx.Client, str]]:
    """A session of the older era, by hand."""
    with house.stranger() as client:
        client.headers.update(_bearer(credential) | ACCEPT)
        opened = client.post("/mcp", json=HELLO)
        assert opened.status_code == 200
        yield client, opened.headers["mcp-session-id"]


@pytest.mark.promise("P-MCP-4")
@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_a_hosts_token_says_who_speaks_whatever_the_client_says(house: Served, mode: str) -> None:
    with _guest(house, _token(house), mode, name="user") as guest:
        kept = guest.call("remember", **WORDS)
    assert house.engine.memory.find("user", kept["id"]).author == "agent:claude-code"


@pytest.mark.parametrize("mode", ["auto", "legacy"])
def test_with_a_devices_credential_a_host_speaks_too_and_never_the_user(
    house: Served, mode: str
) -> None:
    with _guest(house, house.credential(), mode, name="user") as guest:
        kept = guest.call("remember", **WORDS)
    assert house.engine.memory.find("user", kept["id"]).author == "agent:user"


def test_a_browser_that_is_signed_in_may_use_it(house: Served) -> None:
    with house.client() as client:
        assert client.post("/mcp", json=HELLO, headers=ACCEPT).status_code == 200


def test_it_offers_exactly_what_is_offered_over_standard_streams(house: Served) -> None:
    room = room_for(house.engine, house.running.settings, run="stdio")
    with _guest(house, _token(house)) as mounted, at(room) as plain:
        for what in ("list_tools", "list_prompts", "list_resource_templates"):
            assert mounted.ask(what) == plain.ask(what)


def test_a_scope_is_wanted_and_one_that_is_unknown_gives_nothing(house: Served) -> None:
    with _guest(house, _token(house)) as guest:
        guest.call("remember", **WORDS)
        guest.refused("recall", query="tabs")
        guest.refused("recall", query="tabs", scope="everything")
        found = guest.call("recall", query="tabs", scope="project:unheard")
    assert "NOTHING was searched" in str(found)
    assert "prefers tabs" not in str(found)


@pytest.mark.promise("P-MCP-4")
@pytest.mark.parametrize("method", ["GET", "POST", "DELETE", "PUT", "OPTIONS"])
@pytest.mark.parametrize("bring", ["nothing", "wrong", "foreign", "expired", "revoked", "cookie"])
def test_nobody_is_answered_without_a_credential_that_holds(
    tmp_path: Path, bring: str, method: str
) -> None:
    with served(tmp_path / "a") as house, served(tmp_path / "b") as elsewhere:
        token = _token(house)
        headers = {
            "nothing": {},
            "wrong": {"authorization": f"Bearer {token.device_id}.{'x' * 43}"},
            "foreign": {"authorization": f"Bearer {_twisted(_token(elsewhere))}"},
            "expired": _bearer(token),
            "revoked": _bearer(token),
            "cookie": {"cookie": f"{COOKIE}=dev-1.nothing"},
        }[bring]
        if bring == "expired":
            house.stage.clock.tick(seconds=YEAR_S + 1)
        if bring == "revoked":
            house.engine.do(RevokeDevice(token.device_id))
        with house.stranger() as client:
            answer = client.request(method, "/mcp", json=PING, headers=headers | ACCEPT)
        assert answer.status_code == 401
        assert answer.headers["www-authenticate"] == "Bearer"
        assert "mcp-session-id" not in answer.headers


def _twisted(credential: credentials.Credential) -> str:
    """Another server's credential; two still worlds would draw the same ones."""
    return f"{credential.device_id}.{credential.secret[::-1]}"


def test_a_session_belongs_to_the_credential_that_opened_it(house: Served) -> None:
    with _session(house, _token(house)) as (mine, session):
        named = {"mcp-session-id": session}
        assert mine.post("/mcp", json=PING, headers=named).status_code == 200
        with house.stranger() as other:
            headers = _bearer(_token(house, "other-host")) | ACCEPT | named
            assert other.post("/mcp", json=PING, headers=headers).status_code == 404


@pytest.mark.parametrize(
    ("header", "status"),
    [({"host": "evil.example"}, 421), ({"origin": "http://evil.example"}, 403)],
    ids=["host", "origin"],
)
def test_a_page_of_a_stranger_cannot_reach_it(
    house: Served, header: dict[str, str], status: int
) -> None:
    with house.stranger() as client:
        headers = _bearer(_token(house)) | ACCEPT | header
        assert client.post("/mcp", json=PING, headers=headers).status_code == status


@pytest.mark.promise("P-MCP-4")
def test_a_hosts_token_opens_nothing_else(house: Served) -> None:
    with house.stranger() as client:
        client.headers.update(_bearer(_token(house)))
        for path in ("/api/threads", "/api/session", "/api/stream", "/openapi.json", "/mcp/x"):
            assert client.get(path).status_code == 403, path
        assert client.post("/api/devices/code").status_code == 403
        assert client.post("/api/devices/token", json={"host": "x"}).status_code == 403


@pytest.mark.promise("P-HTTP-6")
def test_what_a_host_has_open_is_cut_within_a_second_of_its_token(house: Served) -> None:
    assert min(_cut_after_s(house) for _ in range(3)) < 1  # a busy machine may be late now and then


def _cut_after_s(house: Served) -> float:
    """How long after its token was revoked a host's stream ended."""
    token = _token(house)
    with _session(house, token) as (client, session):
        named = {"mcp-session-id": session}
        with client.stream("GET", "/mcp", headers=named) as listening:
            assert listening.status_code == 200
            began = time.monotonic()
            house.engine.do(RevokeDevice(token.device_id))
            assert b"".join(listening.iter_raw()) == b""
        took_s = time.monotonic() - began
        assert client.post("/mcp", json=PING, headers=named).status_code == 401
    return took_s


def test_an_open_stream_does_not_keep_the_server_from_ending(tmp_path: Path) -> None:
    with ExitStack() as stack:
        with served(tmp_path) as house:
            client, session = stack.enter_context(_session(house, _token(house)))
            named = {"mcp-session-id": session}
            listening = stack.enter_context(client.stream("GET", "/mcp", headers=named))
        assert b"".join(listening.iter_raw()) == b""


def test_a_token_is_made_once_listed_and_taken_back(house: Served) -> None:
    with house.client() as client:
        made = client.post("/api/devices/token", json={"host": "claude-code"})
        assert made.status_code == 201
        listed: list[dict[str, Any]] = client.get("/api/devices").json()
        (shown,) = [one for one in listed if one["device_id"] == made.json()["device_id"]]
        assert (shown["host"], shown["way"]) == ("claude-code", "host")
        assert made.json()["token"].partition(".")[2] not in str(listed)
        headers = {"authorization": f"Bearer {made.json()['token']}"} | ACCEPT
        with house.stranger() as program:
            assert program.post("/mcp", json=HELLO, headers=headers).status_code == 200
            client.delete(f"/api/devices/{shown['device_id']}")
            assert program.post("/mcp", json=HELLO, headers=headers).status_code == 401


def test_only_the_user_gives_tokens_and_only_to_hosts_with_a_name(tmp_path: Path) -> None:
    with Engine.open(tmp_path) as engine:
        for by, host, refusal in (
            (Context(actor="agent:cli"), "x", Forbidden),
            (USER, "../x", Invalid),
            (USER, "", Invalid),
        ):
            with pytest.raises(refusal):
                credentials.give_token(engine.log, engine.do, engine.world, host, by)


def test_programs_that_look_for_more_are_told_plainly_that_there_is_none(house: Served) -> None:
    with house.client() as client:
        for path in ("/.well-known/oauth-protected-resource", "/.well-known/openid-configuration"):
            assert client.get(path).status_code == 404
