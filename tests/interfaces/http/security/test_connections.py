"""Before sign-in: silent connections, endless heads, large bodies and forged addresses."""

import socket
from contextlib import ExitStack
from pathlib import Path

import msgspec
import pytest
from tests.interfaces.http.serving import WAIT_S, Served, plain_settings, served

from everloop.settings import ServeSettings

SILENT_MAX = 16


def _connected(server: Served) -> socket.socket:
    one = socket.create_connection(("127.0.0.1", server.port), timeout=WAIT_S)
    one.settimeout(WAIT_S)
    return one


def _send_headers_for_ever(endless: socket.socket) -> None:
    for number in range(10_000):
        endless.sendall(b"x-%d: %s\r\n" % (number, b"y" * 1_000))


@pytest.mark.promise("P-HTTP-14")
def test_silent_connections_keep_nobody_out(tmp_path: Path) -> None:
    settings = msgspec.structs.replace(
        plain_settings(tmp_path), serve=ServeSettings(silent_max=SILENT_MAX, head_wait_s=600)
    )
    with served(tmp_path, settings=settings) as server, ExitStack() as stack:
        silent = [stack.enter_context(_connected(server)) for _ in range(5 * SILENT_MAX)]
        with server.stranger() as client:
            assert client.get("/api/health").json()["ok"] is True
        assert silent[0].recv(1) == b""  # the oldest was closed
        silent[-1].sendall(b"GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n")
        assert silent[-1].recv(15) == b"HTTP/1.1 200 OK"


@pytest.mark.promise("P-HTTP-14")
@pytest.mark.parametrize("said", [b"", b"GET / HTT", b"GET / HTTP/1.1\r\nHost: loc"])
def test_a_connection_that_sends_no_request_is_closed(tmp_path: Path, said: bytes) -> None:
    settings = msgspec.structs.replace(
        plain_settings(tmp_path), serve=ServeSettings(head_wait_s=0.05)
    )
    with served(tmp_path, settings=settings) as server, _connected(server) as slow:
        slow.sendall(said)
        assert slow.recv(1) == b""


@pytest.mark.promise("P-HTTP-14")
def test_an_endless_head_is_cut_off(server: Served) -> None:
    with _connected(server) as endless:
        endless.sendall(b"GET / HTTP/1.1\r\nHost: localhost\r\n")
        with pytest.raises(ConnectionError):
            _send_headers_for_ever(endless)


@pytest.mark.promise("P-HTTP-14")
@pytest.mark.parametrize("path", ["/api/session", "/api/session/passkey", "/api/session/proxy"])
def test_a_large_body_for_signing_in_is_refused(server: Served, path: str) -> None:
    with server.stranger() as client:
        headers = {"content-type": "application/json"}
        sent = client.post(path, content=b"x" * 100_000, headers=headers)
        assert sent.status_code == 413


@pytest.mark.promise("P-HTTP-4")
def test_a_forged_address_does_not_defeat_the_rate_limit(server: Served) -> None:
    with server.stranger() as client:
        tried = [
            client.post(
                "/api/session",
                json={"code": "WRONGCODE9"},
                headers={"x-forwarded-for": f"10.0.0.{number}"},
            ).status_code
            for number in range(12)
        ]
    assert tried == [403] * 10 + [429] * 2
