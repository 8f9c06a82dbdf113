"""Attachments: chosen, pasted, dropped, or taken with a camera."""

import base64
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

from everloop.app import USER
from everloop.thread.model.commands import HOME
from everloop.thread.service import OutgoingMessage

pytestmark = pytest.mark.xdist_group("web")

PICTURE = Path("web/static/icon-192.png")
MAKE_DATA_TRANSFER = """([name, type, content]) => {
  const carried = new DataTransfer();
  const bytes = Uint8Array.from(atob(content), letter => letter.charCodeAt(0));
  carried.items.add(new File([bytes], name, {type}));
  return carried;
}"""


def data_transfer(page: Page, file: Path, media_type: str) -> object:
    """A file as a `DataTransfer` object."""
    content = base64.b64encode(file.read_bytes()).decode()
    return page.evaluate_handle(MAKE_DATA_TRANSFER, [file.name, media_type, content])


def send_and_check_image(page: Page, name: str) -> None:
    expect(page.get_by_label("Attached")).to_contain_text(name)
    say(page, "Look at this")
    shown = page.locator("[data-role=user]").get_by_role("img", name=name)
    expect(shown).to_be_visible()
    assert shown.evaluate("picture => picture.decode().then(() => picture.naturalWidth)") == 192
    expect(page.locator("[data-role=assistant]")).to_contain_text("Seen.")


def test_an_image_can_be_pasted(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Seen."]) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").focus()
        page.evaluate(
            """data => document.activeElement.dispatchEvent(new ClipboardEvent('paste',
              {clipboardData: data, bubbles: true, cancelable: true}))""",
            data_transfer(page, PICTURE, "image/png"),
        )
        send_and_check_image(page, "icon-192.png")


def test_pasted_text_is_not_attached(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").focus()
        pasted = page.evaluate(
            """() => { const data = new DataTransfer(); data.setData('text/plain', 'words');
              return document.activeElement.dispatchEvent(new ClipboardEvent('paste',
                {clipboardData: data, bubbles: true, cancelable: true})); }"""
        )
        assert pasted, "the browser pastes it"
        expect(page.get_by_label("Attached")).to_have_count(0)


def test_a_file_can_be_dropped_on_the_page(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["Seen."]) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        carrying = data_transfer(page, PICTURE, "image/png")
        over = page.get_by_role("heading", name="This is your thread.")
        over.dispatch_event("dragover", {"dataTransfer": carrying})
        expect(page.get_by_text("Drop to attach")).to_be_visible()
        screenshot(page, "thread-drop")
        over.dispatch_event("drop", {"dataTransfer": carrying})
        expect(page.get_by_text("Drop to attach")).to_have_count(0)
        send_and_check_image(page, "icon-192.png")


def test_a_phone_can_take_a_photo(
    tmp_path: Path, visit: Visit, size: str, screenshot: Screenshot
) -> None:
    if size == "desktop":
        pytest.skip("a laptop chooses files")
    with start_server(tmp_path, ["Seen."]) as server:
        page = visit(server.link())
        page.get_by_label("Attach", exact=True).click()
        screenshot(page, "thread-attach")
        with page.expect_file_chooser() as opened:
            page.get_by_role("menuitem", name="Take photo").click()
        chooser = opened.value
        assert chooser.element.get_attribute("capture") == "environment"
        assert chooser.element.get_attribute("accept") == "image/*"
        chooser.set_files(PICTURE)
        send_and_check_image(page, "icon-192.png")


def test_an_attachment_can_be_removed(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.locator("input[data-from=files]").set_input_files(PICTURE)
        page.get_by_label("Remove icon-192.png").click()
        expect(page.get_by_label("Attached")).to_have_count(0)


def test_a_missing_image_is_reported(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    with start_server(tmp_path) as server:
        kept = server.running.files.store("cat.png", "image/png", [PICTURE.read_bytes()])
        server.running.talk.home_thread(USER)
        server.running.talk.send(HOME, OutgoingMessage("Look.", (kept,)), USER)
        server.running.files.path(kept.digest).unlink()
        page = visit(server.link())
        expect(page.locator("[data-role=user]")).to_contain_text("cat.png can\u2019t be displayed")
        screenshot(page, "thread-file-gone")
