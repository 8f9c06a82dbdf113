"""Performance budget: bytes of a first visit, and start time on a slow phone."""

import gzip
import json
import re
import subprocess
import sys
from collections.abc import Callable, Generator, Iterable
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from statistics import median
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect
from tests.web.conftest import SIZES, Visit
from tests.web.cpu_trace import trace_cpu
from tests.web.servers import start_server

from everloop.interfaces.http.static_files import find_build
from everloop.settings import ServeSettings

pytestmark = pytest.mark.xdist_group("web")

BYTES_MAX = 200_000
SLOWDOWN = 4
READY_MS = 1_000
STARTS, STARTS_SOAKING = 1, 7
READY = "everloop-ready"
REPORT_READY = f"""new PerformanceObserver((list) => {{  // polling would slow the page down
  if (list.getEntriesByName('{READY}').length) console.debug('{READY}');
}}).observe({{ type: 'mark', buffered: true }})"""
API_REQUESTS = """() => performance.getEntriesByType('resource')
  .map((one) => one.name).filter((name) => name.includes('/api/'))"""


def test_a_first_visit_loads_at_most_200_kilobytes(
    tmp_path: Path, visit: Visit, capsys: pytest.CaptureFixture[str]
) -> None:
    with start_server(tmp_path, ["Hello."]) as server:
        page = visit(server.link(), service_workers="block")
        send_hello(page)
        names = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    files = [name for name in names if re.search(r"\.(js|css)$", name)]
    total = sum(_packed(name.removeprefix(server.address)) for name in files)
    with capsys.disabled():
        sys.stdout.write(f"\nfirst visit: {total:,} bytes in {len(files)} files\n")
    assert 0 < total <= BYTES_MAX
    assert all(name.startswith(server.address) for name in names)


def started(context: BrowserContext, address: str, slowdown: int) -> float:
    """The start time of the page at a CPU slowdown."""
    page = context.new_page()
    page.add_init_script(REPORT_READY)
    slow: Any = context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": slowdown})
    with page.expect_console_message(lambda said: said.text == READY):
        page.goto(address, wait_until="commit")
    expect(page.get_by_label("Write a message")).to_be_editable()
    requests = page.evaluate(API_REQUESTS)
    took = page.evaluate(f"performance.getEntriesByName('{READY}')[0].startTime")
    page.close()
    assert len(requests) == len(set(requests)), "no request is sent twice at the start"
    return float(took)


@contextmanager
def new_phone(browser: Browser) -> Generator[BrowserContext]:
    """A new browser context, as of a new phone."""
    context = browser.new_context(**SIZES["phone"])
    yield context
    context.close()


class Starts:
    """Start times on a slow phone, printed as CPU time; soak tests also check them.

    Times depend on what else the machine does, so `make test` prints and does not check them.
    """

    def __init__(self, soaking: bool) -> None:
        self._soaking = soaking
        self._own, self._walls = list[float](), list[float]()

    def take(self, laptop: Page, start: Callable[[int], float]) -> None:
        """Measure several starts."""
        for _ in range(STARTS_SOAKING if self._soaking else STARTS):
            with trace_cpu(laptop) as work:
                start(1)
            self._own.append(work.until(READY) * SLOWDOWN)
            if self._soaking:
                self._walls.append(start(SLOWDOWN))

    def show(self, capsys: pytest.CaptureFixture[str]) -> None:
        """Print the start times; a soak test checks them."""
        with capsys.disabled():
            sys.stdout.write(f"\nready on a slow phone, ms of CPU by four: {_list(self._own)}\n")
            if self._walls:
                sys.stdout.write(f"the same by the clock: {_list(self._walls)}\n")
        if self._soaking:
            assert median(self._own) <= READY_MS
            assert median(self._walls) <= READY_MS


def _list(figures: Iterable[float]) -> str:
    return ", ".join(f"{figure:.0f}" for figure in figures)


def test_a_slow_phone_is_ready_within_a_second(
    tmp_path: Path, visit: Visit, size: str, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    if size == "desktop":
        pytest.skip("only for phones")
    starts = Starts(soaking)
    with start_server(tmp_path, ["# Hello\n\nIt *begins*."]) as server:
        first = visit(server.link())
        send_hello(first)
        first.wait_for_function("() => navigator.serviceWorker.controller !== null")
        first.goto("about:blank")
        starts.take(first, partial(started, first.context, server.address))
    starts.show(capsys)


@pytest.mark.parametrize("thread", ["an empty thread", "a thread with messages"])
def test_a_slow_new_phone_is_ready_within_a_second_of_opening_its_link(
    tmp_path: Path,
    visit: Visit,
    size: str,
    soaking: bool,
    thread: str,
    capsys: pytest.CaptureFixture[str],
) -> None:
    if size == "desktop":
        pytest.skip("only for phones")
    starts = Starts(soaking)
    often = ServeSettings(tries_max=100)  # many sign-ins within a minute
    with start_server(tmp_path, ["# Hello\n\nIt *begins*."], serve=often) as server:
        laptop = visit(server.link())
        if thread == "a thread with messages":
            send_hello(laptop)
        laptop.goto("about:blank")
        browser = laptop.context.browser
        assert browser is not None

        def first_start(slowdown: int) -> float:
            with new_phone(browser) as phone:
                return started(phone, server.link(), slowdown)

        starts.take(laptop, first_start)
    starts.show(capsys)


def send_hello(page: Page) -> None:
    """Send a message and wait for its answer."""
    page.get_by_label("Write a message").fill("Hello")
    page.get_by_role("button", name="Send", exact=True).click()
    page.locator("[data-role=assistant]").wait_for()


def test_navigation_does_not_reload_the_page(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Hello."]) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.evaluate("window.__same = true")
        for name in ("Inbox", "Tasks", "Worlds"):
            page.get_by_role("link", name=name, exact=True).first.click()
            page.get_by_role("heading", name=name, level=1).wait_for()
        page.go_back()
        page.get_by_role("heading", name="Tasks", level=1).wait_for()
        assert page.evaluate("window.__same") is True


def test_the_openapi_description_is_up_to_date(tmp_path: Path) -> None:
    made = tmp_path / "openapi.json"
    script = (
        "import sys; sys.path.insert(0, 'web'); import openapi; print(openapi.described(), end='')"
    )
    generated = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    made.write_text(generated.stdout)
    kept = Path("web/openapi.json").read_text()
    assert json.loads(made.read_text()) == json.loads(kept), "run `make api`"


def _packed(name: str) -> int:
    """The transferred size of a file: of its compressed copy, if there is one."""
    folder = find_build()
    assert folder is not None
    file = folder / name.lstrip("/")
    packed = file.with_name(f"{file.name}.br")
    return packed.stat().st_size if packed.is_file() else len(gzip.compress(file.read_bytes()))
