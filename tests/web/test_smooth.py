"""Smooth: a long past scrolls and jumps, and typing stays quick while an answer pours in."""

import sys
import threading
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.house import House, house

from everloop.app import USER, Engine
from everloop.log import Draft
from everloop.memory.limits import MemorySettings
from everloop.settings import Settings
from everloop.testing.model import Step
from everloop.thread.events import MessageImported

pytestmark = pytest.mark.xdist_group("web")

MANY = 100_000
LATELY = 20_000  # of them within the last hours, so that they stand in full
DAYS = 1_000
APPENDED = 5_000
NODES_MAX = 6_000
HEAP_MAX = 60_000_000
TOKENS = 1_600
FRAME_MS = (
    16  # a key takes no less; where it takes longer when nothing happens, the machine is busy
)
TICK_S = 0.005  # two hundred tokens in a second
LATENCY_MS = 50
LONGEST_MS = 500  # a frame of a jump, on a busy machine
SCROLLED = """(way) => new Promise((told) => {  // a finger's flick in each frame, for three seconds
  const list = document.querySelector('.history') ?? document.scrollingElement;
  const frames = [], began = performance.now();
  let last = began;
  const step = (now) => {
    frames.push(now - last);
    last = now;
    list.scrollBy(0, 120 * way);
    if (now - began < 3000) requestAnimationFrame(step);
    else told(frames.slice(1));
  };
  requestAnimationFrame(step);
})"""
BARE = """() => {
  const all = Array.from({ length: 2000 }, (_, at) => `<p>Message ${at}</p>`).join('');
  document.body.innerHTML = `<div class="history" style="height:80vh;overflow:auto">${all}</div>`;
}"""
PAINTED = """() => new Promise((told) =>
  requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(told))))"""
WATCH_KEYS = """() => {
  window.__keys = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries())
      if (e.name === 'keydown') window.__keys.push(e.duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: false });
}"""
JUMPED = """(day) => new Promise((told) => {
  const began = performance.now();
  let last = began, longest = 0;
  const step = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    const there = document.querySelector(`.history article time[datetime^="${day}"]`);
    if (there || now - began > 8_000) told({ there: !!there, took: now - began, longest });
    else requestAnimationFrame(step);
  };
  requestAnimationFrame(step);
  const calendar = document.querySelector('input[type=date]');
  calendar.value = day;
  calendar.dispatchEvent(new Event('change', { bubbles: true }));
})"""
CODE = "\n".join(
    f"    total_{line} = total_{line - 1} + {line}  # one more" for line in range(1, 60)
)
ANSWER = (
    "# A long answer\n\n"
    + "Some *words* with `code`, a [link](https://example.org) and **weight**, over and over. " * 6
    + "\n\n- first\n- second\n- third\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n"
    + f"```python\ndef total(x):\n{CODE}\n    return sum_59\n```\n\n"
)


class Tick(threading.Event):
    """A moment to wait for that comes by itself."""

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - the pace is ours
        super().wait(TICK_S)
        return True


def poured() -> list[Step]:
    """An answer of two hundred tokens in a second: Markdown, tables, long code."""
    letters = ANSWER * 8
    size = max(1, len(letters) // TOKENS)
    pieces = [letters[at : at + size] for at in range(0, len(letters), size)]
    steps: list[Step] = []
    for piece in pieces:
        steps += (piece, Tick())
    return [*steps, "\n\nThe end."]


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A home with a hundred thousand messages; visits change nothing that another one counts."""
    home = tmp_path_factory.mktemp("past") / "home"
    with Engine.open(home, settings=Settings(memory=MemorySettings(embedder="none"))) as engine:
        end = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the browser's clock is this one
        for start in range(0, MANY, APPENDED):
            drafts = [_said(number, end) for number in range(start, start + APPENDED)]
            engine.log.append("thread:home", drafts, actor=USER.actor)
    return home


def _said(number: int, end: datetime) -> Draft:
    long_ago = timedelta(days=DAYS) * (1 - number / (MANY - LATELY))
    ago = timedelta(seconds=MANY - number) if number >= MANY - LATELY else timedelta(1) + long_ago
    return Draft(
        MessageImported(
            thread_id="home",
            message_id=f"old-{number}",
            role="assistant" if number % 2 else "user",
            text=f"Message {number}. " + "Some *words* that were `said`. " * (1 + number % 5),
            said_at=(end - ago).isoformat(),
            author="",
            external_id=str(number),
            attachments=(),
        )
    )


def told(said: pytest.CaptureFixture[str], words: str) -> None:
    with said.disabled():
        sys.stdout.write(f"\n{words}\n")


def smoothness(frames: list[float]) -> tuple[int, float]:
    """How many frames there were, and how long all but the slowest twentieth took at most."""
    return len(frames), sorted(frames)[int(len(frames) * 0.95)]


def held(page: Page) -> tuple[int, int]:
    """How many nodes a page has, and how many bytes its scripts hold."""
    browser: Any = page.context.new_cdp_session(page)
    browser.send("HeapProfiler.collectGarbage")
    browser.send("Performance.enable")
    found = {one["name"]: one["value"] for one in browser.send("Performance.getMetrics")["metrics"]}
    return page.locator("*").count(), int(found["JSHeapUsedSize"])


def bare_frames(visit: Visit, home: House) -> list[float]:
    """What this machine gives a page that does nothing but scroll."""
    bare = visit(f"{home.address}/icon.svg")
    bare.goto("about:blank")
    bare.evaluate(BARE)
    frames: list[float] = bare.evaluate(SCROLLED, 1)
    bare.close()
    return frames


def test_a_hundred_thousand_messages_scroll_and_jump_smoothly(
    past: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(past) as home:
        possible, quick = smoothness(bare_frames(visit, home))
        page = visit(home.link())
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()
        _, before = held(page)
        up, slow = smoothness(page.evaluate(SCROLLED, -1))
        down, _ = smoothness(page.evaluate(SCROLLED, 1))
        nodes, heap = held(page)
        told(
            capsys,
            f"{size}: {up} and {down} frames in 3 s of scrolling ({possible} on a bare page),"
            f" 95 % within {slow:.0f} ms ({quick:.0f}); {nodes} nodes, {heap / 1e6:.1f} MB of heap"
            f" ({before / 1e6:.1f} before)",
        )
        assert min(up, down) >= possible * 0.5
        assert nodes < NODES_MAX
        assert heap < HEAP_MAX


def test_a_jump_to_a_day_long_ago_keeps_moving(
    past: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(past) as home:
        page = visit(home.link())
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()
        day = page.evaluate("new Date(Date.now() - 500 * 86400000).toISOString().slice(0, 10)")
        jumped = page.evaluate(JUMPED, day)
        nodes, heap = held(page)
        told(
            capsys,
            f"{size}: jumped 500 days back in {jumped['took']:.0f} ms, longest frame"
            f" {jumped['longest']:.0f} ms; {nodes} nodes, {heap / 1e6:.1f} MB of heap",
        )
        assert jumped["there"]
        assert jumped["longest"] <= LONGEST_MS
        assert nodes < NODES_MAX
        assert heap < HEAP_MAX


def keyed(page: Page, letters: str) -> list[float]:
    """How long each key took until its letter was painted, as the browser tells it."""
    page.evaluate("window.__keys = []")
    page.get_by_label("Write a message").press_sequentially(letters, delay=40)
    page.evaluate(PAINTED)
    slow: list[float] = page.evaluate("window.__keys")
    quick = [float(FRAME_MS)] * (len(letters) - len(slow))  # those it does not tell of
    return sorted(quick + slow)


def test_typing_stays_quick_while_an_answer_pours_in(
    tmp_path: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(tmp_path, [poured()]) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").wait_for()
        page.evaluate(WATCH_KEYS)
        calm = keyed(page, "what is typed while nothing happens at all, to compare ")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator("[data-coming]")).to_contain_text("A long answer")
        busy = keyed(
            page, "what is typed while two hundred tokens a second pour in, as fast as one can " * 2
        )
        still = page.locator("[data-coming]").count()
        expect(page.locator("[data-role=assistant]")).to_contain_text("The end.")
        expect(page.locator("[data-role=assistant] .fence")).to_have_count(8)
    usual, slow = calm[int(len(calm) * 0.95)], busy[int(len(busy) * 0.95)]
    told(
        capsys,
        f"{size}: a key is painted within {slow:.0f} ms (95 %), {busy[-1]:.0f} at most, at 200"
        f" tokens/s; {usual:.0f} and {calm[-1]:.0f} without",
    )
    assert still == 1, "it still came when the last key was pressed"
    assert slow <= LATENCY_MS * max(1.0, usual / FRAME_MS)
