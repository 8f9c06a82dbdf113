"""The thread page, on a phone with touch and on a desktop."""

import re
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server

from everloop.errors import ModelFailed
from everloop.ports import Finish

pytestmark = pytest.mark.xdist_group("web")


@pytest.fixture
def gate() -> Iterator[threading.Event]:
    """The scripted model waits for this event in the middle of an answer."""
    waiting = threading.Event()
    yield waiting
    waiting.set()


def say(page: Page, text: str) -> None:
    page.get_by_label("Write a message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def answers(page: Page) -> list[str]:
    return page.locator("[data-role=assistant] .prose").all_inner_texts()


def r(text: str) -> re.Pattern[str]:
    """A pattern of a row that begins with a text."""
    return re.compile(rf"^\s*{re.escape(text)}")


def act(page: Page, message: str, label: str) -> None:
    """Choose an item in the menu of a message."""
    row = page.locator("article.message").filter(has_text=message).last
    row.get_by_label("Message actions").click()
    page.get_by_role("menuitem", name=label).click()


def test_a_pairing_code_signs_a_device_in(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.address)
        page.get_by_label("Code").wait_for()
        screenshot(page, "sign-in")
        page.get_by_label("Code").fill("WRONGCODE")
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_label("Code")).to_have_attribute("aria-invalid", "true")
        page.get_by_label("Code").fill(server.link().partition("=")[2])
        page.get_by_role("button", name="Sign in").click()
        expect(page.get_by_role("heading", name="This is your thread.")).to_be_visible()
        screenshot(page, "welcome")
        assert page.evaluate("document.cookie") == ""


def test_a_pairing_link_signs_in_and_removes_the_code_from_the_address(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        assert "pair" not in page.url


def test_an_answer_that_was_cut_says_so_and_is_continued(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, [["Half of it", Finish("length")], "and the rest."]) as server:
        page = visit(server.link())
        say(page, "Tell me something.")
        page.get_by_text("The answer was cut off.").wait_for()
        screenshot(page, "thread-cut-answer")
        page.reload()
        expect(page.get_by_text("thread.answer.tokens_max")).to_be_visible()
        page.get_by_role("button", name="Continue", exact=True).click()
        expect(page.get_by_text("and the rest.")).to_be_visible()


def test_a_message_is_answered_word_by_word(
    tmp_path: Path, visit: Visit, gate: threading.Event, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, [["It begins", gate, " and ends."]]) as server:
        page = visit(server.link())
        say(page, "Tell me something.")
        coming = page.locator("[data-pending-answer]")
        expect(coming).to_contain_text("It begins")
        screenshot(page, "thread-streaming")
        gate.set()
        expect(page.locator("[data-role=assistant]")).to_contain_text("It begins and ends.")
        expect(coming).to_have_count(0)


def test_stopping_keeps_the_text_so_far(
    tmp_path: Path, visit: Visit, gate: threading.Event, screenshot: Screenshot
) -> None:
    with start_server(
        tmp_path, [["Half of it", gate, " never said"], "The whole of it."]
    ) as server:
        page = visit(server.link())
        say(page, "Go on.")
        expect(page.locator("[data-pending-answer]")).to_contain_text("Half of it")
        page.get_by_role("button", name="Stop generating").click()
        stopped = page.locator("[data-state=stopped]")
        expect(stopped).to_contain_text("Half of it")
        expect(stopped).to_contain_text("You stopped this answer.")
        screenshot(page, "thread-stopped")
        stopped.get_by_role("button", name="Retry").click()
        expect(page.locator("[data-role=assistant]").last).to_contain_text("The whole of it.")


def test_a_reload_in_the_middle_continues_the_answer(
    tmp_path: Path, visit: Visit, gate: threading.Event
) -> None:
    with start_server(tmp_path, [["First half,", gate, " second half."]]) as server:
        page = visit(server.link())
        say(page, "Both halves, please.")
        expect(page.locator("[data-pending-answer]")).to_contain_text("First half,")
        page.reload()
        expect(page.locator("[data-pending-answer]")).to_contain_text("First half,")
        gate.set()
        expect(page.locator("[data-role=assistant]")).to_contain_text("First half, second half.")
        assert answers(page) == ["First half, second half."]


def test_two_devices_stay_in_sync(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Heard on both."]) as server:
        here, there = visit(server.link()), visit(server.link())
        expect(there.get_by_label("Write a message")).to_be_visible()
        say(here, "Is anybody there?")
        for page in (here, there):
            expect(page.locator("[data-role=user]")).to_contain_text("Is anybody there?")
            expect(page.locator("[data-role=assistant]")).to_contain_text("Heard on both.")
            assert answers(page) == ["Heard on both."]


def test_a_queued_message_and_its_answer_follow_the_running_answer(
    tmp_path: Path, visit: Visit, gate: threading.Event, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, [["One", gate, "."], "Two."]) as server:
        page = visit(server.link())
        say(page, "First question")
        expect(page.locator("[data-pending-answer]")).to_contain_text("One")
        say(page, "Second question")
        waiting = page.locator("[data-pending-answer]").nth(1)
        expect(waiting).to_contain_text("Queued")
        rows = page.get_by_role("log").locator("article")
        expect(rows).to_have_text(
            [r("First question"), r("One"), r("Second question"), r("Queued")]
        )
        screenshot(page, "thread-queue")
        gate.set()
        ended = [r("First question"), r("One."), r("Second question"), r("Two.")]
        expect(page.locator("[data-role=assistant]")).to_have_count(2)
        expect(rows).to_have_text(ended)
        page.reload()
        expect(rows).to_have_text(ended)


def test_a_regenerated_answer_is_a_second_version(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["The first answer.", "The second answer."]) as server:
        page = visit(server.link())
        say(page, "Answer twice.")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        act(page, "The first answer.", "Regenerate answer")
        expect(page.locator("[data-role=assistant]")).to_contain_text("The second answer.")
        expect(page.get_by_text("2/2")).to_be_visible()
        screenshot(page, "thread-siblings")
        page.get_by_role("button", name="Previous version").click()
        expect(page.locator("[data-role=assistant]")).to_contain_text("The first answer.")
        expect(page.get_by_text("1/2")).to_be_visible()


def test_an_edited_message_gets_its_own_branch(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["About cats.", "About dogs."]) as server:
        page = visit(server.link())
        say(page, "Tell me about cats")
        expect(page.locator("[data-role=assistant]")).to_contain_text("About cats.")
        act(page, "Tell me about cats", "Edit")
        expect(page.get_by_label("Write a message")).to_have_value("Tell me about cats")
        say(page, "Tell me about dogs")
        expect(page.locator("[data-role=assistant]")).to_contain_text("About dogs.")
        expect(page.locator("[data-role=user]")).to_have_count(1)
        expect(page.locator("[data-role=user]")).to_contain_text("Tell me about dogs")


def test_versions_of_the_first_message_can_be_switched(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["About cats.", "About dogs.", "About owls."]) as server:
        page = visit(server.link())
        say(page, "Write of cats")
        expect(page.locator("[data-role=assistant]")).to_contain_text("About cats.")
        for before, now in (("cats", "dogs"), ("dogs", "owls")):
            act(page, f"Write of {before}", "Edit")
            say(page, f"Write of {now}")
            expect(page.locator("[data-role=assistant]")).to_contain_text(f"About {now}.")
        question = page.locator("[data-role=user]")
        expect(question).to_contain_text("3/3")
        screenshot(page, "thread-versions")
        for number, words in ((2, "dogs"), (1, "cats")):
            question.get_by_role("button", name="Previous version").click()
            expect(question).to_contain_text(f"Write of {words}")
            expect(question).to_contain_text(f"{number}/3")
            expect(page.locator("[data-role=assistant]")).to_contain_text(f"About {words}.")
        question.get_by_role("button", name="Next version").click()
        expect(question).to_contain_text("2/3")


def test_rewinding_is_previewed_and_can_be_undone(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["Answer one.", "Answer two."]) as server:
        page = visit(server.link())
        for number in ("one", "two"):
            say(page, f"Question {number}")
            expect(page.locator("[data-role=assistant]").last).to_contain_text(f"Answer {number}.")
        act(page, "Answer one.", "Rewind to here")
        expect(page.locator("[data-impact]")).to_contain_text(
            "One message, one answer and two memories"
        )
        screenshot(page, "thread-rewind")
        page.get_by_role("button", name="Rewind", exact=True).click()
        expect(page.locator("article.message")).to_have_count(2)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("article.message")).to_have_count(4)


def test_deleting_is_previewed_and_can_be_undone(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["I will remember the secret."]) as server:
        page = visit(server.link())
        say(page, "A secret")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        act(page, "A secret", "Delete")
        expect(page.locator("[data-impact]")).to_contain_text("answer")
        screenshot(page, "thread-retract")
        page.get_by_role("button", name="Delete", exact=True).click()
        expect(page.locator("article.message")).to_have_count(0)
        page.get_by_role("button", name="Undo").click()
        expect(page.locator("article.message")).to_have_count(2)


def test_a_hidden_message_can_be_shown_again(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Seen."]) as server:
        page = visit(server.link())
        say(page, "Hide me")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        act(page, "Hide me", "Hide")
        expect(page.locator("[data-role=user]")).to_contain_text("Hidden message.")
        page.get_by_role("button", name="Show", exact=True).click()
        expect(page.locator("[data-role=user]")).to_contain_text("Hide me")


def test_a_failed_answer_says_what_to_do_next(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    failed = ModelFailed("the model is out of credit", hint="Top up, or choose another one.")
    with start_server(tmp_path, [failed, "Better now."]) as server:
        page = visit(server.link())
        say(page, "Try this")
        outcome = page.locator("[data-state=failed]")
        expect(outcome).to_contain_text("Top up, or choose another one.")
        screenshot(page, "thread-failed")
        outcome.get_by_role("button", name="Retry").click()
        expect(page.locator("[data-role=assistant]")).to_contain_text("Better now.")


def test_a_message_written_offline_is_kept_and_sent_once(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["Welcome back."]) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.context.set_offline(True)
        expect(page.get_by_text("No connection to Everloop.")).to_be_visible()
        say(page, "Written in a tunnel")
        expect(page.locator("[data-unsent]")).to_contain_text("Not sent yet.")
        screenshot(page, "thread-offline")
        page.context.set_offline(False)
        expect(page.locator("[data-role=assistant]")).to_contain_text("Welcome back.")
        expect(page.locator("[data-role=user]")).to_have_count(1)
        expect(page.get_by_text("No connection to Everloop.")).to_have_count(0)


def test_a_draft_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").fill("Half a thought")
        page.reload()
        expect(page.get_by_label("Write a message")).to_have_value("Half a thought")


def test_an_image_is_sent_and_shown(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    picture = Path("web/static/icon-192.png")
    with start_server(tmp_path, ["A loop."]) as server:
        page = visit(server.link())
        page.locator("input[data-from=files]").set_input_files(picture)
        expect(page.get_by_label("Attached")).to_contain_text("icon-192.png")
        say(page, "What is this?")
        shown = page.get_by_role("img", name="icon-192.png")
        expect(shown).to_be_visible()
        expect(page.locator("[data-role=assistant]")).to_contain_text("A loop.")
        assert shown.evaluate("picture => picture.naturalWidth") == 192
        screenshot(page, "thread-picture")


def test_an_answer_shows_its_sources(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    with start_server(tmp_path, ["Noted.", "You like tea."]) as server:
        page = visit(server.link())
        say(page, "I like tea")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        say(page, "What do I like?")
        expect(page.locator("[data-role=assistant]")).to_have_count(2)
        act(page, "You like tea.", "Sources")
        sheet = page.get_by_role("dialog")
        expect(sheet.get_by_role("group", name="Prompt by section")).to_be_visible()
        expect(sheet).to_contain_text("Recent messages")
        expect(sheet).to_contain_text("I like tea")
        screenshot(page, "inspect-sheet")


def test_a_theme_applies_immediately_and_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        colour = "getComputedStyle(document.documentElement).backgroundColor"
        before = page.evaluate(colour)
        page.goto(f"{server.address}/components")
        page.get_by_label("Moss").check(force=True)
        page.get_by_label("Dark", exact=True).check(force=True)
        after = page.evaluate(colour)
        assert after != before
        page.reload()
        page.get_by_role("heading", name="Components").wait_for()
        assert page.evaluate(colour) == after


def test_the_thread_can_be_used_by_keyboard_alone(tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with start_server(tmp_path, ["One.", "Two."]) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.keyboard.press("c")
        page.keyboard.type("By keys alone")
        page.keyboard.press("Enter")
        expect(page.locator("[data-role=assistant]")).to_contain_text("One.")
        expect(
            page.get_by_placeholder("Write a message…", exact=True)
        ).to_be_visible()  # it is over
        page.keyboard.press("Escape")
        page.keyboard.press("k")
        page.keyboard.press("r")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Two.")
        page.keyboard.press("?")
        expect(page.get_by_role("dialog")).to_contain_text("Next and previous message")
        page.keyboard.press("Escape")
        page.keyboard.press("Control+k")
        page.keyboard.type("parts of nothing")
        written = page.get_by_role("combobox", name="Command palette")
        expect(written).to_have_value("parts of nothing")  # though the help was hardly gone
        expect(page.locator("[role=option]")).to_have_count(1)


def test_text_typed_while_the_palette_loads_is_kept(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with start_server(tmp_path, []) as server:
        page = visit(server.link())
        page.add_init_script(
            "window.requestIdleCallback = () => 0"
        )  # nothing is fetched beforehand
        page.reload()
        page.get_by_label("Write a message").click()
        page.keyboard.press("Control+k")
        page.keyboard.type("parts of nothing")
        expect(page.get_by_role("combobox", name="Command palette")).to_have_value(
            "parts of nothing"
        )
        page.keyboard.press("Escape")
        expect(page.get_by_label("Write a message")).to_have_value("")
