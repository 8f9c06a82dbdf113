"""A long list of memories, far down, while others write."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.demo_server import enter
from tests.web.servers import House, house

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


def _filled(home: House) -> None:
    home.engine.do_many(
        [RememberItem(f"mem-{n}", f"Note {n} about thing {n * 7}") for n in range(COUNT)], by=USER
    )


def _rows(page: Page) -> list[str]:
    links = page.locator("#main a[href^='/memory/mem-']")
    shown: list[str] = links.evaluate_all("all => all.map((one) => one.getAttribute('href'))")
    return shown


def test_who_looks_at_old_memories_stays_there_when_a_new_one_comes(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        _filled(home)
        page = enter(home, visit, "/memory")
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        page.evaluate(TO_THE_END)
        page.evaluate("const main = document.getElementById('main'); main.scrollBy(0, -9000)")
        expect(page.locator("#main a[href='/memory/mem-0']")).to_have_count(0)
        seen = set(_rows(page))
        assert seen
        home.engine.do(RememberItem("mem-new", "Something quite new."), by=USER)
        expect(page.get_by_text(f"{COUNT + 1:,} memories")).to_have_count(1)
        assert seen & set(_rows(page))


def test_what_came_while_nobody_told_shifts_no_memory_into_the_list_twice(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        _filled(home)
        page = enter(home, visit, "/memory")
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        page.context.route("**/api/stream*", lambda route: route.abort())
        page.reload()
        expect(page.get_by_text(f"{COUNT:,} memories")).to_be_visible()
        for number in range(3):
            home.engine.do(RememberItem(f"mem-new-{number}", f"New thing {number}."), by=USER)
        page.evaluate(TO_THE_END)
        expect(page.get_by_text(f"{COUNT + 3:,} memories")).to_have_count(1)
        rows = _rows(page)
        assert len(rows) == len(set(rows))
