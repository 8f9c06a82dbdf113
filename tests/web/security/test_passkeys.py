"""Passkeys: adding, signing in and removing."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server

pytestmark = pytest.mark.xdist_group("web")

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def on_localhost(address: str) -> str:
    """The address with localhost instead of an IP address, which passkeys need."""
    return address.replace("127.0.0.1", "localhost")


def add_authenticator(page: Page, *, present: bool = True) -> None:
    """Add a virtual authenticator; without `present`, it never confirms."""
    browser: Any = page.context.new_cdp_session(page)
    browser.send("WebAuthn.enable")
    options = {**AUTHENTICATOR, "isUserVerified": present}
    browser.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def sign_out(page: Page) -> None:
    page.get_by_label("Actions for", exact=False).first.click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Code")).to_be_visible()


def test_a_passkey_can_be_added_and_used_to_sign_in(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        page = visit(on_localhost(server.link()))
        page.get_by_label("Write a message").wait_for()
        add_authenticator(page)
        page.goto(on_localhost(server.address) + "/devices")
        page.get_by_role("button", name="Add passkey").click()
        expect(page.get_by_text("Passkey added.", exact=False)).to_be_visible()
        expect(page.get_by_text("For localhost, added", exact=False)).to_be_visible()
        screenshot(page, "devices-passkey")
        sign_out(page)
        screenshot(page, "sign-in-passkey")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("heading", name="Devices")).to_be_visible()
        expect(page.get_by_text("Signed in with a passkey", exact=False)).to_be_visible()
        assert page.evaluate("document.cookie") == ""


def test_a_removed_passkey_is_rejected(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(on_localhost(server.link()))
        page.get_by_label("Write a message").wait_for()
        add_authenticator(page)
        page.goto(on_localhost(server.address) + "/devices")
        page.get_by_role("button", name="Add passkey").click()
        page.get_by_role("button", name="Remove").click()
        expect(page.get_by_text("Passkey removed.")).to_be_visible()
        sign_out(page)
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_text("This passkey was removed", exact=False)).to_be_visible()
        expect(page.get_by_label("Code")).to_be_visible()


def test_cancelling_a_passkey_shows_no_error(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(on_localhost(server.address))
        add_authenticator(page, present=False)
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_enabled()
        expect(page.locator("[aria-invalid=true]")).to_have_count(0)


def test_passkeys_are_not_offered_on_an_ip_address(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.address)
        page.get_by_label("Code").wait_for()
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
