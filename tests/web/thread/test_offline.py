"""Offline start: the page loads from the service worker and recovers with the server."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.servers import start_server

pytestmark = pytest.mark.xdist_group("web")

KEPT = """async () => {  // all that the page was made of is in the worker's hands
  const made = () => performance.getEntriesByType('resource').map((one) => one.name)
    .filter((name) => name.includes('/_app/immutable/'));
  const missing = async () => !navigator.serviceWorker.controller
    || (await Promise.all(made().map((name) => caches.match(name)))).some((one) => !one);
  while (await missing()) await new Promise(requestAnimationFrame);
}"""


def test_the_page_starts_offline_and_recovers_when_the_server_is_back(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path, ["Kept."]) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.evaluate(KEPT)
    page.reload()
    expect(page.get_by_role("heading", name="Can\u2019t reach Everloop")).to_be_visible()
    with start_server(tmp_path, port=server.port):
        expect(page.get_by_label("Write a message")).to_be_visible()


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
