"""The timeline under the hand: drawn over, moved, pinched, and by keys; the address follows."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.demo_server import demo_house, enter

pytestmark = pytest.mark.xdist_group("web")

STRETCH = re.compile(r"from=\d{4}-\d\d-\d\d&until=\d{4}-\d\d-\d\d")


def picture(page: Page) -> Locator:
    return page.get_by_role("group", name="The past, from long stretches to days")


def drag(page: Page, start: float, end: float) -> None:
    """Drag over the picture, from one share of its width to another."""
    bands = picture(page)
    bands.scroll_into_view_if_needed()
    box = bands.bounding_box()
    assert box
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, height)
    page.mouse.move(box["x"] + box["width"] * end, height)
    page.mouse.up()


def stretch(page: Page) -> tuple[str, str]:
    """The days that the address names."""
    page.wait_for_url(STRETCH)
    found = re.search(r"from=([\d-]+)&until=([\d-]+)", page.url)
    assert found
    return found[1], found[2]


def test_a_part_is_drawn_over_and_then_moved(
    year: Path, tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline")
        expect(picture(page)).to_be_visible()
        drag(page, 0.05, 0.25)
        first = stretch(page)
        expect(page.get_by_text("Everything", exact=True)).to_be_visible()
        shot(page, "memory-part")
        drag(page, 0.7, 0.2)
        page.wait_for_function("before => !location.search.includes(before)", arg=first[0])
        second = stretch(page)
        assert second[0] > first[0]
        assert second[1] > first[1]
        page.reload()
        expect(picture(page)).to_be_visible()
        assert stretch(page) == second
        page.get_by_role("button", name="Everything").click()
        expect(page).not_to_have_url(STRETCH)


def test_a_press_is_no_drag(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline")
        picture(page).get_by_role("button", name=re.compile("^June 2025: ")).click()
        expect(page).to_have_url(re.compile("window=month"))


def test_keys_and_buttons_move_and_zoom(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline&from=2025-05-01&until=2025-08-01")
        picture(page).get_by_role("button").first.focus()
        page.keyboard.press("PageDown")
        page.wait_for_url(lambda url: "from=2025-05-01" not in url)
        later = stretch(page)
        assert later > ("2025-06-01", "2025-09-01")
        picture(page).get_by_role("button").first.focus()
        page.keyboard.press("+")
        page.wait_for_url(lambda url: later[0] not in url)
        closer = stretch(page)
        assert later[0] < closer[0] < closer[1] < later[1]
        page.get_by_role("button", name="Farther").click()
        page.wait_for_url(lambda url: closer[0] not in url)


def test_two_fingers_zoom(year: Path, tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "desktop":
        pytest.skip("fingers are on a phone")
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline")
        expect(picture(page)).to_be_visible()
        box = picture(page).bounding_box()
        assert box
        browser: Any = page.context.new_cdp_session(page)
        height, middle = box["y"] + 40, box["x"] + box["width"] / 2
        for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchMove", 120)):
            points = [{"x": middle - apart, "y": height}, {"x": middle + apart, "y": height}]
            browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        browser.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        since, until = stretch(page)
        assert since > "2025-01-06"
        assert until < "2026-11-01"
