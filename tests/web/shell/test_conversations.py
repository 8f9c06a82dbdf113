"""Conversations: listed, pinned, renamed, archived and deleted, on a phone and a desktop."""

from pathlib import Path

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import Server, start_server
from tests.web.thread.test_thread import say

from everloop.app import USER

pytestmark = pytest.mark.xdist_group("web")


def listed(page: Page, size: str) -> Locator:
    """The list of conversations: one tap away on a phone, in the sidebar of a desktop."""
    if size == "phone" and not page.get_by_role("dialog").count():
        page.get_by_role("button", name="Conversations").click()
    return page.get_by_role("list", name="Conversations", exact=True)


def choose(page: Page, size: str, title: str, label: str) -> None:
    """Choose an item in the menu of a conversation."""
    row = listed(page, size).get_by_role("listitem").filter(has_text=title)
    row.hover()
    row.get_by_role("button", name=f"Actions of {title}").click()
    page.get_by_role("menuitem", name=label).click()


def open_three(server: Server, visit: Visit) -> Page:
    for title in ("Garden", "Boat", "Tax"):
        server.running.talk.open(title, USER)
    return visit(server.link())


def test_a_conversation_is_pinned_renamed_and_archived(
    tmp_path: Path, visit: Visit, size: str, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        page = open_three(server, visit)
        expect(listed(page, size).get_by_role("link")).to_have_text(["Tax", "Boat", "Garden"])
        screenshot(page, "conversations")
        choose(page, size, "Garden", "Pin")
        expect(listed(page, size).get_by_role("link").first).to_have_text("Garden")
        choose(page, size, "Boat", "Rename")
        page.get_by_label("Title").fill("Ship")
        page.get_by_role("button", name="Rename", exact=True).click()
        expect(page.get_by_role("dialog")).to_have_count(0)
        expect(listed(page, size).get_by_role("link")).to_have_text(["Garden", "Tax", "Ship"])
        choose(page, size, "Tax", "Archive")
        expect(listed(page, size).get_by_role("link")).to_have_text(["Garden", "Ship"])
        page.get_by_text("Archived (1)").click()
        screenshot(page, "conversations-archived")
        expect(page.get_by_role("list", name="Archived conversations")).to_contain_text("Tax")
        page.get_by_role("button", name="Undo").click()
        expect(listed(page, size).get_by_role("link")).to_have_text(["Garden", "Tax", "Ship"])


def test_deleting_a_conversation_is_previewed_and_can_be_undone(
    tmp_path: Path, visit: Visit, size: str, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["They are orange."]) as server:
        page = open_three(server, visit)
        listed(page, size).get_by_role("link", name="Garden").click()
        expect(page.get_by_role("heading", name="Garden")).to_be_visible()
        say(page, "The zinnias?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("They are orange.")
        page.get_by_role("button", name="Actions of this conversation").click()
        page.get_by_role("menuitem", name="Delete").click()
        expect(page.locator("[data-impact]")).to_contain_text("one message, one answer")
        screenshot(page, "conversation-delete")
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.get_by_text("Deleted “Garden”.")).to_be_visible()
        expect(page).to_have_url(f"{server.address}/")
        page.get_by_role("button", name="Undo").click()
        listed(page, size).get_by_role("link", name="Garden").click()
        expect(page.locator("[data-role=assistant]")).to_contain_text("They are orange.")
