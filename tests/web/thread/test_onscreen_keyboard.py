"""On-screen keyboard: the composer and the newest message stay visible.

There are two kinds. Android's resizes the page if the page asks for it: the viewport is resized
here. An iPhone's overlays the page and reports its position: no browser here has one, so the
visual viewport is faked.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import Server, start_server
from tests.web.thread.test_thread import say

pytestmark = pytest.mark.xdist_group("web")

WIDTH, HEIGHT, KEYBOARD = 390, 844, 336
LEFT = HEIGHT - KEYBOARD
TURNS = 6
NEWEST = f"Answer {TURNS}, the last line of it."
TOLD = """([height, top]) => {
  const seen = window.visualViewport;
  Object.defineProperty(seen, 'height', { value: height, configurable: true });
  Object.defineProperty(seen, 'offsetTop', { value: top, configurable: true });
  seen.dispatchEvent(new Event('resize'));
  seen.dispatchEvent(new Event('scroll'));
}"""

Shown = Callable[[Page, int, int], None]


def resizes_page(page: Page, height: int, _top: int) -> None:
    """A keyboard that shrinks the page."""
    page.set_viewport_size({"width": WIDTH, "height": height})


def overlays_page(page: Page, height: int, top: int) -> None:
    """A keyboard that covers the page and pushes it up by `top`."""
    page.evaluate(TOLD, [height, top])


@pytest.fixture(
    params=[(resizes_page, 0), (overlays_page, 0), (overlays_page, 120)],
    ids=["takes room", "lies over", "lies over and pushes"],
)
def keyboard(request: pytest.FixtureRequest, size: str) -> tuple[Shown, int]:
    """How the keyboard opens, and how far it pushes the page up."""
    if size != "phone":
        pytest.skip("a desktop's keyboard is not on its screen")
    found: tuple[Shown, int] = request.param
    return found


def page_with_messages(server: Server, visit: Visit) -> Page:
    """A page with more messages than fit."""
    page = visit(server.link())
    for number in range(1, TURNS + 1):
        say(page, f"Question {number}")
        expect(page.locator("[data-role=assistant]").last).to_contain_text(f"Answer {number},")
    return page


def wait_until_visible(page: Page, top: int, height: int) -> None:
    """Wait until the composer and the newest message are in the visible part."""
    page.wait_for_function(
        """([top, bottom, newest]) => {
          const field = document.querySelector('textarea').getBoundingClientRect();
          const said = [...document.querySelectorAll('[data-role=assistant] .prose')].at(-1);
          const last = said?.getBoundingClientRect();
          return field.top >= top && field.bottom <= bottom && said.innerText.includes(newest)
            && last.bottom <= field.top && last.bottom > top;
        }""",
        arg=[top, top + height, NEWEST],
    )


def test_the_on_screen_keyboard_covers_neither_the_composer_nor_the_newest_message(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, keyboard: tuple[Shown, int]
) -> None:
    shown, top = keyboard
    answers = [f"A first line.\n\nAnswer {n}, the last line of it." for n in range(1, TURNS + 1)]
    with start_server(tmp_path, answers) as server:
        page = page_with_messages(server, visit)
        asks = page.locator("meta[name=viewport]").get_attribute("content") or ""
        assert "interactive-widget=resizes-content" in asks
        field = page.get_by_label("Write a message")
        field.tap()
        shown(page, LEFT, top)
        wait_until_visible(page, top, LEFT)
        expect(page.get_by_role("navigation", name="Main")).to_be_hidden()
        expect(field).to_be_focused()
        field.fill("\n".join(f"Line {n} of a long message" for n in range(40)))
        wait_until_visible(page, top, LEFT)
        screenshot(page, f"keyboard-{shown.__name__}-{top}")
        field.fill("")
        shown(page, HEIGHT, 0)
        expect(page.get_by_role("navigation", name="Main")).to_be_visible()
        wait_until_visible(page, 0, HEIGHT)
        expect(field).to_be_focused()
