"""A browser for the journeys: Debian's chromium, as a phone with touch and as a laptop."""

import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from everloop.adapters.system import system_world
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
SCREENS = Path("build/screens")
LOCK_WAIT_S = 10
FLAGS = (
    "--no-sandbox",
    # The address bar's own pages, two for each of ours, cost more than ours. A second list takes
    # the place of Playwright's, so what matters of that is said again.
    "--disable-features=WebUIOmniboxPopup,WebUIOmniboxAimPopup,AimEnabled,PaintHolding,"
    "OptimizationHints,MediaRouter,LensOverlay,HttpsUpgrades,ThirdPartyStoragePartitioning",
)
WAIT_MS = 30_000  # a busy machine is slow, not wrong

Visit = Callable[..., Page]
Shot = Callable[[Page, str], None]


expect.set_options(timeout=WAIT_MS / 2)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Try a journey again that failed: two processors, a browser and other tests can be too much.

    What fails for a reason fails each time.
    """
    for item in items:
        if Path(item.path).is_relative_to(Path(__file__).parent):
            item.add_marker(pytest.mark.flaky(reruns=2))


@pytest.fixture(scope="session")
def browser() -> Iterator[Browser]:
    """One browser for all journeys."""
    found = shutil.which("chromium")
    if found is None:
        pytest.skip("no chromium on this machine")
    with sync_playwright() as playwright:
        started = playwright.chromium.launch(executable_path=found, args=FLAGS)
        yield started
        started.close()


@pytest.fixture(scope="session")
def year(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a year in it. Visit a copy: `demo_house`."""
    home = tmp_path_factory.mktemp("year") / "home"
    load_demo(home, Settings(memory=MemorySettings(embedder="none")), system_world(LOCK_WAIT_S))
    return home


@pytest.fixture(params=list(SIZES))
def size(request: pytest.FixtureRequest) -> str:
    """Phone or desktop."""
    return str(request.param)


@pytest.fixture
def visit(browser: Browser, size: str) -> Iterator[Visit]:
    """Open an address on a device of its own. What a page throws or refuses fails the test."""
    opened: list[tuple[Any, list[str]]] = []

    def visiting(address: str, *, dark: bool = False, **options: Any) -> Page:
        scheme = "dark" if dark else "light"
        asked: dict[str, Any] = {"color_scheme": scheme, "locale": "en-GB", **SIZES[size]}
        context = browser.new_context(**{**asked, **options})
        context.set_default_timeout(WAIT_MS)
        page, troubles = context.new_page(), list[str]()
        page.on("pageerror", lambda error: troubles.append(str(error)))
        page.on("console", lambda said: _note(troubles, said))
        opened.append((context, troubles))
        page.goto(address)
        return page

    yield visiting
    troubles = [trouble for _, found in opened for trouble in found]
    for context, _ in opened:
        context.close()
    assert not troubles


@pytest.fixture
def shot(size: str) -> Shot:
    """Keep a picture of a page, to be looked at."""
    SCREENS.mkdir(parents=True, exist_ok=True)

    def shooting(page: Page, name: str) -> None:
        page.screenshot(path=SCREENS / f"{name}-{size}.png", animations="disabled")

    return shooting


def _note(troubles: list[str], said: Any) -> None:
    # A refused request and an address that leads nowhere say so on the page.
    expected = ("Failed to load resource", "net::ERR_", "Not found: /nowhere")
    if said.type == "error" and not any(words in said.text for words in expected):
        troubles.append(said.text)
