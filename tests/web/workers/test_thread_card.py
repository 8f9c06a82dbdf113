"""A task on its card in the thread, and a request that two devices show at once."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, Route, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say
from tests.web.workers.scripted_agent import ScriptedRunner

from everloop.inbox import Choice, RaiseRequest
from everloop.log import Context
from everloop.ports import ToolCall
from everloop.testing.model import Script

pytestmark = pytest.mark.xdist_group("pages")

TITLE = "Fix the flaky login test #12"
BRIEF = "Wait for the \u202eclock, and stop after that."
PROPOSED = ToolCall("c1", "propose_task", {"title": TITLE, "brief": BRIEF})
WINDOWS = "Mozilla/5.0 (Windows NT 10.0; Win64; x64) AppleWebKit/537.36 Chrome/140.0 Safari/537.36"


@pytest.fixture(params=["phone"])
def size(request: pytest.FixtureRequest) -> str:
    """A phone."""
    return str(request.param)


def answer_on_the_page_of_the_task(page: Page) -> None:
    """Answer the form, approve the plan and allow the command."""
    form = page.locator("[data-kind=question]")
    form.get_by_text("Only the flaky one").click()
    form.get_by_text("login.py", exact=True).click()
    form.get_by_label("Your answer").fill("Keep it short")
    form.get_by_role("button", name="Send").click()
    page.locator("[data-kind=plan_review]").get_by_role("button", name="Approve").click()
    page.locator("[data-kind=approval]").get_by_role("button", name="Allow").click()
    expect(page.get_by_role("log")).to_contain_text("Allowed, so I go on.")


def route_a_message(page: Page, screenshot: Screenshot) -> None:
    """Write something about the task in the thread, and send it there with one tap."""
    say(page, "#12: stop the flaky login test")
    card = page.get_by_role("article", name="Is this for a running task?")
    screenshot(page, "thread-routing")
    card.get_by_role("button", name=f"Send to task: {TITLE}").click()
    expect(card).to_have_count(0)


def test_a_task_is_started_on_its_card_and_its_result_comes_to_the_thread(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    answers: list[Script] = [[PROPOSED], "I propose a task.", "Noted."]
    with start_server(tmp_path / "home", answers, runners=[ScriptedRunner()]) as server:
        page = visit(server.link())
        say(page, "Fix the flaky login test")
        card = page.get_by_role("article", name=f"Task: {TITLE}")
        expect(card).to_contain_text("Proposed task")
        expect(card).to_contain_text(r"Wait for the \u{202e}clock")
        expect(card).to_contain_text("In an empty folder of its own")
        screenshot(page, "thread-card-proposed")
        card.get_by_role("button", name="Start", exact=True).click()
        expect(card).to_contain_text("Waiting for you")
        screenshot(page, "thread-card-waiting")
        card.get_by_role("link", name="Answer").click()
        answer_on_the_page_of_the_task(page)
        page.get_by_role("link", name="Thread").click()
        route_a_message(page, screenshot)
        expect(card).to_contain_text("Done")
        report = page.get_by_text(f"The task “{TITLE}” is done.")
        expect(report).to_have_count(1)
        expect(page.get_by_text("The test is no longer flaky.")).to_have_count(1)
        screenshot(page, "thread-card-done")


@pytest.mark.promise("P-INBOX-1")
def test_the_second_device_sees_who_answered_and_that_its_own_answer_does_not_count(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    choices = (Choice("approve", "Allow"), Choice("deny", "Deny"))
    asked = RaiseRequest("r1", "approval", "Run `ls`?", "ls -l", choices)
    later = RaiseRequest("r2", "approval", "Run `date`?", "date", choices)
    with start_server(tmp_path / "home") as server:
        phone = visit(server.link())
        laptop = visit(server.link(), user_agent=WINDOWS)
        for request in (asked, later):
            server.engine.do(request, by=Context(actor="worker:t1"))
        for page in (phone, laptop):
            page.get_by_role("link", name="Inbox").click()
        laptop.locator("[data-request=r1]").get_by_role("button", name="Allow").click()
        told = phone.locator("[data-request=r1]")
        expect(told).to_contain_text("“Allow”: answered by you on Chrome on Windows")
        expect(told.get_by_role("button")).to_have_count(0)

        phone.route("**/api/inbox", _hold_back)  # it has not heard of the other answer yet
        laptop.locator("[data-request=r2]").get_by_role("button", name="Allow").click()
        expect(laptop.locator("[data-request=r2]")).to_contain_text("answered by you")
        late = phone.locator("[data-request=r2]")
        late.get_by_role("button", name="Deny").click()
        phone.unroute("**/api/inbox")
        expect(late).to_contain_text("“Allow”: answered by you on Chrome on Windows")
        expect(late).to_contain_text("Your answer came later and was not counted.")
        screenshot(phone, "inbox-second-device")
        assert server.engine.inbox.find("r2").closing is not None


def _hold_back(route: Route) -> None:
    """Let the list of the inbox fail, as without a connection."""
    route.abort()
