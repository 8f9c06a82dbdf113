"""Reconnecting: after sleep or a dead connection, the page is soon up to date."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect
from tests.web.conftest import Visit
from tests.web.servers import Server, start_server
from tests.web.tcp_proxy import proxy_to

from everloop.app import USER
from everloop.thread.model.events import AnswerGiven
from everloop.thread.service import OutgoingMessage

pytestmark = pytest.mark.xdist_group("web")

UPDATE_MS = 1_000
STEP_MS = 100  # of the page's fake time
STEP_WAIT_MS = 2_000  # real time for a round trip on a busy machine
HEARTBEATS_MISSED_MS = 50_000
HOUR_S = 3_600
MEASURE_UPDATE = """([wakes, words]) => {
  window.__took = new Promise((resolve) => addEventListener(wakes, () => {
    const woke = performance.now();
    const look = () => {
      const seen = document.querySelector('.history')?.innerText.includes(words);
      if (seen || performance.now() - woke > 20_000) resolve(performance.now() - woke);
      else requestAnimationFrame(look);
    };
    look();
  }, { once: true, capture: true }));
}"""
SIMULATE_SLEEP = """() => {  // like a phone: hidden, an hour passes, visible again
  const clock = Date.now.bind(Date);
  const seen = (state) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  };
  seen('hidden');
  window.__wake = () => { Date.now = () => clock() + 3_600_000; seen('visible'); };
}"""


def exchange(server: Server, words: str) -> None:
    """Send a message from another device and wait for its answer."""
    sent = server.running.talk.send("home", OutgoingMessage(words), USER)
    for fact in server.engine.follow(after=0):
        if isinstance(fact.event, AnswerGiven) and fact.event.turn_id == sent.turn_id:
            return


def page_time_until(page: Page, words: str) -> int:
    """How much of the page's fake time passes until it shows something.

    For wall-clock time, see `update_time`.
    """
    for passed in range(0, 10 * UPDATE_MS, STEP_MS):
        try:
            page.get_by_text(words).wait_for(timeout=STEP_WAIT_MS)
        except TimeoutError:
            page.clock.run_for(STEP_MS)
        else:
            return passed
    return 10 * UPDATE_MS


def update_time(page: Page, said: pytest.CaptureFixture[str], way: str) -> float:
    took = float(page.evaluate("window.__took"))
    with said.disabled():
        sys.stdout.write(f"\nup to date after waking ({way}): {took:.0f} ms\n")
    return took


def test_a_phone_that_slept_is_up_to_date_within_a_second_despite_a_dead_connection(
    tmp_path: Path, visit: Visit, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        start_server(tmp_path, ["Before the night.", "At dawn."]) as server,
        proxy_to(server.port) as proxy,
    ):
        exchange(server, "Good night")
        page = visit(server.link(proxy.port))
        expect(page.get_by_text("Before the night.")).to_be_visible()
        page.evaluate(SIMULATE_SLEEP)
        page.evaluate(MEASURE_UPDATE, ["visibilitychange", "At dawn."])
        proxy.stall()
        exchange(server, "Good morning")
        page.evaluate("window.__wake()")
        took = update_time(page, capsys, "an hour later")
        assert took <= UPDATE_MS or not soaking
        expect(page.locator("article.message")).to_have_count(4)


def test_a_device_is_up_to_date_within_a_second_of_being_online_again(
    tmp_path: Path, visit: Visit, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with start_server(tmp_path, ["Before the tunnel.", "After the tunnel."]) as server:
        exchange(server, "Here it begins")
        page = visit(server.link())
        expect(page.get_by_text("Before the tunnel.")).to_be_visible()
        page.evaluate(MEASURE_UPDATE, ["online", "After the tunnel."])
        page.context.set_offline(True)
        expect(page.get_by_text("No connection to Everloop.")).to_be_visible()
        exchange(server, "Still there?")
        page.context.set_offline(False)
        took = update_time(page, capsys, "online again")
        assert took <= UPDATE_MS or not soaking


def test_a_page_reloads_within_a_second_of_waking(tmp_path: Path, visit: Visit) -> None:
    with (
        start_server(tmp_path, ["Before the night.", "At dawn."]) as server,
        proxy_to(server.port) as proxy,
    ):
        exchange(server, "Good night")
        page = visit("about:blank")
        page.clock.install()
        page.goto(server.link(proxy.port))
        expect(page.get_by_text("Before the night.")).to_be_visible()
        page.evaluate(SIMULATE_SLEEP)
        proxy.stall()
        exchange(server, "Good morning")
        page.clock.pause_at(page.evaluate("Date.now() / 1000") + HOUR_S)
        page.evaluate("window.__wake()")
        assert page_time_until(page, "At dawn.") <= UPDATE_MS


def test_a_stream_without_heartbeats_is_reconnected(tmp_path: Path, visit: Visit) -> None:
    with (
        start_server(tmp_path, ["Before the silence.", "After the silence."]) as server,
        proxy_to(server.port) as proxy,
    ):
        exchange(server, "Hello")
        page = visit("about:blank")
        page.clock.install()
        page.goto(server.link(proxy.port))
        expect(page.get_by_text("Before the silence.")).to_be_visible()
        proxy.stall()
        exchange(server, "Anybody?")
        expect(page.locator("article.message")).to_have_count(2)
        page.clock.run_for(HEARTBEATS_MISSED_MS)
        expect(page.get_by_text("After the silence.")).to_be_visible()
        expect(page.locator("article.message")).to_have_count(4)
