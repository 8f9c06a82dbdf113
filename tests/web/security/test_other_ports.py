"""The session cookie goes to every port of the host name, and opens nothing there."""

import re
import threading
from collections.abc import Generator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import httpx
import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.servers import start_server

pytestmark = [pytest.mark.xdist_group("pages"), pytest.mark.timeout(300)]


@contextmanager
def listening_elsewhere() -> Generator[tuple[str, list[str]]]:
    """Another server on this host name, which keeps the cookies that it receives."""
    received: list[str] = []

    class Listening(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            received.append(self.headers.get("cookie", ""))
            self.send_response(200)
            self.end_headers()

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Listening)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}", received
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@pytest.mark.promise("P-HTTP-13")
def test_another_port_receives_the_cookie_and_can_read_nothing(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("nothing here depends on the size")
    with (
        start_server(tmp_path, ["Answer."] * 3) as server,
        listening_elsewhere() as (elsewhere, received),
    ):
        page = visit(server.link())
        page.get_by_label("Write a message").fill("A secret")
        page.keyboard.press("Enter")
        expect(page.get_by_text("Answer.").first).to_be_visible()
        page.reload()
        expect(page.get_by_text("Answer.").first).to_be_visible()
        page.goto(f"{server.address}/settings")
        with page.expect_download() as download:
            page.get_by_role("link", name="JSON Lines").click()
        assert "A secret" in download.value.path().read_text()
        page.goto(elsewhere)
        (stolen,) = {
            cookie for cookie in received if re.search(r"everloop_device_\w+=dev-", cookie)
        }
        assert page.evaluate("localStorage.length") == 0
        for path in ("/api/session", "/api/memories", "/api/threads", "/api/export?format=jsonl"):
            answer = httpx.get(f"{server.address}{path}", headers={"cookie": stolen})
            assert answer.status_code == 401
