"""What a person asks for happens once, however bad the network is."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.web.conftest import Visit
from tests.web.demo_server import enter
from tests.web.servers import House, house
from tests.web.thread.test_thread import act, say

from everloop.app import USER
from everloop.memory.model.commands import RememberItem

pytestmark = pytest.mark.xdist_group("pages")


def _lose_answers(page: Page, address: str, times: int) -> list[str]:
    """Let requests arrive and lose what comes back; the bodies that arrived."""
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


def _kinds(home: House, kinds: str = "memory.*") -> list[str]:
    with home.engine.reading() as reader:
        rows = reader.rows("SELECT kind FROM log WHERE kind GLOB ? ORDER BY position", (kinds,))
    return [kind for (kind,) in rows]


def test_what_is_remembered_while_answers_are_lost_is_remembered_once(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/memory")
        arrived = _lose_answers(page, "**/api/memories", 1)
        page.get_by_role("button", name="Remember", exact=True).first.click()
        page.get_by_label("What to remember").fill("The blue key is for the bicycle.")
        page.get_by_role("dialog").get_by_role("button", name="Remember").click()
        expect(page.locator(".prose")).to_contain_text("The blue key")
        expect(page.get_by_text("Remembered.", exact=True)).to_be_visible()
        assert len(set(arrived)) == 1
        assert _kinds(home) == ["memory.remembered"]


def test_who_gets_no_answer_presses_again_and_nothing_happens_twice(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/memory")
        arrived = _lose_answers(page, "**/api/memories", 3)
        page.get_by_role("button", name="Remember", exact=True).first.click()
        page.get_by_label("What to remember").fill("The blue key is for the bicycle.")
        asked = page.get_by_role("dialog").get_by_role("button", name="Remember")
        asked.click()
        expect(page.get_by_text("Try again when you are connected.")).to_be_visible()
        asked.click()
        expect(page.get_by_text("Remembered.", exact=True)).to_be_visible()
        assert (len(arrived), len(set(arrived))) == (4, 1)
        assert _kinds(home) == ["memory.remembered"]


def test_a_memory_whose_stepping_back_got_no_answer_can_be_brought_back(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        home.engine.memory.remember(RememberItem("mem-one", "The blue key."), by=USER)
        page = enter(home, visit, "/memory/mem-one")
        _lose_answers(page, "**/api/memories/mem-one/retirement", 1)
        page.get_by_role("button", name="Let it step back").click()
        page.get_by_role("dialog").get_by_role("button", name="Let it step back").click()
        _lose_answers(page, "**/api/retractions/*", 1)
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("Undone.", exact=True)).to_be_visible()
        expect(page.get_by_role("button", name="Let it step back")).to_be_visible()
        assert _kinds(home) == ["memory.remembered", "memory.retired"]


def test_a_conversation_and_a_rule_are_made_once_while_answers_are_lost(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/lessons")
        _lose_answers(page, "**/api/lessons", 1)
        page.get_by_role("button", name="Put a rule forward").first.click()
        page.get_by_label("In one line").fill("Short answers in the morning")
        page.get_by_label("What to do, and when").fill("Before nine: three sentences at most.")
        page.get_by_role("button", name="Put forward", exact=True).click()
        expect(page.get_by_role("heading", name="Short answers in the morning")).to_be_visible()
        assert len(_kinds(home, "lessons.lesson_proposed")) == 1
        _lose_answers(page, "**/api/threads", 1)
        begun = len(_kinds(home, "thread.thread_opened"))
        if size == "phone":
            page.get_by_role("button", name="More").click()
        page.get_by_role("button", name="New conversation").click()
        page.get_by_label("Title").fill("The garden")
        page.get_by_role("dialog").get_by_role("button", name="Begin").click()
        expect(page.get_by_label("Write a message")).to_be_visible()
        assert len(_kinds(home, "thread.thread_opened")) == begun + 1


def test_another_answer_is_one_and_going_back_is_one_step_while_answers_are_lost(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path, ["The first answer.", "The second answer.", "One too many."]) as home:
        page = visit(home.link())
        say(page, "Hello?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        _lose_answers(page, "**/api/messages/*/again", 1)
        act(page, "The first answer.", "Another answer")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The second answer.")
        expect(page.get_by_text("2/2")).to_be_visible()
        assert len(_kinds(home, "thread.turn_recorded")) == 2
        assert len(_kinds(home, "log.branch_forked")) == 1
