"""Files on their way into a message: chosen, pasted, let go over the page, or taken by a camera."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.servers import house
from tests.web.thread.test_thread import say

from everloop.app import USER
from everloop.thread.model.commands import HOME
from everloop.thread.service import OutgoingMessage

pytestmark = pytest.mark.xdist_group("web")

PICTURE = Path("web/static/icon-192.png")
CARRIED = """([name, type, content]) => {
  const carried = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
  carried.items.add(new File([bytes], name, {type}));
  return carried;
}"""


def carried(page: Page, file: Path, media_type: str) -> object:
    """A file as a browser carries it from one place to another."""
    content = base64.b64encode(file.read_bytes()).decode()
    return page.evaluate_handle(CARRIED, [file.name, media_type, content])


def sent_and_shown(page: Page, name: str) -> None:
    expect(page.get_by_label("Attached")).to_contain_text(name)
    say(page, "Look at this")
    shown = page.locator("[data-role=user]").get_by_role("img", name=name)
    expect(shown).to_be_visible()
    assert shown.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 192
    expect(page.locator("[data-role=assistant]")).to_contain_text("Seen.")


def test_a_picture_is_pasted(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path, ["Seen."]) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").focus()
        page.evaluate(
            """data => document.activeElement.dispatchEvent(new ClipboardEvent('paste',
              {clipboardData: data, bubbles: true, cancelable: true}))""",
            carried(page, PICTURE, "image/png"),
        )
        sent_and_shown(page, "icon-192.png")


def test_text_is_pasted_as_text(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").focus()
        pasted = page.evaluate(
            """() => { const data = new DataTransfer(); data.setData('text/plain', 'words');
              return document.activeElement.dispatchEvent(new ClipboardEvent('paste',
                {clipboardData: data, bubbles: true, cancelable: true})); }"""
        )
        assert pasted, "the browser pastes it"
        expect(page.get_by_label("Attached")).to_have_count(0)


def test_a_file_is_let_go_over_the_page(tmp_path: Path, visit: Visit, shot: Shot) -> None:
    with house(tmp_path, ["Seen."]) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").wait_for()
        carrying = carried(page, PICTURE, "image/png")
        over = page.get_by_role("heading", name="This is your thread.")
        over.dispatch_event("dragover", {"dataTransfer": carrying})
        expect(page.get_by_text("Let go to attach it")).to_be_visible()
        shot(page, "thread-drop")
        over.dispatch_event("drop", {"dataTransfer": carrying})
        expect(page.get_by_text("Let go to attach it")).to_have_count(0)
        sent_and_shown(page, "icon-192.png")


def test_a_phone_takes_a_picture(tmp_path: Path, visit: Visit, size: str, shot: Shot) -> None:
    if size == "desktop":
        pytest.skip("a laptop chooses files")
    with house(tmp_path, ["Seen."]) as home:
        page = visit(home.link())
        page.get_by_label("Attach", exact=True).click()
        shot(page, "thread-attach")
        with page.expect_file_chooser() as opened:
            page.get_by_role("menuitem", name="Take a picture").click()
        chooser = opened.value
        assert chooser.element.get_attribute("capture") == "environment"
        assert chooser.element.get_attribute("accept") == "image/*"
        chooser.set_files(PICTURE)
        sent_and_shown(page, "icon-192.png")


def test_what_was_attached_can_be_taken_off(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(home.link())
        page.locator("input[data-from=files]").set_input_files(PICTURE)
        page.get_by_label("Remove icon-192.png").click()
        expect(page.get_by_label("Attached")).to_have_count(0)


def test_a_picture_that_is_gone_says_so(tmp_path: Path, visit: Visit, shot: Shot) -> None:
    with house(tmp_path) as home:
        kept = home.running.files.store("cat.png", "image/png", [PICTURE.read_bytes()])
        home.running.talk.home_thread(USER)
        home.running.talk.send(HOME, OutgoingMessage("Look.", (kept,)), USER)
        home.running.files.path(kept.digest).unlink()
        page = visit(home.link())
        expect(page.locator("[data-role=user]")).to_contain_text("cat.png cannot be shown now")
        shot(page, "thread-file-gone")
