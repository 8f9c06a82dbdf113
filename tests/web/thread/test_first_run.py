"""First run: from an empty data home to a useful answer within a minute.

The time of a person is estimated from the words to read and the steps to take. The time of the
program is checked on an otherwise idle machine, in `make soak`.
"""

import sys
import time
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.adapters.models.fake_services import Reply, fake_service
from tests.interfaces.http.process import server_process, with_model
from tests.web.conftest import Screenshot, Visit

pytestmark = pytest.mark.xdist_group("web")

MINUTE_S = 60.0
STEPS_MAX = 3
WORDS_A_SECOND = 4.0  # average reading speed of adults
STEP_S = 3.0  # to decide, find and click
PROGRAM_S = 15.0  # for starting, loading the page and calling the model
OFFLINE = {"EVERLOOP_MODELS_NARRATIVE": "offline", "EVERLOOP_MODELS_CLASSIFIER": "offline"}
PLAN = "Gladly. Tell me the three things that must not be forgotten, and when you are free."


class NewUser:
    """A new user who reads everything and follows the instructions."""

    def __init__(self) -> None:
        self.words = 0
        self.steps: list[str] = []

    def reads(self, text: str) -> None:
        """Count the words of a text as read."""
        self.words += len(text.split())

    def does(self, step: str) -> None:
        """Count one step."""
        self.steps.append(step)

    @property
    def seconds(self) -> float:
        """How many seconds that takes a person."""
        return self.words / WORDS_A_SECOND + len(self.steps) * STEP_S


def first_answer(page: Page, new_user: NewUser, begin: str) -> str:
    """Send a suggested message, and return the answer."""
    offered = page.get_by_role("button", name=begin)
    expect(offered).to_be_visible()
    expect(page.locator("[data-model]")).to_be_visible()
    new_user.reads(page.locator("#main").inner_text())
    new_user.does("choose what to say")
    offered.click()
    new_user.does("send it")
    page.get_by_role("button", name="Send", exact=True).click()
    answer = page.locator("[data-role=assistant][data-state=done] .prose")
    expect(answer).to_be_visible()
    return answer.inner_text()


def test_a_new_user_gets_a_useful_answer_within_a_minute(
    tmp_path: Path,
    visit: Visit,
    screenshot: Screenshot,
    soaking: bool,
    capsys: pytest.CaptureFixture[str],
) -> None:
    begun = time.perf_counter()
    new_user = NewUser()
    with (
        fake_service(Reply(pieces=(PLAN,))) as model,
        server_process(tmp_path / "empty", with_model(model.url)) as server,
    ):
        new_user.reads("".join(server.said))
        new_user.does("open the link")
        page = visit(f"{server.url}/#pair={server.code}")
        assert first_answer(page, new_user, "Help me plan the week") == PLAN
        took = time.perf_counter() - begun
        screenshot(page, "first-answer")
        asked = model.asked[0].body["messages"][-1]["content"]
    assert "Help me plan the week" in str(asked)
    assert len(new_user.steps) <= STEPS_MAX
    assert new_user.seconds <= MINUTE_S - PROGRAM_S
    with capsys.disabled():
        effort = f"{len(new_user.steps)} steps, {new_user.words} words"
        summary = f"{effort}, {new_user.seconds:.0f} s for a person, {took:.1f} s for the program"
        sys.stdout.write(f"\nfirst run: {summary}\n")
    assert took <= PROGRAM_S or not soaking


def test_without_a_model_the_first_answer_says_what_can_be_done(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    new_user = NewUser()
    with server_process(tmp_path / "empty", OFFLINE) as server:
        new_user.does("open the link")
        page = visit(f"{server.url}/#pair={server.code}")
        answer = first_answer(page, new_user, "What can you do for me")
        screenshot(page, "first-answer-offline")
    assert "I keep what you tell me" in answer
    assert len(new_user.steps) <= STEPS_MAX
    assert new_user.seconds <= MINUTE_S - PROGRAM_S
