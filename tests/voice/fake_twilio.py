"""Twilio's REST API on loopback: takes calls to place, and answers as told, or not at all."""

import base64
import json
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs

ACCOUNT = "AC" + "1" * 32
AUTH = "the auth token of the tests"
HANG = 0  # a status that means: never answer
RESET = -1  # a status that means: close the connection without an answer


class FakeTwilio:
    """Keeps what it got."""

    def __init__(self) -> None:
        self.statuses: list[int] = []  # of the next calls; 201 when there is none
        self.calls: list[dict[str, str]] = []
        self.arrived = threading.Condition()
        self.closing = threading.Event()
        self.port = 0

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    def take(self, form: dict[str, str]) -> int:
        """Keep a call; returns the status to answer with."""
        with self.arrived:
            self.calls.append(form)
            self.arrived.notify_all()
        return self.statuses.pop(0) if self.statuses else 201

    def wait_for(self, count: int) -> None:
        """Wait until so many calls came."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.calls) >= count, 60), self.calls


@contextmanager
def fake_twilio() -> Generator[FakeTwilio]:
    """Run it while the test does."""
    fake = FakeTwilio()
    server = ThreadingHTTPServer(("127.0.0.1", 0), _handler(fake))
    server.daemon_threads = True
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        fake.closing.set()
        server.shutdown()
        server.server_close()
        thread.join()


def _handler(fake: FakeTwilio) -> type[BaseHTTPRequestHandler]:
    expected = "Basic " + base64.b64encode(f"{ACCOUNT}:{AUTH}".encode()).decode()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            known = self.headers["authorization"] == expected
            self._answer(200 if known else 401, {"status": "active"})

        def do_POST(self) -> None:
            length = int(self.headers["content-length"])
            form = {
                key: value[0] for key, value in parse_qs(self.rfile.read(length).decode()).items()
            }
            if self.headers["authorization"] != expected:
                self._answer(401, {"code": 20003})
                return
            status = fake.take(form)
            if status == HANG:
                fake.closing.wait(60)
            if status in (HANG, RESET):
                self.close_connection = True
                return
            sid = f"CA{len(fake.calls):032x}"
            self._answer(status, {"sid": sid} if status == 201 else {"code": 21211})

        def _answer(self, status: int, said: dict[str, object]) -> None:
            body = json.dumps(said).encode()
            self.send_response(status)
            self.send_header("content-type", "application/json")
            self.send_header("content-length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing."""

    return Handler
