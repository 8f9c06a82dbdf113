"""The search page: results, filters, and links to messages."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_day, open_page, start_demo_server
from tests.web.imported_messages import import_messages, imported_message
from tests.web.servers import start_server

pytestmark = pytest.mark.xdist_group("pages")


def test_a_search_result_links_to_its_message(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/search")
        page.get_by_label("Search messages").fill("marzipan")
        hits = page.locator("#results a")
        expect(hits.first).to_be_visible()
        expect(page).to_have_url(f"{server.address}/search?q=marzipan")
        expect(hits.first.locator("mark").first).to_have_text("marzipan")
        hits.first.click()
        expect(page.locator("article.message").filter(has_text="marzipan").first).to_be_visible()
        assert "message=" in page.url


def test_more_results_can_be_loaded(tmp_path: Path, visit: Visit) -> None:
    count = 70
    with start_server(tmp_path) as server:
        now = datetime.now(UTC)  # noqa: TID251 - the browser's clock is this one
        messages = [imported_message(n, "The heron stood there. ", now) for n in range(count)]
        import_messages(server.engine, messages)
        server.running.remembering.remember()
        page = open_page(server, visit, "/search?q=heron&mode=text")
        expect(page.get_by_text("Top 50 results")).to_be_visible()
        expect(page.locator("#results a")).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(page.get_by_text(f"{count} results")).to_be_visible()
        expect(page.locator("#results a")).to_have_count(count)
        expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_the_address_contains_the_search_filters(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(
            server,
            visit,
            f"/search?q=kitchen&role=user&since={demo_day(210)}&before={demo_day(180)}",
        )
        results = page.locator("#results a")
        expect(results.first).to_be_visible()
        for words in results.all_inner_texts():
            assert words.startswith("You")
            assert f"{demo_day(198).year}" in words


def test_arrow_keys_move_through_results(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/search?q=sesame")
        expect(page.locator("#results a").first).to_be_visible()
        page.get_by_label("Search messages").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#results a").first).to_be_focused()


def test_an_empty_result_suggests_what_to_try(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/search?q=zeppelin")
        expect(page.get_by_role("heading", name="No results")).to_be_visible()
