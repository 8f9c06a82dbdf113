"""Programs around Everloop: those that come in with a token, and those whose tools are used."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.adapters.test_mcp_client import GONE, PATIENCE_S, SMALL
from tests.web.conftest import Shot, Visit
from tests.web.demo_server import enter
from tests.web.security.test_access import faults, too_small
from tests.web.servers import house

from everloop.access import credentials
from everloop.turns.tool_servers import ToolServer

pytestmark = pytest.mark.xdist_group("web")

CLIPBOARD = ["clipboard-read", "clipboard-write"]
MODES = pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])


@MODES
def test_a_program_gets_a_token_that_is_shown_once_and_taken_away(
    tmp_path: Path, visit: Visit, shot: Shot, dark: bool, size: str
) -> None:
    mode = "dark" if dark else "light"
    with house(tmp_path) as home:
        page = enter(
            home,
            visit,
            "/devices",
            dark=dark,
            permissions=CLIPBOARD,
            bypass_csp=True,
            reduced_motion="reduce",
        )
        page.get_by_role("button", name="Give a token").click()
        sheet = page.get_by_role("dialog")
        sheet.get_by_label("Name of the program").fill("my-agent")
        sheet.get_by_role("button", name="Give a token").click()
        token = sheet.locator("[data-token]").inner_text()
        known = credentials.authenticate_device(home.engine.log, token)
        assert known is not None
        assert known.host == "my-agent"
        sheet.get_by_role("button", name="Copy the line").click()
        expect(page.get_by_text("The line is copied.")).to_be_visible()
        line = f"claude mcp add --transport http everloop {home.address}/mcp --header "
        copied = page.evaluate("navigator.clipboard.readText()")
        assert copied == f'{line}"Authorization: Bearer {token}"'
        shot(page, f"token-{mode}")
        assert faults(page) == []
        assert size == "desktop" or too_small(page) == []
        sheet.get_by_role("button", name="Done").click()
        expect(page.get_by_text(token)).to_have_count(0)
        expect(page.get_by_role("list", name="Devices")).not_to_contain_text("my-agent")
        expect(page.get_by_role("list", name="Programs")).to_contain_text("my-agent")
        shot(page, f"programs-{mode}")
        assert faults(page) == []
        page.get_by_role("button", name="Let in no more: my-agent").click()
        page.get_by_role("dialog").get_by_role("button", name="Let in no more").click()
        expect(page.get_by_role("list", name="Programs")).to_have_count(0)
        assert credentials.authenticate_device(home.engine.log, token) is None


def test_a_name_that_is_none_is_refused_in_the_form(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/devices")
        page.get_by_role("button", name="Give a token").click()
        page.get_by_label("Name of the program").fill("two words")
        page.get_by_role("dialog").get_by_role("button", name="Give a token").click()
        assert page.evaluate("document.querySelector('[role=dialog] input').matches(':invalid')")
        expect(page.locator("[data-token]")).to_have_count(0)


@MODES
def test_settings_tell_how_tool_servers_are(
    tmp_path: Path, visit: Visit, shot: Shot, dark: bool, size: str
) -> None:
    servers = {"small": SMALL, "gone": GONE, "off": ToolServer("x", enabled=False)}
    with house(tmp_path, tools=servers) as home:
        home.running.tool_servers.start()
        try:
            home.running.tool_servers.wait(PATIENCE_S)
            page = enter(
                home, visit, "/settings", dark=dark, bypass_csp=True, reduced_motion="reduce"
            )
            rows = page.get_by_role("list", name="MCP servers").locator(":scope > li")
            expect(rows).to_have_count(3)
            expect(rows.filter(has_text="small")).to_contain_text("tools")
            expect(rows.filter(has_text="gone")).to_contain_text("Not reached")
            expect(rows.filter(has_text="gone").locator(".text-trouble").last).not_to_be_empty()
            expect(rows.filter(has_text="off")).to_contain_text("Switched off")
            rows.first.scroll_into_view_if_needed()
            shot(page, f"tools-{'dark' if dark else 'light'}")
            assert faults(page) == []
            assert size == "desktop" or too_small(page) == []
        finally:
            home.running.tool_servers.close()


def test_without_tool_servers_settings_say_how_to_add_one(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/settings")
        section = page.locator("#tools")
        expect(section).to_contain_text("None yet.")
        expect(section).to_contain_text("[tools.files]")
