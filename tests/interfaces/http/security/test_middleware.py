"""Security middleware: credentials, host names, origins and body size."""

import re
from collections.abc import Iterator
from contextlib import closing, suppress
from http.client import HTTPConnection
from pathlib import Path
from typing import Any

import httpx
import pytest
from fastapi import FastAPI
from fastapi.routing import APIRoute
from tests.interfaces.http.serving import Served, served
from tests.worlds.exchange.samples import V2, png_card

from everloop.access import pairing
from everloop.access.commands import PairDevice, RevokeDevice
from everloop.app import USER
from everloop.interfaces.http.app import ROUTERS
from everloop.interfaces.http.security.middleware import (
    PUBLIC_ROUTES,
    SIGNED_PATHS,
    SecurityRules,
)

METHODS = ("GET", "POST", "PUT", "PATCH", "DELETE")


def _routes() -> Iterator[tuple[str, str]]:
    """Every route under /api, as its method and a path that it answers."""
    app = FastAPI()
    for router in ROUTERS:
        app.include_router(router)
    described: dict[str, Any] = app.openapi()["paths"]
    for path, operations in described.items():
        for method in operations:
            yield method.upper(), re.sub(r"\{[^}]+\}", "1", path)


ROUTES = sorted(_routes())
GUARDED = [route for route in ROUTES if route not in PUBLIC_ROUTES] + [("GET", "/openapi.json")]


def test_the_list_of_routes_is_not_empty() -> None:
    assert len(GUARDED) > 60
    assert set(PUBLIC_ROUTES) - {("GET", "/api/health")} <= set(ROUTES)
    assert all(isinstance(route, APIRoute) for router in ROUTERS for route in router.routes)


@pytest.mark.promise("P-HTTP-1")
@pytest.mark.parametrize(
    "credential",
    [
        "none",
        "wrong",
        "half",
        "other half",
        "whole cookie",
        "revoked",
        "foreign",
        "malformed",
        "host",
    ],
)
def test_every_route_requires_a_credential(shared: Served, credential: str) -> None:
    known = shared.credential()
    engine = shared.engine
    token = pairing.issue_host_token(engine.log, engine, engine.ports, "squid", USER).text
    if credential == "revoked":
        shared.engine.do(RevokeDevice(known.device_id))
    brought = {
        "none": {},
        "wrong": shared.headers(pairing.Credential(known.device_id, "x" * 43)),
        "half": {"cookie": f"{shared.cookie_name}={known.cookie}"},
        "other half": {"x-everloop-key": known.key},
        "whole cookie": {"cookie": f"{shared.cookie_name}={known.text}"},
        "revoked": shared.headers(known),
        "host": {"authorization": f"Bearer {token}"},
        "foreign": {"authorization": f"Bearer dev-999.{known.secret}"},
        "malformed": {
            "authorization": "Bearer \xff..",
            "cookie": f"{shared.cookie_name}=;=;{known.text}",
        },
    }[credential]
    with shared.stranger() as client:
        for method, path in GUARDED:
            headers = [(name.encode(), value.encode("latin-1")) for name, value in brought.items()]
            answer = client.request(method, path, headers=headers)
            assert answer.status_code == (403 if credential == "host" else 401), (method, path)
            assert set(answer.json()) == {"error", "hint"}


def test_a_signed_path_is_mounted_only_by_what_checks_signatures(shared: Served) -> None:
    for path in SIGNED_PATHS:  # nothing is configured here, so no credential opens anything
        with shared.client() as client:
            assert client.post(f"{path}/call").status_code in (404, 405)
        for method in METHODS[1:]:
            with shared.stranger() as stranger:
                answer = stranger.request(method, f"{path}/call")
                assert answer.status_code in (404, 405)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("path", ["/api", "/api/", "/api/nothing", "/api//threads", "/mcp"])
def test_an_unknown_address_reveals_nothing_without_a_credential(
    shared: Served, method: str, path: str
) -> None:
    with shared.stranger() as client:
        assert client.request(method, path).status_code == 401


@pytest.mark.promise("P-HTTP-1")
def test_an_expired_credential_is_refused_on_every_route(tmp_path: Path) -> None:
    with served(tmp_path) as server:
        known = server.credential()
        days = server.running.settings.serve.device_lives_days
        with server.client(known) as client:
            server.stage.clock.tick(seconds=days * 86_400 - 10)
            assert client.get("/api/session").status_code == 200
            server.stage.clock.tick(seconds=11)
            for method, path in GUARDED:
                assert client.request(method, path).status_code == 401, (method, path)
        with server.client(server.credential()) as client:
            listed = {one["device_id"]: one["expired"] for one in client.get("/api/devices").json()}
            assert listed[known.device_id] is True
            assert sum(listed.values()) == 1


def test_a_credential_is_accepted_as_cookie_or_bearer_token(shared: Served) -> None:
    known = shared.credential()
    with shared.client(known) as browser, shared.stranger() as program:
        assert browser.get("/api/session").json()["device_id"] == known.device_id
        headers = {"authorization": f"Bearer {known.text}"}
        assert program.get("/api/session", headers=headers).status_code == 200


@pytest.mark.promise("P-HTTP-13")
@pytest.mark.parametrize(
    "foreign", ['prefs={"theme":"dark"}', "=;;=", 'a="b;c', "\xff=\xfe", "everloop_device=x.y"]
)
def test_cookies_of_other_servers_do_not_matter(shared: Served, foreign: str) -> None:
    sent = shared.headers(shared.credential())
    with shared.stranger() as client:
        for cookie in (f"{foreign}; {sent['cookie']}", f"{sent['cookie']}; {foreign}"):
            brought = {**sent, "cookie": cookie}
            headers = [(name.encode(), value.encode("latin-1")) for name, value in brought.items()]
            assert client.get("/api/session", headers=headers).status_code == 200


@pytest.mark.promise("P-HTTP-13")
def test_another_server_that_sets_our_cookie_signs_nobody_out(shared: Served) -> None:
    sent = shared.headers(shared.credential())
    tossed = f"{shared.cookie_name}=dev-1.tossed; {sent['cookie']}"
    with shared.stranger() as client:
        assert client.get("/api/session", headers={**sent, "cookie": tossed}).status_code == 200


@pytest.mark.promise("P-HTTP-13")
def test_two_servers_on_one_host_name_use_different_cookies(shared: Served, tmp_path: Path) -> None:
    with served(tmp_path) as other:
        assert other.cookie_name != shared.cookie_name
        with shared.stranger() as client:
            for one in (shared, other):
                answer = client.post(f"{one.url}/api/session", json={"code": one.code()}).json()
                assert len(answer["key"]) >= 21
            assert len(client.cookies) == 2


@pytest.mark.promise("P-HTTP-13")
def test_a_ticket_opens_files_and_exports_together_with_its_cookie_for_a_day(
    server: Served,
) -> None:
    known = server.credential()
    with server.client(known) as client, server.stranger() as link:
        ticket = client.get("/api/session").json()["ticket"]
        kept = client.put("/api/files", params={"name": "a.png"}, content=b"picture").json()
        cookie = {"cookie": f"{server.cookie_name}={known.cookie}"}
        card = {"name": "ada.png"}
        ada = client.post(
            "/api/world-imports", params=card, content=png_card({"chara": V2})
        ).json()["characters"][0]
        world = {
            "title": "Summer",
            "player_name": "Robin",
            "place": "The café",
            "characters": [ada],
        }
        begun = {**world, "clock": "2026-05-01T18:00", "request_id": ""}
        opened = client.post("/api/worlds", json=begun).json()
        at = f"/api/worlds/{opened['world_id']}"
        for path in (
            f"/api/files/{kept['digest']}",
            "/api/export?format=jsonl",
            f"/api/characters/{ada}/portrait?of=1",
            f"/api/characters/{ada}/export",
            f"{at}/export?format=json",
            f"{at}/scenes/{opened['scene']['scene_id']}/export",
        ):
            asked = httpx.URL(path).copy_merge_params({"ticket": ticket})
            assert link.get(asked, headers=cookie).status_code == 200
            assert link.get(asked).status_code == 401
            assert link.get(path, headers=cookie).status_code == 401
        for path in ("/api/threads", "/api/session", "/openapi.json", at, "/api/characters"):
            assert link.get(path, params={"ticket": ticket}, headers=cookie).status_code == 401
        server.stage.clock.tick(days=2)
        assert link.get(asked, headers=cookie).status_code == 401


@pytest.mark.promise("P-HTTP-13")
def test_a_device_that_kept_its_whole_secret_in_a_cookie_signs_in_again(server: Served) -> None:
    server.code()
    secret = "s" * 43
    old = PairDevice("dev-old", "old", pairing.digest_secret(secret), "proxy", "me")
    server.engine.do(old)
    known = pairing.Credential("dev-old", secret)
    with server.stranger() as client:
        for sent in (server.headers(known), {"authorization": f"Bearer {known.text}"}):
            assert client.get("/api/session", headers=sent).status_code == 401


def test_a_wrong_bearer_token_overrides_a_valid_cookie(shared: Served) -> None:
    with shared.client() as client:
        headers = {"authorization": "Bearer nobody.nothing"}
        assert client.get("/api/session", headers=headers).status_code == 401


@pytest.mark.promise("P-HTTP-2")
@pytest.mark.parametrize(
    ("host", "status"),
    [
        ("127.0.0.1:{port}", 200),
        ("127.0.0.1", 200),
        ("localhost:{port}", 200),
        ("LOCALHOST:{port}", 200),
        ("[::1]:{port}", 200),
        ("localhost:1", 200),
        ("localhost.", 421),
        ("localhost:", 421),
        ("evil.example", 421),
        ("evil.example:{port}", 421),
        ("localhost.evil.example", 421),
        ("127.0.0.1.evil.example", 421),
        ("127.0.0.2:{port}", 421),
        ("0.0.0.0:{port}", 421),
        ("::1", 421),
        ("user@localhost", 421),
    ],
)
def test_unknown_host_names_are_refused(shared: Served, host: str, status: int) -> None:
    with shared.client() as client:
        named = {"host": host.format(port=shared.port)}
        for path in ("/api/health", "/api/threads", "/"):
            assert client.get(path, headers=named).status_code == status, path


@pytest.mark.parametrize("twice", ["Host", "Origin", "Content-Length"])
def test_a_repeated_security_header_is_refused(shared: Served, twice: str) -> None:
    ours = f"127.0.0.1:{shared.port}"
    said = {"Host": ours, "Origin": f"http://{ours}", "Content-Length": "0"}
    with closing(HTTPConnection(ours)) as connection:
        connection.putrequest("GET", "/api/health", skip_host=True)
        for name, value in said.items():
            for _ in range(1 + (name == twice)):
                connection.putheader(name, value)
        connection.endheaders()
        assert connection.getresponse().status == 400


ORIGINS = [
    ("http://127.0.0.1:{port}", True),
    ("HTTP://127.0.0.1:{port}", True),
    ("https://127.0.0.1:{port}", True),
    ("null", False),
    ("", False),
    ("http://127.0.0.1", False),
    ("http://127.0.0.1:1", False),
    ("http://127.0.0.1.:{port}", False),
    ("http://localhost:{port}", False),
    ("http://evil.example", False),
    ("http://evil.example#127.0.0.1:{port}", False),
    ("http://127.0.0.1:{port}@evil.example", False),
    ("http://evil@127.0.0.1:{port}", False),
    ("file://127.0.0.1:{port}", False),
    ("chrome-extension://127.0.0.1:{port}", False),
    ("http://[::1", False),
]


@pytest.mark.promise("P-HTTP-2")
@pytest.mark.parametrize(("origin", "welcome"), ORIGINS)
def test_another_origin_can_neither_read_nor_write(
    shared: Served, origin: str, welcome: bool
) -> None:
    with shared.client() as client:
        headers = {"origin": origin.format(port=shared.port)}
        asked = client.get("/api/threads", headers=headers)
        changed = client.post("/api/devices/code", headers=headers)
        knocked = client.post("/api/session", headers=headers, json={"code": "none"})
        assert [one.status_code == 403 for one in (asked, changed)] == [not welcome] * 2
        assert "another site" not in knocked.text if welcome else knocked.status_code == 403


@pytest.mark.parametrize("site", ["cross-site", "same-site"])
def test_another_site_may_link_to_a_page_but_not_call_the_api(shared: Served, site: str) -> None:
    with shared.client() as client:
        headers = {"sec-fetch-site": site}
        assert client.get("/", headers=headers).status_code == 200
        assert client.get("/api/threads", headers=headers).status_code == 403
        assert client.post("/api/devices/code", headers=headers).status_code == 403
        assert client.post("/", headers=headers).status_code == 403


def test_over_tls_only_https_origins_are_accepted(tmp_path: Path) -> None:
    with served(tmp_path, rules=SecurityRules(secure=True)) as server, server.stranger() as client:
        client.headers["authorization"] = f"Bearer {server.credential().text}"
        ours = f"127.0.0.1:{server.port}"
        for scheme, status in (("https", 200), ("http", 403)):
            answer = client.get("/api/threads", headers={"origin": f"{scheme}://{ours}"})
            assert answer.status_code == status


@pytest.mark.parametrize(
    ("kind", "body"),
    [
        ("text/plain", b'{"title": "from another site"}'),
        ("application/x-www-form-urlencoded", b"title=x"),
        ("multipart/form-data; boundary=x", b"--x--"),
    ],
)
def test_a_cross_site_form_is_refused(shared: Served, kind: str, body: bytes) -> None:
    """Such a form is sent without a preflight request, with the cookie."""
    with shared.client() as client:
        before = client.get("/api/threads").json()
        for origin in ({}, {"origin": "http://evil.example"}, {"origin": "null"}):
            headers = {"content-type": kind, **origin}
            answer = client.post("/api/threads", content=body, headers=headers)
            assert answer.status_code in (403, 422)
        assert client.get("/api/threads").json() == before


def test_every_response_has_security_headers(shared: Served) -> None:
    with shared.client() as client:
        answers = [
            client.get("/"),
            client.get("/api/threads"),
            client.get("/api/nothing"),
            client.get("/api/health", headers={"host": "evil.example"}),
            client.post("/api/threads", json={}),
        ]
    for answer in answers:
        policy = answer.headers["content-security-policy"]
        assert "default-src 'none'" in policy
        assert "frame-ancestors 'none'" in policy
        assert "unsafe-inline" not in policy.partition("script-src")[2].partition(";")[0]
        assert "unsafe-eval" not in policy
        assert answer.headers["x-content-type-options"] == "nosniff"
        assert answer.headers["referrer-policy"] == "no-referrer"
        assert "access-control-allow-origin" not in answer.headers


def test_a_too_large_body_is_refused_with_and_without_content_length(tmp_path: Path) -> None:
    small = SecurityRules(body_bytes_max=10_000)
    with served(tmp_path, rules=small) as server, server.client() as client:
        whole = b'{"title": "' + b"x" * 20_000 + b'"}'
        kind = {"content-type": "application/json"}
        stated = client.post("/api/threads", content=whole, headers=kind)
        in_parts = client.post("/api/threads", content=_parts(whole), headers=kind)
        kept = client.put("/api/files?name=x", content=_parts(whole))
        assert [one.status_code for one in (stated, in_parts, kept)] == [413, 413, 413]
        assert client.get("/api/threads").status_code == 200


def _parts(whole: bytes) -> Iterator[bytes]:
    for at in range(0, len(whole), 1_000):
        yield whole[at : at + 1_000]


@pytest.mark.parametrize(
    "name",
    ["..%2f..%2fetc%2fpasswd", "..", "%00", "a%00b", "%ff", "x" * 5_000, "%2e%2e%2f", "‮", "'--"],
)
def test_no_id_allows_path_traversal(shared: Served, name: str) -> None:
    paths = [path for method, path in ROUTES if method == "GET" and path.endswith("/1")]
    with shared.client() as client:
        for path in [*paths, "/api/files/1", "/1", "/_app/1"]:
            answer = client.get(path.removesuffix("1") + name, follow_redirects=False)
            assert answer.status_code in (200, 401, 404, 405, 421, 422), (path, answer.text)
            assert "root:" not in answer.text


def test_a_websocket_is_refused(shared: Served) -> None:
    wish = {
        "connection": "upgrade",
        "upgrade": "websocket",
        "sec-websocket-version": "13",
        "sec-websocket-key": "AAAAAAAAAAAAAAAAAAAAAA==",
    }
    with shared.stranger() as client, suppress(httpx.RemoteProtocolError):
        assert client.get("/api/stream", headers=wish).status_code in (401, 403)


def test_private_responses_are_not_cached(shared: Served) -> None:
    with shared.client() as client:
        for path in (
            "/api/memories",
            "/api/recall?query=x&mode=text",
            "/api/none",
            "/openapi.json",
        ):
            assert client.get(path).headers["cache-control"] == "no-store", path
