"""Search: everything that was said, and the way back to it."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_house, enter
from tests.web.long_past import said_once, take_in
from tests.web.servers import house

pytestmark = pytest.mark.xdist_group("pages")


def test_a_search_leads_to_the_message(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/search")
        page.get_by_label("Search everything that was said").fill("marzipan")
        hits = page.locator("#hits a")
        expect(hits.first).to_be_visible()
        expect(page).to_have_url(f"{home.address}/search?q=marzipan")
        expect(hits.first.locator("mark").first).to_have_text("marzipan")
        hits.first.click()
        expect(page.locator("article.message").filter(has_text="marzipan").first).to_be_visible()
        assert "message=" in page.url


def test_more_than_come_at_once_can_be_shown(tmp_path: Path, visit: Visit) -> None:
    count = 70
    with house(tmp_path) as home:
        now = datetime.now(UTC)  # noqa: TID251 - the browser's clock is this one
        said = [said_once(n, "The heron stood there. ", now) for n in range(count)]
        take_in(home.engine, said)
        home.running.remembering.remember()
        page = enter(home, visit, "/search?q=heron&mode=text")
        expect(page.get_by_text("The 50 that fit best")).to_be_visible()
        expect(page.locator("#hits a")).to_have_count(50)
        page.get_by_role("button", name="Show more").click()
        expect(page.get_by_text(f"{count} messages")).to_be_visible()
        expect(page.locator("#hits a")).to_have_count(count)
        expect(page.get_by_role("button", name="Show more")).to_have_count(0)


def test_an_address_holds_all_that_was_asked(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/search?q=cello&role=user&since=2025-09-01&before=2025-09-30")
        said = page.locator("#hits a")
        expect(said.first).to_be_visible()
        for words in said.all_inner_texts():
            assert words.startswith("You")
            assert "Sept 2025" in words


def test_arrow_keys_walk_through_what_was_found(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/search?q=varnish")
        expect(page.locator("#hits a").first).to_be_visible()
        page.get_by_label("Search everything that was said").focus()
        page.keyboard.press("ArrowDown")
        expect(page.locator("#hits a").first).to_be_focused()


def test_nothing_found_says_what_to_try(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/search?q=zeppelin")
        expect(page.get_by_role("heading", name="Nothing was found")).to_be_visible()
