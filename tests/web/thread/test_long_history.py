"""Long histories: the page renders a bounded part, scrolls, and jumps to a date."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.imported_messages import import_messages, imported_message
from tests.web.servers import Server, start_server

pytestmark = pytest.mark.xdist_group("pages")

MANY, MANY_SOAKING = 20_000, 100_000
SCROLL_TO_TOP = """() => {  // the page may still scroll down: repeat until it stays
  const list = document.querySelector('.history');
  const there = list.scrollTop === 0 && list.querySelector('button[aria-expanded=false]');
  window.__calm = there ? (window.__calm ?? 0) + 1 : 0;
  list.scrollTo(0, 0);
  return window.__calm > 20;
}"""
ROWS_MAX = 120  # in the page at once


def fill(server: Server, messages: int, *, days: int) -> datetime:
    """Import messages into the home thread, spread over some days. Returns when they end."""
    end = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the browser's clock is this one
    step = timedelta(days=days) / messages
    words = "Some words that were said. "
    imported = [
        imported_message(number, words, end - step * (messages - number))
        for number in range(messages)
    ]
    import_messages(server.engine, imported)
    return end


def rows(page: Page) -> int:
    return page.locator(".history article").count()


def test_a_long_history_renders_a_bounded_number_of_rows(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, soaking: bool
) -> None:
    many = MANY_SOAKING if soaking else MANY
    newest = f"Message {many - 1}."
    with start_server(tmp_path) as server:
        fill(server, many, days=1)
        page = visit(server.link())
        expect(page.get_by_text(newest)).to_be_visible()
        history = page.locator(".history")
        for _ in range(20):
            history.evaluate("list => list.scrollBy(0, -4000)")
            page.wait_for_function("() => document.querySelectorAll('.history article').length > 0")
            assert rows(page) < ROWS_MAX
        expect(page.get_by_role("button", name="Jump to latest")).to_be_visible()
        screenshot(page, "thread-long")
        page.get_by_role("button", name="Jump to latest").click()
        expect(page.get_by_text(newest)).to_be_visible()


def test_older_days_are_collapsed_and_can_be_expanded(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        end = fill(server, 2_000, days=400)
        page = visit(server.link())
        expect(page.get_by_text("Message 1999.")).to_be_visible()
        page.wait_for_function(SCROLL_TO_TOP)
        folded = page.locator("button[aria-expanded=false]", has_text="messages")
        expect(folded.first).to_be_visible()
        screenshot(page, "thread-folded")
        folded.first.click()
        expect(page.locator("button[aria-expanded=true]", has_text="messages")).to_have_count(1)
        day = (end - timedelta(days=200)).date().isoformat()
        page.goto(f"{server.address}/?day={day}")
        expect(page.locator("article.message").first).to_be_visible()
        screenshot(page, "thread-day")
