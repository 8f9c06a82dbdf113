"""Access tokens for programs, and the status of tool servers."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.adapters.test_mcp_client import GONE, PATIENCE_S, SMALL
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page
from tests.web.pages.test_accessibility import axe_violations, small_touch_targets
from tests.web.servers import start_server

from everloop.access import pairing
from everloop.turns.tool_servers import ToolServer

pytestmark = pytest.mark.xdist_group("web")

CLIPBOARD = ["clipboard-read", "clipboard-write"]
MODES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@MODES
def test_a_token_is_shown_once_and_can_be_removed(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, dark: bool, size: str
) -> None:
    mode = "dark" if dark else "light"
    with start_server(tmp_path) as server:
        page = open_page(
            server,
            visit,
            "/devices",
            dark=dark,
            permissions=CLIPBOARD,
            bypass_csp=True,
            reduced_motion="reduce",
        )
        page.get_by_role("button", name="Create token").click()
        sheet = page.get_by_role("dialog")
        sheet.get_by_label("Program name").fill("my-agent")
        sheet.get_by_role("button", name="Create token").click()
        token = sheet.locator("[data-token]").inner_text()
        known = pairing.authenticate_device(server.engine.log, token)
        assert known is not None
        assert known.host == "my-agent"
        sheet.get_by_role("button", name="Copy command").click()
        expect(page.get_by_text("Command copied.")).to_be_visible()
        line = f"claude mcp add --transport http everloop {server.address}/mcp --header "
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == f'{line}"Authorization: Bearer {token}"'
        screenshot(page, f"token-{mode}")
        assert axe_violations(page) == []
        assert size == "desktop" or small_touch_targets(page) == []
        sheet.get_by_role("button", name="Done").click()
        expect(page.get_by_text(token)).to_have_count(0)
        expect(page.get_by_role("list", name="Devices")).not_to_contain_text("my-agent")
        expect(page.get_by_role("list", name="Access tokens")).to_contain_text("my-agent")
        screenshot(page, f"programs-{mode}")
        assert axe_violations(page) == []
        page.get_by_role("button", name="Remove my-agent").click()
        page.get_by_role("dialog").get_by_role("button", name="Remove").click()
        expect(page.get_by_role("list", name="Access tokens")).to_have_count(0)
        assert pairing.authenticate_device(server.engine.log, token) is None


def test_an_invalid_program_name_is_rejected_in_the_form(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/devices")
        page.get_by_role("button", name="Create token").click()
        page.get_by_label("Program name").fill("two words")
        page.get_by_role("dialog").get_by_role("button", name="Create token").click()
        assert page.evaluate("document.querySelector('[role=dialog] input').matches(':invalid')")
        expect(page.locator("[data-token]")).to_have_count(0)


@MODES
def test_settings_show_the_status_of_tool_servers(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, dark: bool, size: str
) -> None:
    servers = {"small": SMALL, "gone": GONE, "off": ToolServer("x", enabled=False)}
    with start_server(tmp_path, tools=servers) as server:
        server.running.tool_servers.start()
        try:
            server.running.tool_servers.wait(PATIENCE_S)
            page = open_page(
                server, visit, "/settings", dark=dark, bypass_csp=True, reduced_motion="reduce"
            )
            rows = page.get_by_role("list", name="MCP servers").locator(":scope > li")
            expect(rows).to_have_count(3)
            expect(rows.filter(has_text="small")).to_contain_text("tools")
            expect(rows.filter(has_text="gone")).to_contain_text("Not reachable")
            expect(rows.filter(has_text="gone").locator(".text-trouble").last).not_to_be_empty()
            expect(rows.filter(has_text="off")).to_contain_text("Disabled")
            rows.first.scroll_into_view_if_needed()
            screenshot(page, f"tools-{'dark' if dark else 'light'}")
            assert axe_violations(page) == []
            assert size == "desktop" or small_touch_targets(page) == []
        finally:
            server.running.tool_servers.close()


def test_without_tool_servers_settings_explain_how_to_add_one(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/settings")
        section = page.locator("#tools")
        expect(section).to_contain_text("No tool servers yet.")
        expect(section).to_contain_text("[tools.files]")
