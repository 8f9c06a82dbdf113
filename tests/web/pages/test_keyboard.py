"""The keyboard on a phone's screen: what one writes and the newest message stay in sight.

There are two kinds. One takes its room from the page, as Android's does for a page that asks so:
the page is really made lower here. The other lies over the page and tells where it is, as an
iPhone's does: no browser here has one, so the page is told what an iPhone would tell it.
"""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.servers import House, house
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


def takes_room(page: Page, height: int, _top: int) -> None:
    """A keyboard that makes the page lower."""
    page.set_viewport_size({"width": WIDTH, "height": height})


def lies_over(page: Page, height: int, top: int) -> None:
    """A keyboard that covers the page, which was pushed up by `top`."""
    page.evaluate(TOLD, [height, top])


@pytest.fixture(
    params=[(takes_room, 0), (lies_over, 0), (lies_over, 120)],
    ids=["takes room", "lies over", "lies over and pushes"],
)
def keyboard(request: pytest.FixtureRequest, size: str) -> tuple[Shown, int]:
    """How a keyboard comes, and how far it pushes the page up."""
    if size != "phone":
        pytest.skip("a desktop's keyboard is not on its screen")
    found: tuple[Shown, int] = request.param
    return found


def talked(home: House, visit: Visit) -> Page:
    """A page with more on it than fits."""
    page = visit(home.link())
    for number in range(1, TURNS + 1):
        say(page, f"Question {number}")
        expect(page.locator("[data-role=assistant]").last).to_contain_text(f"Answer {number},")
    return page


def in_sight(page: Page, top: int, height: int) -> None:
    """Wait until the field and the newest message stand where the keyboard leaves them."""
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


def test_the_keyboard_covers_neither_the_field_nor_the_newest_message(
    tmp_path: Path, visit: Visit, shot: Shot, keyboard: tuple[Shown, int]
) -> None:
    shown, top = keyboard
    answers = [f"A first line.\n\nAnswer {n}, the last line of it." for n in range(1, TURNS + 1)]
    with house(tmp_path, answers) as home:
        page = talked(home, visit)
        asks = page.locator("meta[name=viewport]").get_attribute("content") or ""
        assert "interactive-widget=resizes-content" in asks
        field = page.get_by_label("Write a message")
        field.tap()
        shown(page, LEFT, top)
        in_sight(page, top, LEFT)
        expect(page.get_by_role("navigation", name="Places")).to_be_hidden()
        expect(field).to_be_focused()
        field.fill("\n".join(f"Line {n} of a long message" for n in range(40)))
        in_sight(page, top, LEFT)
        shot(page, f"keyboard-{shown.__name__}-{top}")
        field.fill("")
        shown(page, HEIGHT, 0)
        expect(page.get_by_role("navigation", name="Places")).to_be_visible()
        in_sight(page, 0, HEIGHT)
        expect(field).to_be_focused()
