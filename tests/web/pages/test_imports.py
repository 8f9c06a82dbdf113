"""Conversations from elsewhere: watched while they come, broken off, gone on with, taken back."""

import json
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Shot, Visit
from tests.web.demo_server import enter
from tests.web.security.test_access import faults, too_small
from tests.web.servers import house

from everloop.thread.settings import ImportLimits, ThreadSettings

pytestmark = pytest.mark.xdist_group("web")

MANY = 20_000  # one by one, this takes longer than a visit
SLOW = ThreadSettings(imports=ImportLimits(batch=1))


def lines(folder: Path, count: int) -> Path:
    said = (
        {"role": "user", "text": f"Note {n}", "at": "2024-05-01T10:00:00Z", "thread": "old"}
        for n in range(count)
    )
    export = folder / "old.jsonl"
    export.write_text("\n".join(map(json.dumps, said)))
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


def test_an_export_is_imported_and_taken_back(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path / "home") as home:
        page = enter(home, visit, "/settings")
        page.get_by_label("File to import").set_input_files(lines(tmp_path, 30))
        expect(page.get_by_text("30 messages in 1 conversation")).to_be_visible()
        expect(page.get_by_role("list", name="Imports")).to_contain_text("30 messages")
        page.get_by_role("button", name="Take back").click()
        expect(page.get_by_text("old.jsonl is taken back.")).to_be_visible()
        expect(page.get_by_role("button", name="Take back")).to_have_count(0)
        expect(page.get_by_text("30 messages in 1 conversation")).to_have_count(0)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_an_import_is_watched_found_again_and_broken_off(
    tmp_path: Path, visit: Visit, shot: Shot, dark: bool, size: str
) -> None:
    with house(tmp_path / "home", thread=SLOW) as home:
        page = enter(home, visit, "/settings", dark=dark, bypass_csp=True, reduced_motion="reduce")
        page.get_by_label("File to import").set_input_files(lines(tmp_path, MANY))
        coming = page.get_by_role("progressbar", name="Import of old.jsonl")
        imports = page.get_by_role("list", name="Imports")
        expect(coming).to_be_visible()
        expect(page.get_by_text(" so far")).to_be_visible()
        expect(imports).to_contain_text("comes in just now")
        coming.scroll_into_view_if_needed()
        shot(page, f"import-{'dark' if dark else 'light'}")
        assert faults(page) == []
        assert size == "desktop" or too_small(page) == []
        page.get_by_role("link", name="Memory").first.click()
        page.get_by_role("heading", name="Memory", level=1).wait_for()
        page.go_back()
        expect(coming).to_be_visible()
        page.reload()
        expect(coming).to_be_visible()
        page.get_by_role("button", name="Break off").click()
        expect(page.get_by_text("What is in stays.")).to_be_visible()
        expect(imports).to_contain_text("broken off after")
        page.get_by_role("button", name="Go on with it").click()
        expect(coming).to_be_visible()
        page.get_by_role("button", name="Break off").click()
        expect(page.get_by_text("What is in stays.")).to_be_visible()
        page.get_by_role("button", name="Take back").click()
        expect(imports).to_have_count(0)
        expect(page.get_by_text("What is in stays.")).to_have_count(0)


def test_an_import_that_waits_behind_another_is_found_again(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path / "home", thread=SLOW) as home:
        page = enter(home, visit, "/settings")
        picker = page.get_by_label("File to import")
        picker.set_input_files(lines(tmp_path, MANY))
        expect(page.get_by_role("progressbar", name="Import of old.jsonl")).to_be_visible()
        picker.set_input_files(claude_with_files(tmp_path))
        waits = page.get_by_role("progressbar", name="Import of conversations.json")
        expect(waits).to_be_visible()
        page.reload()
        expect(waits).to_be_visible()
        expect(page.get_by_text("Waits for the one before it")).to_be_visible()


def test_an_import_that_failed_goes_on_and_tells_of_files(
    tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with house(tmp_path / "home") as home:
        blocked = tmp_path / "home" / "files"
        blocked.write_text("in the way of the folder")
        page = enter(home, visit, "/settings")
        page.get_by_label("File to import").set_input_files(claude_with_files(tmp_path))
        on = page.get_by_role("button", name="Go on with it")
        expect(on).to_be_visible()
        blocked.unlink()
        on.click()
        expect(page.get_by_text("1 message in 1 conversation")).to_be_visible()
        expect(page.get_by_text("1 file came along.")).to_be_visible()
        expect(page.get_by_text("1 file is named in it, but not in the export.")).to_be_visible()
        page.get_by_text("1 file came along.").scroll_into_view_if_needed()
        shot(page, "import-files")
