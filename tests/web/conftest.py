"""Fixtures for browser tests: Debian's chromium, as a phone with touch and as a desktop."""

import inspect
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from everloop.adapters.system import system_ports
from everloop.demo.load import load_demo
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings

SIZES: dict[str, dict[str, Any]] = {
    "phone": {
        "viewport": {"width": 390, "height": 844},
        "has_touch": True,
        "is_mobile": True,
        "device_scale_factor": 2,
    },
    "desktop": {"viewport": {"width": 1440, "height": 900}},
}
SCREENSHOTS = Path("build/screens")
LOCK_WAIT_S = 10
FLAGS = (
    "--no-sandbox",
    # The address bar's own pages cost more than the tested ones. This list replaces Playwright's,
    # so the important part of that one is repeated.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,AimEnabled,PaintHolding,"
    "OptimizationHints,MediaRouter,LensOverlay,HttpsUpgrades,ThirdPartyStoragePartitioning",
)
BOTH_SIZES = frozenset(  # and both colour schemes, in `make test`
    {
        "test_every_page_fits_and_is_accessible_in_light_and_dark_mode",
        "test_from_a_link_to_the_answer_of_a_connected_model",
        "test_axe_finds_no_serious_violations",
    }
)
WAIT_MS = 30_000  # a busy machine is slow, not wrong

Visit = Callable[..., Page]
Screenshot = Callable[[Page, str], None]


expect.set_options(timeout=WAIT_MS)


@pytest.hookimpl(tryfirst=True)  # before those marked `soak` are left out
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Rerun failed browser tests: on a busy machine they can time out.

    A real failure fails every time. `make test` runs most tests on a phone in light mode only;
    `make soak` runs the rest: the same steps on a desktop and in dark mode.
    """
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.flaky(reruns=2))
            if isinstance(item, pytest.Function) and _is_repetition(item):
                item.add_marker(pytest.mark.soak)


def _is_repetition(item: pytest.Function) -> bool:
    """Whether a test repeats, on a desktop or in dark mode, what another run shows."""
    callspec = getattr(item, "callspec", None)
    if callspec is None or item.originalname in BOTH_SIZES:
        return False
    if callspec.params.get("dark"):
        return True
    test = cast("Callable[..., object]", item.obj)
    differs = "size" in inspect.signature(test).parameters  # in steps, by size
    return callspec.params.get("size") == "desktop" and not differs


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all tests."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def demo_home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with a year of demo data. Serve a copy of it: `start_demo_server`."""
    home = tmp_path_factory.mktemp("year") / "home"
    load_demo(home, Settings(memory=MemorySettings(embedder="none")), system_ports(LOCK_WAIT_S))
    return home


@pytest.fixture(params=list(SIZES))
def size(request: pytest.FixtureRequest) -> str:
    """Phone or desktop."""
    return str(request.param)


@pytest.fixture
def visit(browser: Browser, size: str) -> Iterator[Visit]:
    """Open an address in a browser context of its own. Errors on the page fail the test."""
    opened: list[tuple[Any, list[str]]] = []

    def open_address(address: str, *, dark: bool = False, **options: Any) -> Page:
        scheme = "dark" if dark else "light"
        defaults: dict[str, Any] = {"color_scheme": scheme, "locale": "en-GB", **SIZES[size]}
        context = browser.new_context(**{**defaults, **options})
        context.set_default_timeout(WAIT_MS)
        page, errors = context.new_page(), list[str]()
        page.on("pageerror", lambda error: errors.append(str(error)))
        page.on("console", lambda message: _record_error(errors, message))
        opened.append((context, errors))
        page.goto(address)
        return page

    yield open_address
    errors = [error for _, found in opened for error in found]
    for context, _ in opened:
        context.close()
    assert not errors


@pytest.fixture
def screenshot(size: str) -> Screenshot:
    """Save a screenshot of a page for review, if `SCREENSHOTS=1` asks for them."""
    wanted = os.environ.get("SCREENSHOTS")  # noqa: TID251 - they take minutes in all
    SCREENSHOTS.mkdir(parents=True, exist_ok=True)

    def take(page: Page, name: str) -> None:
        if not wanted:
            return
        page.screenshot(path=SCREENSHOTS / f"{name}-{size}.png", animations="disabled")

    return take


def _record_error(errors: list[str], message: Any) -> None:
    # Failed requests and unknown addresses are reported on the page itself.
    expected = ("Failed to load resource", "net::ERR_", "Not found: /nowhere")
    if message.type == "error" and not any(words in message.text for words in expected):
        errors.append(message.text)
