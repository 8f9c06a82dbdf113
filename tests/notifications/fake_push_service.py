"""A push service on loopback: takes messages of a browser's subscription, and answers as told."""

import base64
import importlib
import json
import threading
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from cryptography.hazmat.primitives.asymmetric import ec
from cryptography.hazmat.primitives.serialization import Encoding, PublicFormat


class FakePushService:
    """Keeps what it got, decrypted with the browser's key."""

    def __init__(self) -> None:
        self.statuses: list[int] = []  # of the next messages; 201 when there is none
        self.retry_after = ""
        self.got: list[tuple[dict[str, str], dict[str, Any]]] = []
        self.arrived = threading.Condition()
        self.port = 0
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._secret = b"sixteen bytes ok"

    def subscription(self, path: str = "/device") -> dict[str, str]:
        """What a browser would send to the server."""
        point = self._key.public_key().public_bytes(Encoding.X962, PublicFormat.UncompressedPoint)
        return {
            "endpoint": f"http://127.0.0.1:{self.port}{path}",
            "p256dh": _encode(point),
            "auth": _encode(self._secret),
        }

    def take(self, headers: Mapping[str, str], body: bytes) -> int:
        """Keep a message; returns the status to answer with."""
        text: bytes = body
        if "content-encoding" in {name.lower() for name in headers}:
            library: Any = importlib.import_module("http_ece")
            text = library.decrypt(
                body, private_key=self._key, auth_secret=self._secret, version="aes128gcm"
            )
        plain = {name.lower(): value for name, value in headers.items()}
        with self.arrived:
            self.got.append((plain, json.loads(text)))
            self.arrived.notify_all()
        return self.statuses.pop(0) if self.statuses else 201

    def wait_for(self, count: int, timeout_s: float = 60) -> None:
        """Wait until so many messages came."""
        with self.arrived:
            assert self.arrived.wait_for(lambda: len(self.got) >= count, timeout_s), self.got


@contextmanager
def fake_push_service() -> Generator[FakePushService]:
    """Run it while the test does."""
    fake = FakePushService()

    class Answer(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            status = fake.take(
                dict(self.headers), self.rfile.read(int(self.headers["content-length"]))
            )
            self.send_response(status)
            if fake.retry_after:
                self.send_header("retry-after", fake.retry_after)
            self.send_header("content-length", "0")
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Nothing on the terminal."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Answer)
    fake.port = server.server_address[1]
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield fake
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def _encode(data: bytes) -> str:
    return base64.urlsafe_b64encode(data).rstrip(b"=").decode()
