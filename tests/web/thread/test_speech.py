"""Dictation and reading aloud with the platform's speech, which is a stand-in here."""

from pathlib import Path

from playwright.sync_api import expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

PLATFORM = """
window.spoken = [];
window.SpeechRecognition = class {
  start() { window.recogniser = this; }
  stop() { this.onend(); }
  abort() { this.onend(); }
};
window.hear = (text) => window.recogniser.onresult(
  {resultIndex: 0, results: [{isFinal: true, 0: {transcript: text}}]});
window.SpeechSynthesisUtterance = class { constructor(text) { this.text = text; } };
Object.defineProperty(window, 'speechSynthesis', {value: {
  speak(one) { window.spoken.push(one.text); window.last = one; },
  cancel() { window.cancelled = true; },
}});
"""


def test_dictation_and_reading_aloud_are_off_until_switched_on(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path / "home", ["**Two** words, and `code`."]) as server:
        page = open_page(server, visit, "/")
        page.add_init_script(PLATFORM)
        page.goto(server.address)
        page.get_by_label("Write a message").wait_for()
        expect(page.get_by_role("button", name="Dictate")).to_have_count(0)
        page.goto(f"{server.address}/settings#speech")
        for name in ("Dictation", "Reading aloud"):
            page.get_by_role("group", name=name).get_by_text("On", exact=True).click()
        page.locator("#speech").scroll_into_view_if_needed()
        screenshot(page, "speech-settings")
        page.goto(server.address)
        page.get_by_role("button", name="Dictate").click()
        page.evaluate("hear('Hello there,')")
        page.evaluate("hear('how are you?')")
        expect(page.get_by_label("Write a message")).to_have_value("Hello there, how are you?")
        screenshot(page, "speech-listening")
        page.get_by_role("button", name="Stop dictation").click()
        expect(page.get_by_role("button", name="Dictate")).to_be_visible()
        page.get_by_label("Write a message").fill("")
        say(page, "Say something.")
        page.get_by_role("button", name="Read aloud").click()
        assert page.evaluate("spoken") == ["Two words, and code."]
        page.get_by_role("button", name="Stop reading").wait_for()
        page.evaluate("last.onend()")
        expect(page.get_by_role("button", name="Read aloud")).to_be_visible()
