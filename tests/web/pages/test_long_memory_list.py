"""Long memory lists: the scroll position while memories are added."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.demo_server import open_page
from tests.web.servers import Server, start_server

from everloop.app import USER
from everloop.memory.model.commands import RememberItem

pytestmark = pytest.mark.xdist_group("pages")

COUNT = 1_000
TO_THE_END = """async () => {
    const main = document.getElementById('main');
    while (![...main.querySelectorAll('a')].some((one) => one.href.endsWith('/mem-0'))) {
        main.scrollTo(0, 1e9);
        await new Promise(requestAnimationFrame);
    }
}"""


def _filled(server: Server) -> None:
    server.engine.do_many(
        [RememberItem(f"mem-{n}", f"Note {n} about thing {n * 7}") for n in range(COUNT)], by=USER
    )


def _rows(page: Page) -> list[str]:
    links = page.locator("#main a[href^='/memory/mem-']")
    shown: list[str] = links.evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    return shown


def test_a_new_memory_does_not_move_the_scroll_position(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        _filled(server)
        page = open_page(server, visit, "/memory")
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        page.evaluate(TO_THE_END)
        page.evaluate("const main = document.getElementById('main'); main.scrollBy(0, -9000)")
        expect(page.locator("#main a[href='/memory/mem-0']")).to_have_count(0)
        seen = set(_rows(page))
        assert seen
        server.engine.do(RememberItem("mem-new", "Something quite new."), by=USER)
        expect(page.get_by_text(f"{COUNT + 1:,} memories")).to_have_count(1)
        assert seen & set(_rows(page))


def test_memories_added_without_an_event_do_not_duplicate_rows(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        _filled(server)
        page = open_page(server, visit, "/memory")
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        page.context.route("**/api/stream*", lambda route: route.abort())
        page.reload()
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        for number in range(3):
            server.engine.do(RememberItem(f"mem-new-{number}", f"New thing {number}."), by=USER)
        page.evaluate(TO_THE_END)
        expect(page.get_by_text(f"{COUNT + 3:,} memories")).to_have_count(1)
        rows = _rows(page)
        assert len(rows) == len(set(rows))
