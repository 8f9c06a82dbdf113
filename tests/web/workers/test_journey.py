"""A task on a phone, from the form to the merged change: everything is answered in place."""

import subprocess
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import SIZES, Screenshot, Visit
from tests.web.servers import start_server
from tests.web.workers.scripted_agent import ScriptedRunner

pytestmark = pytest.mark.xdist_group("pages")


@pytest.fixture(params=["phone"])
def size(request: pytest.FixtureRequest) -> str:
    """A phone: one hand, one column."""
    return str(request.param)


def make_repository(path: Path) -> Path:
    """A repository with one commit."""
    path.mkdir()
    (path / "login.py").write_text("def login():\n    return wait(1)\n")
    identity = ("-c", "user.name=A", "-c", "user.email=a@example.invalid")
    for words in (("init", "-q", "-b", "main"), ("add", "."), (*identity, "commit", "-qm", "one")):
        subprocess.run(["git", *words], cwd=path, check=True)  # noqa: S603, S607 - our own words
    return path


Shoot = Callable[[Page, str], None]


@pytest.fixture
def shoot(screenshot: Screenshot) -> Shoot:
    """Save both modes and three widths of a page, for review."""
    return partial(_shoot, screenshot)


def _shoot(screenshot: Screenshot, page: Page, name: str) -> None:
    for mode in ("light", "dark"):
        page.emulate_media(color_scheme=mode)
        screenshot(page, f"{name}-{mode}")
    page.emulate_media(color_scheme="light")
    for label, width in (("320", 320), ("wide", 1440)):
        page.set_viewport_size({"width": width, "height": 900})
        screenshot(page, f"{name}-{label}")
    page.set_viewport_size(SIZES["phone"]["viewport"])


def fill_form(page: Page, shoot: Shoot, repository: Path) -> None:
    """Start a task with the form."""
    page.get_by_label("What should be done?").fill("Fix the flaky login test")
    page.get_by_text("Git repository").click()
    page.get_by_label("Path on the machine").fill(str(repository))
    page.get_by_label("Check command").fill("grep -q clock login.py")
    shoot(page, "task-form")
    page.get_by_role("button", name="Start", exact=True).click()
    expect(page.get_by_role("heading", name="Fix the flaky login test", level=1)).to_be_visible()


def answer_questions(page: Page, shoot: Shoot) -> None:
    """Answer the question form in the inbox."""
    page.get_by_role("link", name="Tasks").last.click()
    expect(page.get_by_role("region", name="Waiting for you")).to_contain_text("Fix the flaky")
    shoot(page, "tasks-board")
    page.get_by_role("link", name="Inbox").click()
    form = page.locator("[data-kind=question]")
    form.get_by_text("Only the flaky one").click()
    form.get_by_text("test_login.py").click()
    form.get_by_text("login.py", exact=True).click()
    expect(form.get_by_role("button", name="Send")).to_be_disabled()
    form.get_by_label("Your answer").fill("Keep it short")
    shoot(page, "inbox-question")
    form.get_by_role("button", name="Send").click()
    expect(form).to_contain_text("Answered by you on")


def approve_plan(page: Page, shoot: Shoot) -> None:
    """Approve the plan in place."""
    plan = page.locator("[data-kind=plan_review]")
    expect(plan.get_by_role("heading", name="Plan", exact=True)).to_be_visible()
    shoot(page, "inbox-plan")
    plan.get_by_role("button", name="Approve").click()


def allow_command(page: Page, shoot: Shoot) -> None:
    """The approval shows what cannot be seen."""
    approval = page.locator("[data-kind=approval]")
    expect(approval.get_by_role("alert")).to_contain_text("cannot be seen")
    expect(approval.get_by_label("Exactly what will run")).to_have_text(r"npm install \u{202e}; ls")
    shoot(page, "inbox-approval")
    approval.get_by_role("button", name="Allow").click()


def watch_and_steer(page: Page, shoot: Shoot) -> None:
    """Watch it run, and send a message while it does."""
    running = page.get_by_role("region", name="Running")
    running.get_by_text("Fix the flaky login test").click()
    expect(running.get_by_role("log")).to_contain_text("Allowed, so I go on.")
    shoot(page, "inbox-running")
    running.get_by_role("link", name="Open the task").click()
    page.get_by_label("Message to the agent").fill("Now stop and write it down")
    page.get_by_role("button", name="Send").click()
    log = page.get_by_role("log")
    expect(log.get_by_text("Now stop and write it down")).to_be_visible()
    expect(log.get_by_text("on its way")).to_have_count(0)
    shoot(page, "task-transcript")


def review_and_comment(page: Page, shoot: Shoot) -> None:
    """See the verdict beside the claim, and comment on a line of the diff."""
    expect(page.locator("[data-kind=review]")).to_be_visible()
    page.get_by_role("tab", name="Checks").click()
    claim = page.get_by_role("region", name="What the worker says")
    expect(claim).to_contain_text("no longer flaky")
    expect(page.get_by_role("region", name="What the check found")).to_contain_text("Passed")
    shoot(page, "task-checks")
    page.get_by_role("tab", name="Changes").click()
    line = page.locator("[data-kind=added]", has_text="wait_for_clock")
    expect(line.locator("code span").first).to_be_visible()
    colours = "all => all.map(one => getComputedStyle(one).color)"
    assert len(set(line.locator("code span").evaluate_all(colours))) > 1  # highlighted
    line.get_by_role("button", name="Comment on line 2 of login.py").click()
    page.get_by_role("textbox", name="Comment on line 2").fill("Wait two seconds at most")
    page.get_by_role("button", name="Keep comment").click()
    shoot(page, "task-diff")
    page.get_by_role("button", name="Send 1 comment to the agent").click()
    expect(page.locator("[data-kind=added]", has_text="seconds=2")).to_be_visible()


def merge(page: Page, shoot: Shoot, repository: Path) -> None:
    """Merge, and see when it ran."""
    page.get_by_role("button", name="Merge").click()
    expect(page.get_by_text("Done", exact=True).first).to_be_visible()
    assert "seconds=2" in (repository / "login.py").read_text()
    page.get_by_role("link", name="Tasks").last.click()
    page.get_by_role("tab", name="Timeline").click()
    timeline = page.get_by_role("list", name="Timeline of tasks")
    expect(timeline).to_contain_text("Fix the flaky login test")
    shoot(page, "tasks-timeline")


def test_a_task_goes_from_the_form_to_the_merged_change(
    tmp_path: Path, visit: Visit, shoot: Shoot
) -> None:
    repository = make_repository(tmp_path / "shop")
    with start_server(tmp_path / "home", runners=[ScriptedRunner()]) as server:
        page = visit(server.link())
        page.get_by_role("link", name="Inbox").click()
        expect(page.get_by_text("Nothing needs you")).to_be_visible()
        shoot(page, "inbox-empty")
        page.get_by_role("link", name="Start a task").click()
        page.wait_for_url("**/tasks?*")
        page.reload()  # the address opens the form by itself
        fill_form(page, shoot, repository)
        answer_questions(page, shoot)
        approve_plan(page, shoot)
        allow_command(page, shoot)
        watch_and_steer(page, shoot)
        review_and_comment(page, shoot)
        merge(page, shoot, repository)
