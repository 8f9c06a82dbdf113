"""Imports: progress, cancelling, resuming and undoing."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page
from tests.web.pages.test_accessibility import axe_violations, small_touch_targets
from tests.web.servers import start_server

from everloop.thread.settings import ImportLimits, ThreadSettings

pytestmark = pytest.mark.xdist_group("web")

MANY = 20_000  # one by one, this takes longer than a visit
SLOW = ThreadSettings(imports=ImportLimits(batch=1))


def lines(folder: Path, count: int) -> Path:
    messages = (
        {"role": "user", "text": f"Note {n}", "at": "2024-05-01T10:00:00Z", "thread": "old"}
        for n in range(count)
    )
    export = folder / "old.jsonl"
    export.write_text("\n".join(map(json.dumps, messages)))
    return export


def claude_with_files(folder: Path) -> Path:
    message = {
        "uuid": "m",
        "sender": "human",
        "text": "Read these.",
        "created_at": "2025-01-01T00:00:00Z",
        "attachments": [{"file_name": "a.txt", "extracted_content": "Words."}],
        "files": [{"file_name": "plan.png", "file_uuid": "f"}],
    }
    export = folder / "conversations.json"
    export.write_text(json.dumps([{"uuid": "c", "name": "A", "chat_messages": [message]}]))
    return export


def undo_import(page: Page) -> None:
    page.get_by_role("button", name="Undo import").click()
    page.get_by_role("dialog").get_by_role("button", name="Undo import").click()


def test_undoing_an_import_asks_first_and_can_be_undone(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path / "home") as server:
        page = open_page(server, visit, "/settings")
        page.get_by_label("File to import").set_input_files(lines(tmp_path, 30))
        expect(page.get_by_text("30 messages in 1 conversation imported")).to_be_visible()
        expect(page.get_by_role("list", name="Imports")).to_contain_text("30 messages")
        page.get_by_role("button", name="Undo import").click()
        dialog = page.get_by_role("dialog")
        expect(dialog).to_contain_text("This removes 30 messages")
        screenshot(page, "import-undo")
        dialog.get_by_role("button", name="Cancel").click()
        expect(dialog).to_have_count(0)
        expect(page.get_by_role("list", name="Imports")).to_contain_text("30 messages")
        undo_import(page)
        expect(page.get_by_text("Import of old.jsonl undone.")).to_be_visible()
        expect(page.get_by_role("button", name="Undo import")).to_have_count(0)
        expect(page.get_by_text("30 messages in 1 conversation imported")).to_have_count(0)
        page.get_by_role("button", name="Restore").click()
        expect(page.get_by_role("list", name="Imports")).to_contain_text("30 messages")


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_import_shows_progress_and_can_be_cancelled_and_resumed(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, dark: bool, size: str
) -> None:
    with start_server(tmp_path / "home", thread=SLOW) as server:
        page = open_page(
            server, visit, "/settings", dark=dark, bypass_csp=True, reduced_motion="reduce"
        )
        page.get_by_label("File to import").set_input_files(lines(tmp_path, MANY))
        progress = page.get_by_role("progressbar", name="Import of old.jsonl")
        imports = page.get_by_role("list", name="Imports")
        expect(progress).to_be_visible()
        expect(page.get_by_text(" so far")).to_be_visible()
        expect(imports).to_contain_text("in progress")
        progress.scroll_into_view_if_needed()
        screenshot(page, f"import-{'dark' if dark else 'light'}")
        assert axe_violations(page) == []
        assert size == "desktop" or small_touch_targets(page) == []
        if not page.get_by_role("link", name="Memory").count():
            page.get_by_role("button", name="More").click()
        page.get_by_role("link", name="Memory").first.click()
        page.get_by_role("heading", name="Memory", level=1).wait_for()
        page.go_back()
        expect(progress).to_be_visible()
        page.reload()
        expect(progress).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Messages imported so far are kept.")).to_be_visible()
        expect(imports).to_contain_text("cancelled after")
        page.get_by_role("button", name="Resume").click()
        expect(progress).to_be_visible()
        page.get_by_role("button", name="Cancel").click()
        expect(page.get_by_text("Messages imported so far are kept.")).to_be_visible()
        undo_import(page)
        expect(imports).to_have_count(0)
        expect(page.get_by_text("Messages imported so far are kept.")).to_have_count(0)


def test_a_queued_import_survives_a_reload(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path / "home", thread=SLOW) as server:
        page = open_page(server, visit, "/settings")
        picker = page.get_by_label("File to import")
        picker.set_input_files(lines(tmp_path, MANY))
        expect(page.get_by_role("progressbar", name="Import of old.jsonl")).to_be_visible()
        picker.set_input_files(claude_with_files(tmp_path))
        queued = page.get_by_role("progressbar", name="Import of conversations.json")
        expect(queued).to_be_visible()
        page.reload()
        expect(queued).to_be_visible()
        expect(page.get_by_text("Queued", exact=True)).to_be_visible()


def test_a_failed_import_can_be_resumed_and_reports_files(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path / "home") as server:
        blocked = tmp_path / "home" / "files"
        blocked.write_text("in the way of the folder")
        page = open_page(server, visit, "/settings")
        page.get_by_label("File to import").set_input_files(claude_with_files(tmp_path))
        resume = page.get_by_role("button", name="Resume")
        expect(resume).to_be_visible()
        blocked.unlink()
        resume.click()
        expect(page.get_by_text("1 message in 1 conversation")).to_be_visible()
        expect(page.get_by_text("1 file imported.")).to_be_visible()
        expect(page.get_by_text("1 file is mentioned, but not in the export.")).to_be_visible()
        page.get_by_text("1 file imported.").scroll_into_view_if_needed()
        screenshot(page, "import-files")
