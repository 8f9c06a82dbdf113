"""A long past: the page holds a bounded part of it, scrolls through it and finds a day in it."""

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.long_past import said_once, take_in
from tests.web.servers import House, house

pytestmark = pytest.mark.xdist_group("pages")

MANY = 100_000
UPWARDS = """() => {  // the page may still be on its way to the end: go up until it stays there
  const list = document.querySelector('.history');
  const there = list.scrollTop === 0 && list.querySelector('button[aria-expanded=false]');
  window.__calm = there ? (window.__calm ?? 0) + 1 : 0;
  list.scrollTo(0, 0);
  return window.__calm > 20;
}"""
ROWS_MAX = 120  # in the page at once


def fill(home: House, messages: int, *, days: int) -> datetime:
    """Put a past into the home thread, spread over some days; when it ends."""
    end = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the browser's clock is this one
    step = timedelta(days=days) / messages
    words = "Some words that were said. "
    said = [
        said_once(number, words, end - step * (messages - number)) for number in range(messages)
    ]
    take_in(home.engine, said)
    return end


def rows(page: Page) -> int:
    return page.locator(".history article").count()


def test_a_hundred_thousand_messages_scroll_in_a_bounded_page(
    tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with house(tmp_path) as home:
        fill(home, MANY, days=1)
        page = visit(home.link())
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()
        history = page.locator(".history")
        for _ in range(20):
            history.evaluate("list => list.scrollBy(0, -4000)")
            page.wait_for_function("() => document.querySelectorAll('.history article').length > 0")
            assert rows(page) < ROWS_MAX
        expect(page.get_by_role("button", name="To the end")).to_be_visible()
        shot(page, "thread-long")
        page.get_by_role("button", name="To the end").click()
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()


def test_older_days_are_folded_and_unfold(tmp_path: Path, visit: Visit, shot: Shot) -> None:
    with house(tmp_path) as home:
        end = fill(home, 2_000, days=400)
        page = visit(home.link())
        expect(page.get_by_text("Message 1999.")).to_be_visible()
        page.wait_for_function(UPWARDS)
        folded = page.locator("button[aria-expanded=false]", has_text="messages")
        expect(folded.first).to_be_visible()
        shot(page, "thread-folded")
        folded.first.click()
        expect(page.locator("button[aria-expanded=true]", has_text="messages")).to_have_count(1)
        day = (end - timedelta(days=200)).date().isoformat()
        page.goto(f"{home.address}/?day={day}")
        expect(page.locator("article.message").first).to_be_visible()
        shot(page, "thread-day")
