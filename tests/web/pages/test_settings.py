"""Branches, the prompt inspector, devices, settings and usage."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page, start_demo_server
from tests.web.servers import start_server
from tests.web.thread.test_thread import act, say

pytestmark = pytest.mark.xdist_group("pages")


def test_branches_can_be_compared_and_switched(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["The first answer.", "Another answer."]) as server:
        page = open_page(server, visit, "/")
        say(page, "Which way?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        act(page, "The first answer.", "Regenerate answer")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Another answer.")
        page.goto(f"{server.address}/branches/home")
        boxes = page.get_by_role("list", name="Branches").get_by_role("checkbox")
        expect(boxes).to_have_count(2)
        boxes.nth(0).check()
        boxes.nth(1).check()
        page.get_by_role("button", name="Compare").click()
        expect(page.get_by_label("First branch")).to_contain_text("The first answer.")
        expect(page.get_by_label("Second branch")).to_contain_text("Another answer.")
        expect(page.get_by_text("Last shared message").locator("..")).to_contain_text("Which way?")
        page.get_by_role("button", name="Switch to this branch").click()
        expect(page.get_by_text("Switched branch.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_label("Second branch")).to_contain_text("Current branch")


def test_the_sources_of_an_answer_have_their_own_page(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path, ["At most fifty percent."]) as server:
        page = open_page(server, visit, "/")
        say(page, "What is the budget for the kitchen?")
        expect(page.locator("[data-role=assistant]").last).to_contain_text("At most fifty percent.")
        act(page, "At most fifty percent.", "Sources")
        page.get_by_role("link", name="Open full page").click()
        expect(page.get_by_role("heading", name="Sources of this answer")).to_be_visible()
        page.get_by_role("list", name="Sections").get_by_role("button", name="From memory").click()
        told = page.get_by_text("The budget for the kitchen is 16,500", exact=False)
        expect(told.filter(visible=True).first).to_be_visible()
        page.get_by_role("link", name="Go to source").first.click()
        expect(page.get_by_role("heading", name="Origin")).to_be_visible()


def test_a_device_can_be_renamed_and_removed(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        other = visit(server.link())
        other.get_by_label("Write a message").wait_for()
        page = open_page(server, visit, "/devices")
        page.get_by_label("Actions for", exact=False).last.click()
        page.get_by_role("menuitem", name="Rename").click()
        page.get_by_label("Name", exact=True).fill("Old phone")
        page.get_by_role("dialog").get_by_role("button", name="Rename").click()
        page.get_by_label("Actions for Old phone").click()
        page.get_by_role("menuitem", name="Remove").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.get_by_text("Old phone was removed and signed out.")).to_be_visible()
        expect(other.get_by_label("Code")).to_be_visible()


def test_a_pairing_code_signs_in_another_device(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/devices")
        page.get_by_role("button", name="Add device").click()
        expect(page.get_by_role("img", name="QR code of the link")).to_be_visible()
        code = page.get_by_role("dialog").locator("p.font-mono").inner_text()
        other = visit(f"{server.address}/#pair={code}")
        expect(other.get_by_label("Write a message")).to_be_visible()


def test_a_chosen_theme_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/settings")
        page.get_by_text("Moss", exact=True).click()
        page.get_by_text("Dark", exact=True).click()
        page.reload()
        page.get_by_role("heading", name="Settings", level=1).wait_for()
        kept = page.evaluate("({...document.documentElement.dataset})")
        assert (kept["theme"], kept["mode"]) == ("moss", "dark")


def test_settings_can_be_searched_by_description(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/settings")
        page.get_by_label("Search settings").fill("attachment")
        expect(page.get_by_text("thread.attachment_bytes_max")).to_be_visible()


def test_usage_counts_the_calls_of_an_answer(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Counted."]) as server:
        page = open_page(server, visit, "/usage")
        expect(page.get_by_role("heading", name="No usage yet")).to_be_visible()
        page.goto(server.address)
        say(page, "Count this.")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Counted.")
        page.goto(f"{server.address}/usage")
        page.get_by_text("Calls", exact=True).click()
        expect(page.get_by_role("img", name="All models: 1 total", exact=False)).to_be_visible()


def test_changing_a_setting_can_be_undone(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/settings")
        page.get_by_label("Search settings").fill("models.tries")
        box = page.get_by_label("Tries")
        before = box.input_value()
        box.fill("7")
        box.blur()
        expect(page.get_by_text("Tries: 7.")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text(f"Tries: {before}.")).to_be_visible()


def test_each_type_of_setting_has_its_control(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/settings")
        page.get_by_label("Search settings").fill("memory")
        across = page.locator("[data-setting='worlds.memory_across_worlds']")
        across.get_by_role("switch").uncheck()
        expect(page.get_by_text("Memory across worlds: off.")).to_be_visible()
        expect(across).to_contain_text("Restart Everloop for it to take effect.")
        page.locator("[data-setting='memory.embedder'] select").select_option("granite")
        expect(page.get_by_text("Embedder: granite.")).to_be_visible()
        pins = page.locator("[data-setting='memory.pins_max']")
        pins.get_by_role("spinbutton").fill("0")
        pins.get_by_role("spinbutton").blur()
        expect(pins).to_contain_text("memory.pins_max")
        expect(pins.locator(".text-trouble")).to_be_visible()
        expect(pins.get_by_role("spinbutton")).to_have_value("8")
        across.get_by_role("button", name="Reset to default").click()
        expect(across.get_by_role("switch")).to_be_checked()
        address = page.locator("[data-setting='memory.endpoint']")
        expect(address).to_contain_text("It decides where your data is sent.")
        expect(address.locator("input")).to_have_count(0)
        screenshot(page, "settings-controls")
