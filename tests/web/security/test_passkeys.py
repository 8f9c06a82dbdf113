"""Passkeys: made on a signed-in device, and then a way in without a code."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.servers import house

pytestmark = pytest.mark.xdist_group("web")

AUTHENTICATOR = {
    "protocol": "ctap2",
    "transport": "internal",
    "hasResidentKey": True,
    "hasUserVerification": True,
    "isUserVerified": True,
    "automaticPresenceSimulation": True,
}


def by_name(address: str) -> str:
    """The same place by its name: a passkey is kept under one."""
    return address.replace("127.0.0.1", "localhost")


def with_finger(page: Page, *, present: bool = True) -> None:
    """Give the browser a finger, or one that is never laid on."""
    browser: Any = page.context.new_cdp_session(page)
    browser.send("WebAuthn.enable")
    options = {**AUTHENTICATOR, "isUserVerified": present}
    browser.send("WebAuthn.addVirtualAuthenticator", {"options": options})


def sign_out(page: Page) -> None:
    page.get_by_label("What can be done with", exact=False).first.click()
    page.get_by_role("menuitem", name="Sign out").click()
    page.get_by_role("dialog").get_by_role("button", name="Sign out").click()
    expect(page.get_by_label("Code")).to_be_visible()


def test_a_passkey_signs_in_where_a_code_did_before(
    tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with house(tmp_path) as home:
        page = visit(by_name(home.link()))
        page.get_by_label("Write a message").wait_for()
        with_finger(page)
        page.goto(by_name(home.address) + "/devices")
        page.get_by_role("button", name="Add a passkey").click()
        expect(page.get_by_text("The passkey is kept.", exact=False)).to_be_visible()
        expect(page.get_by_text("For localhost, since", exact=False)).to_be_visible()
        shot(page, "devices-passkey")
        sign_out(page)
        shot(page, "door-passkey")
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("heading", name="Devices")).to_be_visible()
        expect(page.get_by_text("with a passkey", exact=False)).to_be_visible()
        assert page.evaluate("document.cookie") == ""


def test_a_passkey_that_was_removed_opens_nothing(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(by_name(home.link()))
        page.get_by_label("Write a message").wait_for()
        with_finger(page)
        page.goto(by_name(home.address) + "/devices")
        page.get_by_role("button", name="Add a passkey").click()
        page.get_by_role("button", name="Remove").click()
        expect(page.get_by_text("The passkey opens nothing any more.")).to_be_visible()
        sign_out(page)
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_text("this passkey is not accepted", exact=False)).to_be_visible()
        expect(page.get_by_label("Code")).to_be_visible()


def test_breaking_it_off_is_no_trouble(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(by_name(home.address))
        with_finger(page, present=False)
        page.get_by_role("button", name="Sign in with a passkey").click()
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_be_enabled()
        expect(page.locator("[aria-invalid=true]")).to_have_count(0)


def test_where_no_passkey_can_be_none_is_offered(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(home.address)
        page.get_by_label("Code").wait_for()
        expect(page.get_by_role("button", name="Sign in with a passkey")).to_have_count(0)
