"""Retries: an action is carried out once, even if responses are lost."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.web.conftest import Visit
from tests.web.demo_server import open_page
from tests.web.servers import Server, start_server
from tests.web.thread.test_thread import act, say

from everloop.app import USER
from everloop.memory.model.commands import RememberItem

pytestmark = pytest.mark.xdist_group("pages")


def _lose_answers(page: Page, address: str, times: int) -> list[str]:
    """Drop the responses to requests that reach the server. Returns the request bodies."""
    arrived: list[str] = []

    def lose(route: Route) -> None:
        if route.request.method == "GET":
            route.continue_()
            return
        arrived.append(route.request.post_data or "")
        if len(arrived) > times:
            route.continue_()
            return
        route.fetch()
        route.abort("connectionreset")

    page.route(address, lose)
    return arrived


def _kinds(server: Server, kinds: str = "memory.*") -> list[str]:
    with server.engine.reading() as reader:
        rows = reader.rows("SELECT kind FROM log WHERE kind GLOB ? ORDER BY position", (kinds,))
    return [kind for (kind,) in rows]


def test_a_memory_is_added_once_when_responses_are_lost(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/memory")
        arrived = _lose_answers(page, "**/api/memories", 1)
        page.get_by_role("button", name="Add memory", exact=True).first.click()
        page.get_by_label("Text", exact=True).fill("The blue key is for the bicycle.")
        page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".prose")).to_contain_text("The blue key")
        expect(page.get_by_text("Memory added.", exact=True)).to_be_visible()
        assert len(set(arrived)) == 1
        assert _kinds(server) == ["memory.remembered"]


def test_retrying_by_hand_does_not_add_a_memory_twice(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/memory")
        arrived = _lose_answers(page, "**/api/memories", 3)
        page.get_by_role("button", name="Add memory", exact=True).first.click()
        page.get_by_label("Text", exact=True).fill("The blue key is for the bicycle.")
        asked = page.get_by_role("dialog").get_by_role("button", name="Add", exact=True)
        asked.click()
        expect(page.get_by_text("Try again when you are connected.")).to_be_visible()
        asked.click()
        expect(page.get_by_text("Memory added.", exact=True)).to_be_visible()
        assert (len(arrived), len(set(arrived))) == (4, 1)
        assert _kinds(server) == ["memory.remembered"]


def test_archiving_can_be_undone_when_responses_are_lost(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        server.engine.memory.remember(RememberItem("mem-one", "The blue key."), by=USER)
        page = open_page(server, visit, "/memory/mem-one")
        _lose_answers(page, "**/api/memories/mem-one/retirement", 1)
        page.get_by_role("button", name="Archive").click()
        page.get_by_role("dialog").get_by_role("button", name="Archive").click()
        _lose_answers(page, "**/api/retractions/*", 1)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone.", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Archive")).to_be_visible()
        assert _kinds(server) == ["memory.remembered", "memory.retired"]


def test_a_conversation_and_a_lesson_are_created_once_when_responses_are_lost(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/lessons")
        _lose_answers(page, "**/api/lessons", 1)
        page.get_by_role("button", name="Propose a lesson").first.click()
        page.get_by_label("Title").fill("Short answers in the morning")
        page.get_by_label("What to do, and when").fill("Before nine: three sentences at most.")
        page.get_by_role("button", name="Propose", exact=True).click()
        expect(page.get_by_role("heading", name="Short answers in the morning")).to_be_visible()
        assert len(_kinds(server, "lessons.lesson_proposed")) == 1
        _lose_answers(page, "**/api/threads", 1)
        begun = len(_kinds(server, "thread.thread_opened"))
        if size == "phone":
            page.get_by_role("link", name="Thread").click()
            page.get_by_role("button", name="Conversations").click()
        page.get_by_role("button", name="New conversation").click()
        page.get_by_label("Title").fill("The garden")
        page.get_by_role("dialog").get_by_role("button", name="Create", exact=True).click()
        page.wait_for_url("**/t/*")  # on a phone, the thread behind the dialog has a composer too
        assert len(_kinds(server, "thread.thread_opened")) == begun + 1


def test_an_answer_is_regenerated_once_when_responses_are_lost(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(
        tmp_path, ["The first answer.", "The second answer.", "One too many."]
    ) as server:
        page = visit(server.link())
        say(page, "Hello?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        _lose_answers(page, "**/api/messages/*/again", 1)
        act(page, "The first answer.", "Regenerate answer")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The second answer.")
        expect(page.get_by_text("2/2")).to_be_visible()
        assert len(_kinds(server, "thread.turn_recorded")) == 2
        assert len(_kinds(server, "log.branch_forked")) == 1
