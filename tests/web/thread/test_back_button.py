"""The back button closes an open dialog or sheet before it leaves the page."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.demo_server import open_page
from tests.web.servers import Server, start_server

pytestmark = pytest.mark.xdist_group("web")

NO_STEP = "!history.state?.['sveltekit:states']?.open?.length"


def devices(server: Server, visit: Visit) -> Page:
    """The devices page, with the usage page before it in the history."""
    page = open_page(server, visit, "/usage")
    page.get_by_role("heading", name="Usage", level=1).wait_for()
    page.goto(f"{server.address}/devices")
    page.get_by_role("button", name="Add device").wait_for()
    return page


def test_the_back_button_closes_a_sheet_before_it_leaves_the_page(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        page.get_by_role("button", name="Add device").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(f"{server.address}/devices")
        page.go_back()
        expect(page).to_have_url(f"{server.address}/usage")


def test_the_back_button_closes_a_dialog(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        page.get_by_label("Actions for", exact=False).first.click()
        page.get_by_role("menuitem", name="Rename").click()
        expect(page.get_by_role("dialog")).to_be_visible()
        page.go_back()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(page).to_have_url(f"{server.address}/devices")


def test_a_sheet_closed_by_its_button_leaves_no_history_entry(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        for _ in range(3):
            page.get_by_role("button", name="Add device").click()
            page.get_by_role("dialog").get_by_role("button", name="Close").click()
            expect(page.get_by_role("dialog")).to_have_count(0)
        page.wait_for_function(NO_STEP)
        page.go_back()
        expect(page).to_have_url(f"{server.address}/usage")


def test_a_link_in_a_sheet_replaces_its_history_entry(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "desktop":
        pytest.skip("places are beside the page there")
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        page.get_by_role("button", name="More").click()
        page.get_by_role("dialog").get_by_role("link", name="Settings").click()
        expect(page).to_have_url(f"{server.address}/settings")
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.go_back()
        expect(page).to_have_url(f"{server.address}/devices")
        page.get_by_role("button", name="Add device").wait_for()
        expect(page.get_by_role("dialog")).to_have_count(0)
        page.go_back()
        expect(page).to_have_url(f"{server.address}/usage")


def test_a_dialog_opened_from_a_sheet_closes_with_back(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "desktop":
        pytest.skip("there is no sheet there")
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        page.goto(f"{server.address}/")
        page.get_by_role("button", name="Conversations").click()
        page.get_by_role("button", name="New conversation").click()
        title = page.get_by_role("heading", name="New conversation")
        expect(title).to_be_visible()
        page.go_back()
        expect(title).to_have_count(0)
        expect(page.get_by_role("dialog")).to_have_count(0)


def test_a_conversation_created_in_a_dialog_is_left_with_one_step_back(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with start_server(tmp_path) as server:
        page = devices(server, visit)
        page.keyboard.press("Control+k")
        page.get_by_label("Command palette").last.fill("New conversation")
        page.get_by_role("option", name="New conversation Action").click()
        page.get_by_label("Title").fill("Boats")
        page.get_by_role("button", name="Create", exact=True).click()
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.go_back()
        page.get_by_role("button", name="Add device").wait_for()
        page.wait_for_function(NO_STEP)
        page.go_back()
        expect(page).to_have_url(f"{server.address}/usage")
