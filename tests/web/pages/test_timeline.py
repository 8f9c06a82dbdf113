"""Timeline gestures: dragging, panning, pinching and keys; the address follows."""

import re
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import demo_day, open_page, start_demo_server

pytestmark = pytest.mark.xdist_group("web")

RANGE = re.compile(r"from=\d{4}-\d\d-\d\d&until=\d{4}-\d\d-\d\d")


def timeline(page: Page) -> Locator:
    return page.get_by_role("group", name="Timeline")


def drag(page: Page, start: float, end: float) -> None:
    """Drag across the timeline, between two shares of its width."""
    bands = timeline(page)
    bands.scroll_into_view_if_needed()
    box = bands.bounding_box()
    assert box
    height = box["y"] + box["height"] / 2
    page.mouse.move(box["x"] + box["width"] * start, height)
    page.mouse.down()
    page.mouse.move(box["x"] + box["width"] * (start + end) / 2, height)
    page.mouse.move(box["x"] + box["width"] * end, height)
    page.mouse.up()


def range_in_url(page: Page) -> tuple[str, str]:
    """The range of days in the address."""
    page.wait_for_url(RANGE)
    found = re.search(r"from=([\d-]+)&until=([\d-]+)", page.url)
    assert found
    return found[1], found[2]


def test_a_range_is_selected_by_dragging_and_then_panned(
    demo_home: Path, tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=timeline")
        expect(timeline(page)).to_be_visible()
        drag(page, 0.05, 0.25)
        first = range_in_url(page)
        expect(page.get_by_text("All", exact=True)).to_be_visible()
        screenshot(page, "memory-part")
        drag(page, 0.7, 0.2)
        page.wait_for_function("before => !location.search.includes(before)", arg=first[0])
        second = range_in_url(page)
        assert second[0] > first[0]
        assert second[1] > first[1]
        page.reload()
        expect(timeline(page)).to_be_visible()
        assert range_in_url(page) == second
        page.get_by_role("button", name="All", exact=True).click()
        expect(page).not_to_have_url(RANGE)


def test_a_click_is_not_a_drag(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=timeline")
        timeline(page).get_by_role("button", name=re.compile(f"^{demo_day(180):%B %Y}: ")).click()
        expect(page).to_have_url(re.compile("window=month"))


def test_keys_and_buttons_pan_and_zoom(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    since, until = demo_day(240), demo_day(150)
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory?view=timeline&from={since}&until={until}")
        timeline(page).get_by_role("button").first.focus()
        page.keyboard.press("PageDown")
        page.wait_for_url(lambda url: f"from={since}" not in url)
        later = range_in_url(page)
        assert later > (str(demo_day(210)), str(demo_day(120)))
        timeline(page).get_by_role("button").first.focus()
        page.keyboard.press("+")
        page.wait_for_url(lambda url: later[0] not in url)
        closer = range_in_url(page)
        assert later[0] < closer[0] < closer[1] < later[1]
        page.get_by_role("button", name="Zoom out").click()
        page.wait_for_url(lambda url: closer[0] not in url)


def test_pinching_zooms(demo_home: Path, tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "desktop":
        pytest.skip("fingers are on a phone")
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=timeline")
        expect(timeline(page)).to_be_visible()
        box = timeline(page).bounding_box()
        assert box
        browser: Any = page.context.new_cdp_session(page)
        height, middle = box["y"] + 40, box["x"] + box["width"] / 2
        for kind, apart in (("touchStart", 20), ("touchMove", 60), ("touchMove", 120)):
            points = [{"x": middle - apart, "y": height}, {"x": middle + apart, "y": height}]
            browser.send("Input.dispatchTouchEvent", {"type": kind, "touchPoints": points})
        browser.send("Input.dispatchTouchEvent", {"type": "touchEnd", "touchPoints": []})
        since, until = range_in_url(page)
        assert since > str(demo_day(364))
        assert until < str(demo_day(0))
