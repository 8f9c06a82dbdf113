"""What stands with an answer: actions, tool calls, images."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

from everloop.ports import Finish, ToolCall
from everloop.testing.model import Step

pytestmark = pytest.mark.xdist_group("web")

PICTURE = Path("web/static/icon-192.png")
SEARCHES: list[Step] = [ToolCall("c1", "recall", {"query": "green tea"}), Finish("tools")]


def test_copy_and_try_again_are_visible_under_an_answer(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["The first answer.", "The second answer."]) as server:
        page = visit(server.link(), permissions=["clipboard-read", "clipboard-write"])
        say(page, "Tell me something.")
        answer = page.locator("[data-role=assistant]")
        expect(answer).to_contain_text("The first answer.")
        page.mouse.move(0, 0)
        answer.get_by_role("button", name="Copy").click()
        assert page.evaluate("navigator.clipboard.readText()") == "The first answer."
        screenshot(page, "answer-actions")
        answer.get_by_role("button", name="Try again").click()
        expect(answer).to_contain_text("The second answer.")


def test_a_tool_call_is_a_line_that_opens(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, [SEARCHES, "You like green tea."]) as server:
        page = visit(server.link())
        say(page, "What do I drink?")
        answer = page.locator("[data-role=assistant]")
        expect(answer).to_contain_text("You like green tea.")
        for _ in ("live", "after a reload"):
            call = answer.locator("[data-tool=recall]")
            expect(call).to_contain_text("recall")
            call.locator("summary").click()
            expect(call.get_by_role("region", name="Asked")).to_contain_text("query: green tea")
            expect(call.get_by_role("region", name="Result")).not_to_be_empty()
            screenshot(page, "answer-tools")
            page.reload()


def test_an_image_opens_in_the_page(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    with start_server(tmp_path, ["Two loops."]) as server:
        page = visit(server.link())
        other = Path("web/static/icon-180.png")
        page.locator("input[data-from=files]").set_input_files([PICTURE, other])
        say(page, "What are these?")
        page.get_by_role("button", name="Open icon-192.png").click()
        opened = page.get_by_role("dialog")
        expect(opened.get_by_role("img", name="icon-192.png")).to_be_visible()
        screenshot(page, "lightbox")
        opened.get_by_role("button", name="Next image").click()
        expect(opened.get_by_role("img", name="icon-180.png")).to_be_visible()
        page.keyboard.press("Escape")
        expect(opened).to_have_count(0)
        expect(page.get_by_label("Write a message")).to_be_visible()
