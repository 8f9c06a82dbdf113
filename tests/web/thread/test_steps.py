"""The back key closes what is open above a page, and only then leaves it."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.demo_server import enter
from tests.web.servers import House, house

pytestmark = pytest.mark.xdist_group("web")

NO_STEP = "!history.state?.['sveltekit:states']?.open?.length"


def devices(home: House, visit: Visit) -> Page:
    """The page of devices, gone to from the thread within the same visit."""
    page = enter(home, visit, "/usage")
    page.get_by_role("heading", name="Usage", level=1).wait_for()
    page.goto(f"{home.address}/devices")
    page.get_by_role("button", name="Add a device").wait_for()
    return page


def test_the_back_key_closes_a_sheet_and_then_leaves(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = devices(home, visit)
        page.get_by_role("button", name="Add a device").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(f"{home.address}/devices")
        page.go_back()
        expect(page).to_have_url(f"{home.address}/usage")


def test_the_back_key_closes_a_dialog(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = devices(home, visit)
        page.get_by_label("What can be done with", exact=False).first.click()
        page.get_by_role("menuitem", name="Rename").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(f"{home.address}/devices")


def test_what_was_closed_otherwise_leaves_no_step(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = devices(home, visit)
        for _ in range(3):
            page.get_by_role("button", name="Add a device").click()
            page.get_by_role("dialog").get_by_role("button", name="Close").click()
            expect(page.get_by_role("dialog")).to_have_count(0)
        page.wait_for_function(NO_STEP)
        page.go_back()
        expect(page).to_have_url(f"{home.address}/usage")


def test_from_a_sheet_one_goes_elsewhere_in_its_place(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "desktop":
        pytest.skip("places are beside the page there")
    with house(tmp_path) as home:
        page = devices(home, visit)
        page.get_by_role("button", name="More").click()
        page.get_by_role("dialog").get_by_role("link", name="Settings").click()
        expect(page).to_have_url(f"{home.address}/settings")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.go_back()
        expect(page).to_have_url(f"{home.address}/devices")
        page.get_by_role("button", name="Add a device").wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.go_back()
        expect(page).to_have_url(f"{home.address}/usage")


def test_one_above_another_is_closed_first(tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "desktop":
        pytest.skip("nothing is above another there")
    with house(tmp_path) as home:
        page = devices(home, visit)
        page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="New conversation").click()
        title = page.get_by_role("heading", name="New conversation")
        expect(title).to_be_visible()
        page.go_back()
        expect(title).to_have_count(0)
        expect(page.get_by_role("heading", name="More")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(f"{home.address}/devices")


def test_a_conversation_that_was_begun_from_a_dialog_is_left_in_one_step(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with house(tmp_path) as home:
        page = devices(home, visit)
        page.keyboard.press("Control+k")
        page.get_by_label("Go anywhere").last.fill("New conversation")
        page.get_by_role("option", name="New conversation Do").click()
        page.get_by_label("Title").fill("Boats")
        page.get_by_role("button", name="Begin").click()
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.go_back()
        page.get_by_role("button", name="Add a device").wait_for()
        page.wait_for_function(NO_STEP)
        page.go_back()
        expect(page).to_have_url(f"{home.address}/usage")
