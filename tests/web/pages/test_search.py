"""The search page: results, filters, and links to messages."""

from datetime import UTC, datetime
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_day, open_page, start_demo_server
from tests.web.imported_messages import import_messages, imported_message
from tests.web.servers import start_server

from everloop.adapters.runners.command import CommandRunner
from everloop.app import USER
from everloop.workers import TaskSpec

pytestmark = pytest.mark.xdist_group("pages")
SELECTED_TOP = "() => getSelection().getRangeAt(0).getBoundingClientRect().top"


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


def test_a_place_in_the_work_of_a_task_is_found_and_opened(tmp_path: Path, visit: Visit) -> None:
    script = "seq 1 400; echo 'the clock was skewed by 512 ms'; seq 401 800"
    with start_server(tmp_path / "home", runners=[CommandRunner()]) as server:
        spec = TaskSpec("Look at the clock", command=("sh", "-c", script))
        task = server.engine.workers.propose(spec, USER, start=True).task
        page = open_page(server, visit, f"/tasks/{task.task_id}")
        expect(page.get_by_role("log")).to_contain_text("skewed")
        page.goto(f"{server.address}/search?q=skewed+clock&mode=text")
        hit = page.get_by_role("region", name="In tasks").get_by_role("link")
        expect(hit).to_contain_text("Look at the clock")
        expect(hit.locator("mark").first).to_have_text("clock")
        hit.click()
        log = page.get_by_role("log")
        expect(log).to_contain_text("skewed")
        page.wait_for_function("() => getSelection().toString() === 'skewed'")
        shown, top = log.bounding_box(), page.evaluate(SELECTED_TOP)
        assert shown is not None
        assert shown["y"] <= top <= shown["y"] + shown["height"]


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
