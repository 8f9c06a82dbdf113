"""Offline start: the page loads from the service worker and recovers with the server."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

pytestmark = pytest.mark.xdist_group("web")

KEPT = """async () => {  // all that the page was made of is in the worker's hands
  const made = () => performance.getEntriesByType('resource').map((one) => one.name)
    .filter((name) => name.includes('/_app/immutable/'));
  const missing = async () => !navigator.serviceWorker.controller
    || (await Promise.all(made().map((name) => caches.match(name)))).some((one) => !one);
  while (await missing()) await new Promise(requestAnimationFrame);
}"""


STORED = """async () => {  // all that this browser keeps for use without a connection
  const names = (await indexedDB.databases()).map((one) => one.name);
  const read = (name) => new Promise((done) => {
    const opening = indexedDB.open(name);
    opening.onsuccess = () => {
      const stores = [...opening.result.objectStoreNames];
      if (!stores.length) return done('');
      const reading = opening.result.transaction(stores[0]).objectStore(stores[0]).getAll();
      reading.onsuccess = () => { opening.result.close(); done(JSON.stringify(reading.result)); };
    };
  });
  const kept = (await Promise.all(names.map(read))).join('');
  return kept + JSON.stringify(Object.entries(localStorage));
}"""


def wait_until_stored(page: Page, text: str) -> None:
    while text not in page.evaluate(STORED):
        page.wait_for_timeout(50)


@pytest.mark.promise("P-OFFLINE-1")
def test_without_a_connection_messages_are_readable_and_a_written_one_is_sent_once_later(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path, ["Herons wait."]) as server:
        page = visit(server.link())
        say(page, "What do herons do?")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Herons wait.")
        wait_until_stored(page, "Herons wait.")
        if not page.get_by_role("link", name="Memory").count():
            page.get_by_role("button", name="More").click()
        page.get_by_role("link", name="Memory").first.click()  # a page that was used is kept
        expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
        page.go_back()
        page.evaluate(KEPT)
    page.reload()
    expect(page.locator("[data-role=assistant]")).to_contain_text("Herons wait.")
    expect(page.get_by_text("No connection to Everloop.")).to_be_visible()
    say(page, "And in winter?")
    unsent = page.locator("[data-unsent]")
    expect(unsent).to_contain_text("It will be sent when you are back online.")
    screenshot(page, "offline")
    page.reload()
    expect(unsent).to_contain_text("And in winter?")
    page.goto(f"{server.address}/memory")  # it is sent from any page
    expect(page.get_by_role("heading", name="Memory", level=1)).to_be_visible()
    with start_server(tmp_path, ["They fly south."], port=server.port) as again:
        expect(page.get_by_text("No connection to Everloop.")).to_have_count(0)
        page.get_by_role("link", name="Thread").first.click()
        expect(page.locator("[data-role=assistant]").last).to_contain_text("They fly south.")
        expect(unsent).to_have_count(0)
        page.reload()
        expect(page.locator("[data-role=user]")).to_have_count(2)
        assert [one.kind for one in again.engine.log.records()].count("thread.message_sent") == 2


@pytest.mark.promise("P-OFFLINE-2")
def test_signing_out_erases_drafts_and_messages_from_the_browser(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path, ["Herons wait."]) as server:
        page = visit(server.link())
        say(page, "A secret question")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Herons wait.")
        page.get_by_label("Write a message").fill("A secret draft")
        wait_until_stored(page, "Herons wait.")
        assert "A secret draft" in page.evaluate(STORED)
        page.goto(f"{server.address}/devices")
        page.get_by_role("button", name="Actions for").first.click()
        page.get_by_role("menuitem", name="Sign out").click()
        page.get_by_role("button", name="Sign out").click()
        expect(page.get_by_label("Code")).to_be_visible()
        while "Herons" in (left := page.evaluate(STORED)):
            page.wait_for_timeout(50)
        assert "secret" not in left


@pytest.mark.promise("P-OFFLINE-1")
def test_an_unsent_message_survives_being_signed_out_by_the_server(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path, ["Hello again."]) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.route("**/api/threads/*/messages", lambda route: route.abort())
        say(page, "Keep this one.")
        wait_until_stored(page, "Keep this one.")
        page.context.clear_cookies()  # as if the device had expired: every request gets 401
        page.unroute("**/api/threads/*/messages")
        page.reload()
        expect(page.get_by_label("Code")).to_be_visible()
        assert "Keep this one." not in page.locator("body").inner_text()
        page.goto(server.link())
        expect(page.locator("[data-role=user]")).to_contain_text("Keep this one.")
        expect(page.locator("[data-role=assistant]")).to_contain_text("Hello again.")
        assert [one.kind for one in server.engine.log.records()].count("thread.message_sent") == 1


def test_a_service_worker_that_cannot_be_registered_shows_no_error(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.context.add_init_script(
            "navigator.serviceWorker.register = () => {"
            " window.tried = true; return Promise.reject(new TypeError('no connection')); }"
        )
        page.reload()
        page.wait_for_function("() => window.tried")
        expect(page.get_by_label("Write a message")).to_be_visible()
        expect(page.locator("[role=alert]")).to_have_count(0)


def test_the_page_can_be_installed(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.wait_for_function("() => navigator.serviceWorker.controller !== null")
        browser: Any = page.context.new_cdp_session(page)
        found = browser.send("Page.getInstallabilityErrors")["installabilityErrors"]
        kept = {one["errorId"] for one in found} - {"in-incognito"}  # every test context is
        assert kept == set()
        manifest = browser.send("Page.getAppManifest")
        assert manifest["errors"] == []


def test_a_file_that_is_attached_without_a_connection_is_not_promised(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        page.context.set_offline(True)
        picture = Path("web/static/icon-192.png")
        page.locator("input[data-from=files]").set_input_files(picture)
        alert = page.get_by_role("alert")
        expect(alert).to_contain_text("icon-192.png is not attached")
        expect(alert).to_contain_text("Attach it again when you are back online.")
        page.context.set_offline(False)
