"""A device that slept, or whose connection died without a word, soon shows the truth."""

import sys
from pathlib import Path

import pytest
from playwright.sync_api import Page, TimeoutError, expect
from tests.web.conftest import Visit
from tests.web.servers import House, house
from tests.web.tunnel import tunnel_to

from everloop.app import USER
from everloop.thread.model.events import AnswerGiven
from everloop.thread.service import OutgoingMessage

pytestmark = pytest.mark.xdist_group("web")

TRUTH_MS = 1_000
STEP_MS = 100  # of the page's time
STEP_WAIT_MS = 2_000  # of ours: what the way to the engine and back may take on a busy machine
BEATS_MISSED_MS = 50_000
HOUR_S = 3_600
TIMED = """([wakes, words]) => {
  window.__took = new Promise((told) => addEventListener(wakes, () => {
    const woke = performance.now();
    const look = () => {
      const seen = document.querySelector('.history')?.innerText.includes(words);
      if (seen || performance.now() - woke > 20_000) told(performance.now() - woke);
      else requestAnimationFrame(look);
    };
    look();
  }, { once: true, capture: true }));
}"""
ASLEEP = """() => {  // as a phone does it: hidden, an hour passes, seen again
  const clock = Date.now.bind(Date);
  const seen = (state) => {
    Object.defineProperty(document, 'visibilityState', { configurable: true, get: () => state });
    document.dispatchEvent(new Event('visibilitychange', { bubbles: true }));
  };
  seen('hidden');
  window.__wake = () => { Date.now = () => clock() + 3_600_000; seen('visible'); };
}"""


def talk(home: House, words: str) -> None:
    """Something is said on another device, and answered."""
    sent = home.running.talk.send("home", OutgoingMessage(words), USER)
    for fact in home.engine.follow(after=0):
        if isinstance(fact.event, AnswerGiven) and fact.event.turn_id == sent.turn_id:
            return


def waited(page: Page, words: str) -> int:
    """How much of its own time a page lets pass until it shows something; the clock stands still.

    What it takes on the wall says as much about the machine: see `truth`.
    """
    for passed in range(0, 10 * TRUTH_MS, STEP_MS):
        try:
            page.get_by_text(words).wait_for(timeout=STEP_WAIT_MS)
        except TimeoutError:
            page.clock.run_for(STEP_MS)
        else:
            return passed
    return 10 * TRUTH_MS


def truth(page: Page, said: pytest.CaptureFixture[str], way: str) -> float:
    took = float(page.evaluate("window.__took"))
    with said.disabled():
        sys.stdout.write(f"\ntrue after waking ({way}): {took:.0f} ms\n")
    return took


def test_a_phone_that_slept_for_an_hour_is_true_within_a_second_though_its_connection_is_dead(
    tmp_path: Path, visit: Visit, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with (
        house(tmp_path, ["Before the night.", "At dawn."]) as home,
        tunnel_to(home.port) as tunnel,
    ):
        talk(home, "Good night")
        page = visit(home.link(tunnel.port))
        expect(page.get_by_text("Before the night.")).to_be_visible()
        page.evaluate(ASLEEP)
        page.evaluate(TIMED, ["visibilitychange", "At dawn."])
        tunnel.fall_silent()
        talk(home, "Good morning")
        page.evaluate("window.__wake()")
        took = truth(page, capsys, "an hour later")
        assert took <= TRUTH_MS or not soaking
        expect(page.locator("article.message")).to_have_count(4)


def test_a_device_that_is_online_again_is_true_within_a_second(
    tmp_path: Path, visit: Visit, soaking: bool, capsys: pytest.CaptureFixture[str]
) -> None:
    with house(tmp_path, ["Before the tunnel.", "After the tunnel."]) as home:
        talk(home, "Here it begins")
        page = visit(home.link())
        expect(page.get_by_text("Before the tunnel.")).to_be_visible()
        page.evaluate(TIMED, ["online", "After the tunnel."])
        page.context.set_offline(True)
        expect(page.get_by_text("No connection to Everloop.")).to_be_visible()
        talk(home, "Still there?")
        page.context.set_offline(False)
        took = truth(page, capsys, "online again")
        assert took <= TRUTH_MS or not soaking


def test_a_page_that_wakes_lets_no_second_pass_before_it_asks(tmp_path: Path, visit: Visit) -> None:
    with (
        house(tmp_path, ["Before the night.", "At dawn."]) as home,
        tunnel_to(home.port) as tunnel,
    ):
        talk(home, "Good night")
        page = visit("about:blank")
        page.clock.install()
        page.goto(home.link(tunnel.port))
        expect(page.get_by_text("Before the night.")).to_be_visible()
        page.evaluate(ASLEEP)
        tunnel.fall_silent()
        talk(home, "Good morning")
        page.clock.pause_at(page.evaluate("Date.now() / 1000") + HOUR_S)
        page.evaluate("window.__wake()")
        assert waited(page, "At dawn.") <= TRUTH_MS


def test_a_stream_without_beats_is_taken_for_dead(tmp_path: Path, visit: Visit) -> None:
    with (
        house(tmp_path, ["Before the silence.", "After the silence."]) as home,
        tunnel_to(home.port) as tunnel,
    ):
        talk(home, "Hello")
        page = visit("about:blank")
        page.clock.install()
        page.goto(home.link(tunnel.port))
        expect(page.get_by_text("Before the silence.")).to_be_visible()
        tunnel.fall_silent()
        talk(home, "Anybody?")
        expect(page.locator("article.message")).to_have_count(2)
        page.clock.run_for(BEATS_MISSED_MS)
        expect(page.get_by_text("After the silence.")).to_be_visible()
        expect(page.locator("article.message")).to_have_count(4)
