"""`/docs`: the HTTP API, behind sign-in, without assets from elsewhere."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import open_page
from tests.web.servers import start_server

pytestmark = pytest.mark.xdist_group("pages")


def test_the_api_is_shown_from_this_server_only(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/")
        asked: list[str] = []
        page.on("request", lambda request: asked.append(request.url))
        page.goto(f"{server.address}/docs")
        page.get_by_label("Search routes").fill("promotion")
        page.get_by_text("/api/lessons/{lesson_id}/promotion").click()
        expect(page.get_by_text("Ask the gate to promote a lesson.", exact=False)).to_be_visible()
        expect(page.get_by_text("PromotionOut", exact=False).first).to_be_visible()
        assert asked
        assert all(url.startswith((server.address, "data:", "blob:")) for url in asked)


def test_the_api_is_not_shown_before_sign_in(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(f"{server.address}/docs")
        expect(page.get_by_label("Search routes")).to_have_count(0)
        assert page.request.get(f"{server.address}/openapi.json").status == 401
