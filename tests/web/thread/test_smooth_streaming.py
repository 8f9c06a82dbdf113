"""Performance of the thread page: scrolling, jumping, and typing while an answer streams in.

Times need an otherwise idle machine, so only `make soak` runs these.
"""

import sys
import threading
import time
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Visit
from tests.web.cpu_trace import percentile, trace_cpu
from tests.web.imported_messages import import_messages, imported_message
from tests.web.servers import Server, start_server

from everloop.ports import Finish, Params, Prompt, Usage
from everloop.testing.model import ScriptedStream, Step
from everloop.thread.model.events import MessageImported

pytestmark = [pytest.mark.xdist_group("web"), pytest.mark.soak]

MANY = 100_000
RECENT = 20_000  # of them within the last hours, so that they stand in full
DAYS = 1_000
NODES_MAX = 6_000
HEAP_MAX = 60_000_000
FRAME_MS = (
    16  # a key takes no less; where it takes longer when nothing happens, the machine is busy
)
TOKEN_S = 0.005  # two hundred tokens in a second
LATENCY_MS = 50
LONGEST_MS = 150  # of CPU: what keeps one from hearing a finger
FREEZE_MS = 500  # a frame of a jump, on the wall
SCROLL = """(direction) => new Promise((resolve) => {  // scroll in every frame, for three seconds
  const list = document.querySelector('.history') ?? document.scrollingElement;
  const frames = [], began = performance.now();
  let last = began;
  const step = (now) => {
    frames.push(now - last);
    last = now;
    list.scrollBy(0, 120 * direction);
    if (now - began < 3000) requestAnimationFrame(step);
    else resolve(frames.slice(1));
  };
  requestAnimationFrame(step);
})"""
BARE_PAGE = """() => {
  const all = Array.from({ length: 2000 }, (_, at) => `<p>Message ${at}</p>`).join('');
  document.body.innerHTML = `<div class="history" style="height:80vh;overflow:auto">${all}</div>`;
}"""
WAIT_FOR_PAINT = """() => new Promise((resolve) =>
  requestAnimationFrame(() => requestAnimationFrame(() => requestIdleCallback(resolve))))"""
WATCH_KEYS = """() => {
  window.__keys = [];
  new PerformanceObserver((list) => {
    for (const e of list.getEntries())
      if (e.name === 'keydown') window.__keys.push(e.duration);
  }).observe({ type: 'event', durationThreshold: 16, buffered: false });
}"""
JUMP = """(day) => new Promise((resolve) => {
  const began = performance.now();
  let last = began, longest = 0;
  const step = (now) => {
    longest = Math.max(longest, now - last);
    last = now;
    const there = document.querySelector(`.history article time[datetime^="${day}"]`);
    if (there || now - began > 60_000) resolve({ there: !!there, took: now - began, longest });
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
PIECE = 15  # letters of a token, to be above what models give
PIECES = [ANSWER[at : at + PIECE] for at in range(0, len(ANSWER), PIECE)]


class FastModel:
    """A model that streams two hundred tokens per second until it is stopped.

    After a delay it catches up: a busy machine gets as many tokens, in larger chunks.
    """

    name = "pouring"

    def __init__(self) -> None:
        self.enough = threading.Event()
        self.rounds = 0

    def generate(self, prompt: Prompt, params: Params) -> ScriptedStream:  # noqa: ARG002 - always the same
        """Stream Markdown, tables and long code, repeatedly."""
        return ScriptedStream(self._steps())

    def _steps(self) -> Iterator[Step]:
        due = time.monotonic()
        while not self.enough.is_set():
            self.rounds += 1
            for piece in PIECES:
                due += TOKEN_S
                yield piece
                yield TimedEvent(due)
        yield from ("The end.", Usage(self.name, tokens_in=1, tokens_out=1), Finish("stop"))


class TimedEvent(threading.Event):
    """An event that is set at a given time."""

    def __init__(self, due: float) -> None:
        super().__init__()
        self._due = due

    def wait(self, timeout: float | None = None) -> bool:  # noqa: ARG002 - it is known how long
        super().wait(max(0.0, self._due - time.monotonic()))
        return True


@pytest.fixture(scope="module")
def past(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data home with a hundred thousand messages; the tests do not change it."""
    home = tmp_path_factory.mktemp("past") / "home"
    with start_server(home) as opened:
        end = datetime.now(UTC).replace(microsecond=0)  # noqa: TID251 - the browser's clock is this one
        import_messages(opened.engine, [_said(number, end) for number in range(MANY)])
    return home


def _said(number: int, end: datetime) -> MessageImported:
    long_ago = timedelta(days=DAYS) * (1 - number / (MANY - RECENT))
    ago = timedelta(seconds=MANY - number) if number >= MANY - RECENT else timedelta(1) + long_ago
    return imported_message(number, "Some *words* that were `said`. ", end - ago)


def log_line(said: pytest.CaptureFixture[str], words: str) -> None:
    with said.disabled():
        sys.stdout.write(f"\n{words}\n")


def frame_stats(frames: list[float]) -> tuple[int, float]:
    """The number of frames, and the 95th percentile of their durations."""
    return len(frames), sorted(frames)[int(len(frames) * 0.95)]


def memory_use(page: Page) -> tuple[int, int]:
    """The number of DOM nodes, and the size of the JavaScript heap."""
    browser: Any = page.context.new_cdp_session(page)
    browser.send("HeapProfiler.collectGarbage")
    browser.send("Performance.enable")
    found = {one["name"]: one["value"] for one in browser.send("Performance.getMetrics")["metrics"]}
    return page.locator("*").count(), int(found["JSHeapUsedSize"])


def baseline_frames(visit: Visit, server: Server) -> list[float]:
    """Frame durations of a bare page that only scrolls, as a baseline."""
    bare = visit(f"{server.address}/icon.svg")
    bare.goto("about:blank")
    bare.evaluate(BARE_PAGE)
    frames: list[float] = bare.evaluate(SCROLL, 1)
    bare.close()
    return frames


def test_a_hundred_thousand_messages_scroll_smoothly(
    past: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with start_server(past) as server:
        possible, quick = frame_stats(baseline_frames(visit, server))
        page = visit(server.link())
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()
        _, before = memory_use(page)
        with trace_cpu(page) as work:
            up, slow = frame_stats(page.evaluate(SCROLL, -1))
            down, _ = frame_stats(page.evaluate(SCROLL, 1))
        nodes, heap = memory_use(page)
        log_line(
            capsys,
            f"{size}: a frame costs {work.frame:.1f} ms of CPU, the longest task"
            f" {work.tasks[-1]:.0f}; {up} and {down} frames in 3 s of scrolling ({possible} on a"
            f" bare page), 95 % within {slow:.0f} ms ({quick:.0f}); {nodes} nodes,"
            f" {heap / 1e6:.1f} MB of heap ({before / 1e6:.1f} before)",
        )
        assert work.frame <= FRAME_MS, "sixty frames in a second"
        assert work.tasks[-1] <= LONGEST_MS
        assert nodes < NODES_MAX
        assert heap < HEAP_MAX
        assert min(up, down) >= possible * 0.5


def test_a_jump_to_an_old_date_does_not_freeze_the_page(
    past: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with start_server(past) as server:
        page = visit(server.link())
        expect(page.get_by_text(f"Message {MANY - 1}.")).to_be_visible()
        day = page.evaluate("new Date(Date.now() - 500 * 86400000).toISOString().slice(0, 10)")
        page.get_by_role("button", name="Go to date").click()  # only now is there one
        page.locator("input[type=date]").wait_for(state="attached")
        with trace_cpu(page) as work:
            jumped = page.evaluate(JUMP, day)
        nodes, heap = memory_use(page)
        log_line(
            capsys,
            f"{size}: jumped 500 days back in {sum(work.tasks):.0f} ms of CPU, the longest task"
            f" {work.tasks[-1]:.0f}; on the wall {jumped['took']:.0f} ms, longest frame"
            f" {jumped['longest']:.0f} ms; {nodes} nodes, {heap / 1e6:.1f} MB of heap",
        )
        assert jumped["there"]
        assert work.tasks[-1] <= LONGEST_MS
        assert nodes < NODES_MAX
        assert heap < HEAP_MAX
        assert jumped["longest"] <= FREEZE_MS


def typing_latencies(page: Page, letters: str) -> list[float]:
    """The latency of each key press until its letter was painted."""
    page.evaluate("window.__keys = []")
    page.get_by_label("Write a message").press_sequentially(letters, delay=40)
    page.evaluate(WAIT_FOR_PAINT)
    slow: list[float] = page.evaluate("window.__keys")
    quick = [float(FRAME_MS)] * (len(letters) - len(slow))  # those it does not tell of
    return sorted(quick + slow)


def test_typing_stays_fast_while_an_answer_streams_in(
    tmp_path: Path, visit: Visit, size: str, capsys: pytest.CaptureFixture[str]
) -> None:
    model = FastModel()
    with start_server(tmp_path, model=model) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.evaluate(WATCH_KEYS)
        calm = typing_latencies(page, "what is typed while nothing happens at all, to compare ")
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator("[data-pending-answer]")).to_contain_text("A long answer")
        with trace_cpu(page) as work:
            busy = typing_latencies(
                page,
                "what is typed while two hundred tokens a second pour in, as fast as one can " * 2,
            )
        model.enough.set()
        expect(page.locator("[data-role=assistant]")).to_contain_text("The end.")
        expect(page.locator("[data-role=assistant] .fence")).to_have_count(model.rounds)
    usual, slow = percentile(calm), percentile(busy)
    log_line(
        capsys,
        f"{size}: a key costs {percentile(work.keys):.0f} ms of CPU (95 %),"
        f" {work.keys[-1]:.0f} at most,"
        f" the longest task {work.tasks[-1]:.0f}, at 200 tokens/s; on the wall it is painted within"
        f" {slow:.0f} ms (95 %), {busy[-1]:.0f} at most; {usual:.0f} and {calm[-1]:.0f} without",
    )
    assert len(work.keys) > len(busy) * 0.9, "the trace knows the keys"
    assert work.tasks[-1] <= LATENCY_MS, "a key waits for no longer task"
    assert work.keys[-1] <= LATENCY_MS
    assert slow <= LATENCY_MS * max(1.0, usual / FRAME_MS)
