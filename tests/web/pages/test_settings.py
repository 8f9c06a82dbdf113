"""Branches, the prompt inspector, devices, settings and usage."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_house, enter
from tests.web.servers import house
from tests.web.thread.test_thread import act, say

pytestmark = pytest.mark.xdist_group("pages")


def test_two_branches_are_compared_and_stood_on(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path, ["The first answer.", "Another answer."]) as home:
        page = enter(home, visit, "/")
        say(page, "Which way?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        act(page, "The first answer.", "Another answer")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Another answer.")
        page.goto(f"{home.address}/branches/home")
        boxes = page.get_by_role("list", name="Branches").get_by_role("checkbox")
        expect(boxes).to_have_count(2)
        boxes.nth(0).check()
        boxes.nth(1).check()
        page.get_by_role("button", name="Compare two").click()
        expect(page.get_by_label("First branch")).to_contain_text("The first answer.")
        expect(page.get_by_label("Second branch")).to_contain_text("Another answer.")
        expect(page.get_by_text("Both go on from here").locator("..")).to_contain_text("Which way?")
        page.get_by_role("button", name="Stand here").click()
        expect(page.get_by_text("You stand on that branch now.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Second branch")).to_contain_text("You stand here")


def test_a_prompt_is_inspected_on_a_page_of_its_own(
    year: Path, tmp_path: Path, visit: Visit
) -> None:
    with demo_house(year, tmp_path, ["At most fifty percent."]) as home:
        page = enter(home, visit, "/")
        say(page, "What is the humidity target?")
        expect(page.locator("[data-role=assistant]").last).to_contain_text("At most fifty percent.")
        act(page, "At most fifty percent.", "What it stood on")
        page.get_by_role("link", name="Open as a page").click()
        expect(page.get_by_role("heading", name="What the answer stood on")).to_be_visible()
        page.get_by_role("list", name="Sections").get_by_role("button", name="Remembered").click()
        expect(
            page.get_by_text("The humidity target for the workshop is 50", exact=False).first
        ).to_be_visible()
        page.get_by_role("link", name="Open the source").first.click()
        expect(page.get_by_role("heading", name="Where it comes from")).to_be_visible()


def test_a_device_is_renamed_and_let_in_no_more(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        other = visit(home.link())
        other.get_by_label("Write a message").wait_for()
        page = enter(home, visit, "/devices")
        page.get_by_label("What can be done with", exact=False).last.click()
        page.get_by_role("menuitem", name="Rename").click()
        page.get_by_label("Name").fill("Old phone")
        page.get_by_role("dialog").get_by_role("button", name="Rename").click()
        page.get_by_label("What can be done with Old phone").click()
        page.get_by_role("menuitem", name="Let in no more").click()
        page.get_by_role("dialog").get_by_role("button", name="Let in no more").click()
        expect(page.get_by_text("Old phone is signed out.")).to_be_visible()
        expect(other.get_by_label("Code")).to_be_visible()


def test_a_code_lets_another_device_in(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/devices")
        page.get_by_role("button", name="Add a device").click()
        expect(page.get_by_role("img", name="QR code of the link")).to_be_visible()
        code = page.get_by_role("dialog").locator("p.font-mono").inner_text()
        other = visit(f"{home.address}/#pair={code}")
        expect(other.get_by_label("Write a message")).to_be_visible()


def test_a_theme_holds_after_a_reload(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/settings")
        page.get_by_text("Moss", exact=True).click()
        page.get_by_text("Dark", exact=True).click()
        page.reload()
        page.get_by_role("heading", name="Settings").wait_for()
        kept = page.evaluate("({...document.documentElement.dataset})")
        assert (kept["theme"], kept["mode"]) == ("moss", "dark")


def test_settings_are_found_by_their_meaning(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/settings")
        page.get_by_label("Find a setting").fill("attachment")
        expect(page.get_by_text("thread.attachment_bytes_max")).to_be_visible()


def test_usage_counts_what_an_answer_took(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path, ["Counted."]) as home:
        page = enter(home, visit, "/usage")
        expect(page.get_by_role("heading", name="No model was asked yet")).to_be_visible()
        page.goto(home.address)
        say(page, "Count this.")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Counted.")
        page.goto(f"{home.address}/usage")
        page.get_by_text("Calls", exact=True).click()
        expect(page.get_by_role("img", name="everything: 1 in all", exact=False)).to_be_visible()


def test_a_setting_that_may_change_is_changed_and_put_back(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/settings")
        page.get_by_label("Find a setting").fill("models.tries")
        box = page.get_by_label("models.tries")
        before = box.input_value()
        box.fill("7")
        box.blur()
        expect(page.get_by_text("models.tries is 7 now.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text(f"models.tries is {before} now.")).to_be_visible()
