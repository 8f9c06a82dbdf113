"""What a first visit costs: bytes of script and style, and time on a slow phone."""

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page
from tests.web.conftest import Visit
from tests.web.house import House, house

from everloop.interfaces.http.pages import built

pytestmark = pytest.mark.xdist_group("web")

BYTES_MAX = 200_000
SLOWDOWN = 4
READY_MS = 1_000
TRIES = 3
WORK_MS = 150  # what WORK takes on a slow phone when nothing else runs on the machine
WORK = """() => {
  const began = performance.now();
  let sum = 0;
  for (let at = 0; at < 3e7; at++) sum += at;
  return sum ? performance.now() - began : 0;
}"""
ASKED = """() => performance.getEntriesByType('resource')
  .map((one) => one.name).filter((name) => name.includes('/api/'))"""


def test_a_first_visit_takes_at_most_200_kilobytes(
    tmp_path: Path, visit: Visit, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(tmp_path, ["Hello."]) as home:
        page = visit(home.link(), service_workers="block")
        page.get_by_label("Write a message").wait_for()
        page.get_by_label("Write a message").fill("Hello")
        page.get_by_role("button", name="Send", exact=True).click()
        page.locator("[data-role=assistant]").wait_for()
        names = page.evaluate("performance.getEntriesByType('resource').map(e => e.name)")
    files = [name for name in names if re.search(r"\.(js|css)$", name)]
    total = sum(_packed(name.removeprefix(home.address)) for name in files)
    with capsys.disabled():
        sys.stdout.write(f"\nfirst visit: {total:,} bytes in {len(files)} files\n")
    assert 0 < total <= BYTES_MAX
    assert all(name.startswith(home.address) for name in names)


def started(page: Page, home: House) -> tuple[float, float]:
    """How long a start takes on a slow phone, and how long a fixed piece of work takes there."""
    slow: Any = page.context.new_cdp_session(page)
    slow.send("Emulation.setCPUThrottlingRate", {"rate": SLOWDOWN})
    worked = float(page.evaluate(WORK))
    page.goto(home.address)
    page.get_by_label("Write a message").wait_for()
    page.wait_for_function("() => performance.getEntriesByName('everloop-ready').length > 0")
    took = page.evaluate("performance.getEntriesByName('everloop-ready')[0].startTime")
    return float(took), worked


def test_a_slow_phone_can_write_within_a_second(
    tmp_path: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    if size == "desktop":
        pytest.skip("the slow one is the phone")
    with house(tmp_path, ["# Hello\n\nIt *begins*."]) as home:
        first = visit(home.link())
        first.get_by_label("Write a message").fill("Hello")
        first.get_by_role("button", name="Send", exact=True).click()
        first.locator("[data-role=assistant]").wait_for()
        first.wait_for_function("() => navigator.serviceWorker.controller !== null")
        first.goto("about:blank")
        tries = [started(first.context.new_page(), home) for _ in range(TRIES)]
        asked = first.context.pages[-1].evaluate(ASKED)
    took, worked = min(tries)
    busy = max(1.0, worked / WORK_MS)
    with capsys.disabled():
        figures = ", ".join(f"{one:.0f}" for one, _ in tries)
        sys.stdout.write(f"\nready on a slow phone: {figures} ms (the machine: {busy:.1f})\n")
    assert took <= READY_MS * busy
    assert len(asked) == len(set(asked)), "nothing is asked twice at the start"


def test_the_description_of_the_door_is_up_to_date(tmp_path: Path) -> None:
    made = tmp_path / "openapi.json"
    script = (
        "import sys; sys.path.insert(0, 'web'); import openapi; print(openapi.described(), end='')"
    )
    told = subprocess.run(  # noqa: S603 - our own script
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    made.write_text(told.stdout)
    kept = Path("web/openapi.json").read_text()
    assert json.loads(made.read_text()) == json.loads(kept), "run `make api`"


def _packed(name: str) -> int:
    """How many bytes of a file are sent: the packed copy beside it, if there is one."""
    folder = built()
    assert folder is not None
    file = folder / name.lstrip("/")
    packed = file.with_name(f"{file.name}.br")
    return packed.stat().st_size if packed.is_file() else len(gzip.compress(file.read_bytes()))
