"""The header of a thread and the command palette."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.servers import start_server

from everloop.app import USER

pytestmark = pytest.mark.xdist_group("web")


def test_the_palette_lists_conversations_with_the_same_title(
    tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with start_server(tmp_path) as server:
        for _ in range(2):
            server.running.talk.open("Garden", USER)
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.keyboard.press("Control+k")
        page.get_by_role("combobox", name="Command palette").fill("garden")
        expect(page.get_by_role("option", name="Garden Conversation")).to_have_count(2)


def test_the_date_picker_opens_at_its_button(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        button = page.get_by_role("button", name="Go to date")
        button.click()
        field = page.locator("header input[type=date]")
        expect(field).to_have_count(1)
        at, anchor = button.bounding_box(), field.bounding_box()
        assert at == anchor  # the browser opens its picker at the field
