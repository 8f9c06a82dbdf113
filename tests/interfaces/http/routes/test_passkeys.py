"""Signing in with a passkey or with Cloudflare Access."""

import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from time import time
from typing import Any

import httpx
import jwt
import msgspec
import pytest
from cryptography.hazmat.primitives.asymmetric import rsa
from jwt.algorithms import RSAAlgorithm
from tests.interfaces.http.authenticator import PRESENT, Authenticator
from tests.interfaces.http.serving import Served, plain_settings, served

from everloop.settings import ServeSettings


def _by_name(server: Served, client: httpx.Client) -> Authenticator:
    """An authenticator for the server's host name; an IP address cannot have one."""
    client.base_url = httpx.URL(f"http://localhost:{server.port}")
    return Authenticator("localhost", f"http://localhost:{server.port}")


def _added(client: httpx.Client, key: Authenticator) -> httpx.Response:
    options = client.post("/api/passkeys/options").json()
    return client.post("/api/passkeys", json={"credential": key.made(options), "name": "my key"})


@pytest.fixture
def added(server: Served) -> Authenticator:
    """A registered passkey."""
    with server.stranger() as client:
        key = _by_name(server, client)
        client.headers["authorization"] = f"Bearer {server.credential().text}"
        assert _added(client, key).status_code == 201
    return key


def _opened(client: httpx.Client, key: Authenticator) -> httpx.Response:
    options = client.post("/api/session/passkey/options").json()
    return client.post("/api/session/passkey", json={"credential": key.signed(options)})


@pytest.mark.promise("P-HTTP-3")
def test_a_passkey_signs_a_device_in(server: Served, added: Authenticator) -> None:
    with server.stranger() as client:
        _by_name(server, client)
        let_in = _opened(client, added)
        assert let_in.json()["way"] == "passkey"
        assert "httponly" in let_in.headers["set-cookie"].lower()
        client.headers["x-everloop-key"] = _opened(client, added).json()["key"]
        (key,) = client.get("/api/passkeys").json()
        assert (key["name"], key["site"]) == ("my key", "localhost")


def test_a_passkey_challenge_is_valid_once_and_expires(
    server: Served, added: Authenticator
) -> None:
    with server.stranger() as client:
        _by_name(server, client)
        options = client.post("/api/session/passkey/options").json()
        signed = {"credential": added.signed(options)}
        assert client.post("/api/session/passkey", json=signed).status_code == 200
        assert client.post("/api/session/passkey", json=signed).status_code == 403
        late = client.post("/api/session/passkey/options").json()
        server.stage.clock.tick(minutes=6)
        signed = {"credential": added.signed(late)}
        assert client.post("/api/session/passkey", json=signed).status_code == 403


@pytest.mark.parametrize("wrong", ["challenge", "origin", "site", "copied", "unverified", "key"])
def test_an_invalid_passkey_is_refused(server: Served, added: Authenticator, wrong: str) -> None:
    with server.stranger() as client:
        _by_name(server, client)
        options: dict[str, Any] = client.post("/api/session/passkey/options").json()
        key = added
        match wrong:
            case "challenge":
                options["challenge"] = "AAAA"
            case "origin":
                key.origin = "http://evil.example"
            case "site":
                key.site = "evil.example"
            case "copied":
                assert _opened(client, key).status_code == 200
                key.count = 0
                client.cookies.clear()
            case "unverified":
                key.flags = PRESENT
            case _:
                key = Authenticator(key.site, key.origin)
        answer = client.post("/api/session/passkey", json={"credential": key.signed(options)})
        assert answer.status_code == 403
        assert "set-cookie" not in answer.headers
        assert client.get("/api/session").status_code == 401


def test_a_removed_passkey_is_refused(server: Served, added: Authenticator) -> None:
    with server.client() as signed_in, server.stranger() as client:
        (key,) = signed_in.get("/api/passkeys").json()
        assert signed_in.delete(f"/api/passkeys/{key['credential']}").status_code == 204
        _by_name(server, client)
        assert _opened(client, added).status_code == 403


def test_an_ip_address_cannot_have_passkeys(server: Served) -> None:
    with server.client() as client:
        refused = client.post("/api/passkeys/options")
        assert (refused.status_code, "localhost" in refused.json()["hint"]) == (422, True)


@pytest.mark.parametrize(
    "credential",
    [{}, {"id": 1}, {"response": {}}, {"response": {"clientDataJSON": "e30"}}, {"response": []}],
)
def test_a_malformed_passkey_response_is_refused(
    shared: Served, credential: dict[str, Any]
) -> None:
    with shared.client() as client:
        for path in ("/api/passkeys", "/api/session/passkey"):
            answer = client.post(path, json={"credential": credential})
            assert answer.status_code in (403, 422, 429), (path, answer.text)


class Voucher:
    """Cloudflare Access on loopback: its keys, and tokens that they signed."""

    def __init__(self, url: str, key: rsa.RSAPrivateKey) -> None:
        self.url, self.audience, self._key = url, "aud-1", key

    def token(self, **claims: object) -> str:
        """A valid token, except for the given claims."""
        now = int(time())
        said = {"iss": self.url, "aud": self.audience, "sub": "1", "email": "me@example.org"}
        whole = {**said, "iat": now, "exp": now + 60, **claims}
        return jwt.encode(whole, self._key, algorithm="RS256", headers={"kid": "k1"})


@contextmanager
def _voucher() -> Generator[Voucher]:
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    public: dict[str, Any] = RSAAlgorithm.to_jwk(key.public_key(), as_dict=True)
    certs = json.dumps({"keys": [{**public, "kid": "k1", "alg": "RS256", "use": "sig"}]}).encode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200 if self.path == "/cdn-cgi/access/certs" else 404)
            self.send_header("content-length", str(len(certs)))
            self.end_headers()
            self.wfile.write(certs)

        def log_message(self, format: str, *args: object) -> None:
            """Do not log."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield Voucher(f"http://127.0.0.1:{server.server_port}", key)
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def test_only_a_valid_cloudflare_access_token_signs_in(tmp_path: Path) -> None:
    with _voucher() as voucher:
        place = ServeSettings(access_url=voucher.url, access_audience=voucher.audience)
        settings = msgspec.structs.replace(plain_settings(tmp_path), serve=place)
        with served(tmp_path, settings=settings) as server, server.stranger() as client:

            def knock(token: str) -> httpx.Response:
                headers = {"cf-access-jwt-assertion": token}
                return client.post("/api/session/proxy", headers=headers)

            others = rsa.generate_private_key(public_exponent=65537, key_size=2048)
            wrong = {
                "audience": voucher.token(aud="another"),
                "issuer": voucher.token(iss="https://evil.example"),
                "expired": voucher.token(exp=1),
                "no end": voucher.token(exp=None),
                "signer": Voucher(voucher.url, others).token(),
                "unsigned": jwt.encode({"sub": "1"}, "", algorithm="none"),
                "nobody": voucher.token(sub="", email=""),
                "a blank": voucher.token(sub=" ", email=None),
                "nothing": "",
            }
            for why, token in wrong.items():
                assert knock(token).status_code == 403, why
            assert client.get("/api/session").status_code == 401
            signed_in = knock(voucher.token()).json()
            assert signed_in["way"] == "proxy"
            client.headers["x-everloop-key"] = signed_in["key"]
            assert client.get("/api/session").status_code == 200


def test_cloudflare_access_tokens_are_ignored_unless_configured(server: Served) -> None:
    with server.stranger() as client:
        headers = {"cf-access-jwt-assertion": "x.y.z"}
        assert client.post("/api/session/proxy", headers=headers).status_code == 404
        assert client.get("/api/threads", headers=headers).status_code == 401
