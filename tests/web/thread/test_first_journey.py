"""The first journey, in a browser: from an empty data home to an answer of a connected model.

Link, first statement acknowledged and kept, question answered from it, a model connected in the
page against a server on loopback, and the same question answered by it with the memory in its
prompt. With nothing but the built-in model at first, on a phone and on a desktop.
"""

import json
import stat
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.adapters.models.fake_services import KEY, Reply, fake_service
from tests.interfaces.http.process import server_process
from tests.web.conftest import Screenshot, Visit

pytestmark = pytest.mark.xdist_group("web")

NOWHERE = "http://127.0.0.1:9/v1"
ALONE = {
    "EVERLOOP_MODELS_TRIES": "1",
    "EVERLOOP_MODELS_CLASSIFIER": "offline",
    "EVERLOOP_MEMORY_EMBEDDER": "none",
    **{
        f"EVERLOOP_MODELS_{name}_URL": NOWHERE
        for name in ("OLLAMA", "LMSTUDIO", "LLAMACPP", "VLLM")
    },
}
STATEMENT = "The spare key hangs behind the blue door."
QUESTION = "Where does the spare key hang?"
ANSWER = "It hangs behind the blue door; you told me today."
DONE = "[data-role=assistant][data-state=done]"


def say(page: Page, text: str) -> str:
    """Send a message; the text of its answer. Messages far above are not rendered: never count."""
    rows = page.locator("article.message")
    before = str(rows.last.get_attribute("data-message")) if rows.count() else ""
    page.get_by_label("Write a message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(rows.last).not_to_have_attribute("data-message", before)
    expect(rows.last).to_have_attribute("data-role", "assistant")
    expect(rows.last).to_have_attribute("data-state", "done")
    return rows.last.locator(".prose").inner_text()


def connect(page: Page, address: str) -> None:
    """Connect a model by its address and key, as a person does."""
    page.get_by_role("button", name="Connect a model", exact=True).click()
    page.get_by_role("textbox", name="Address").fill("http://192.0.2.7:8000")
    page.get_by_label("API key (if needed)").fill(KEY)
    expect(page.locator("[data-key-warning]")).to_contain_text("could read your key")
    page.get_by_role("textbox", name="Address").fill(address)
    expect(page.locator("[data-key-warning]")).to_have_count(0)
    page.get_by_role("button", name="Test connection").click()
    expect(page.get_by_text("The connection works. It has one model.")).to_be_visible()
    page.get_by_role("button", name="Connect", exact=True).click()
    expect(page.get_by_text("Connected. Answers now come from llama3.2.")).to_be_visible()


@pytest.mark.promise("P-MODEL-4")
def test_from_a_link_to_the_answer_of_a_connected_model(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    home = tmp_path / "empty"
    with fake_service(Reply(pieces=(ANSWER,))) as model, server_process(home, ALONE) as server:
        page = visit(f"{server.url}/#pair={server.code}")
        expect(page.locator("[data-built-in-banner]")).to_be_visible()
        assert say(page, STATEMENT) == "Noted."
        expect(page.locator("[data-saved-memory]")).to_have_text("Saved to memory · Undo")
        screenshot(page, "journey-kept")
        assert STATEMENT in say(page, QUESTION)
        assert say(page, "Who won the cup?") == "Nothing about that yet."
        screenshot(page, "journey-built-in")
        connect(page, model.url)
        expect(page.locator("[data-built-in-banner]")).to_have_count(0)
        assert say(page, QUESTION) == ANSWER
        screenshot(page, "journey-connected")
        sent = str(model.talk[-1].body["messages"])
    assert model.talk[-1].headers["authorization"] == f"Bearer {KEY}"
    assert STATEMENT in sent
    assert "Noted" not in sent
    assert "Nothing about that yet" not in sent
    assert stat.S_IMODE((home / "keys.toml").stat().st_mode) == 0o600


def test_the_starter_is_kept_and_its_memory_can_be_undone(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with server_process(tmp_path / "empty", ALONE) as server:
        page = visit(f"{server.url}/#pair={server.code}")
        page.get_by_role("button", name="I prefer short answers").click()
        page.get_by_role("button", name="Send", exact=True).click()
        expect(page.locator(DONE)).to_contain_text("Noted.")
        chip = page.locator("[data-saved-memory]")
        chip.get_by_role("button", name="Undo").click()
        expect(chip).to_have_count(0)
        page.get_by_role("button", name="Dismiss").click()
        page.reload()
        expect(page.locator(DONE)).to_contain_text("Noted.")
        expect(page.locator("[data-built-in-banner]")).to_have_count(0)
        screenshot(page, "journey-undone")


def test_the_page_follows_the_newest_answer(tmp_path: Path, visit: Visit) -> None:
    reply = Reply(pieces=(ANSWER, f"\n\n> {STATEMENT}"), thoughts=("The person asks ", "of a key."))
    with fake_service(reply) as model, server_process(tmp_path / "empty", ALONE) as server:
        page = visit(f"{server.url}/#pair={server.code}")
        for text in (STATEMENT, QUESTION, "Who won the cup?", "Anna is allergic to nuts."):
            say(page, text)
        connect(page, model.url)
        for text in (QUESTION, "And the other key?", "And the third?"):
            assert ANSWER in say(page, text)
            expect(page.locator(DONE).last).to_be_in_viewport(ratio=0.9)


def test_an_answer_can_be_asked_again_with_another_model(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    reply = Reply(pieces=(ANSWER,), thoughts=("The person asks ", "about a key."))
    with fake_service(reply) as model, server_process(tmp_path / "empty", ALONE) as server:
        page = visit(f"{server.url}/#pair={server.code}")
        say(page, STATEMENT)
        connect(page, model.url)
        assert say(page, QUESTION) == ANSWER
        reasoning = page.locator("[data-reasoning]").last
        reasoning.locator("summary").click()
        expect(reasoning).to_contain_text("The person asks about a key.")
        page.get_by_role("button", name="Answer options").click()
        page.get_by_label("Instructions for this conversation").fill("Be brief.")
        page.locator("[data-instructions]").first.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Instructions saved.")).to_be_visible()
        screenshot(page, "journey-options")
        page.keyboard.press("Escape")
        page.locator(DONE).last.get_by_role("button", name="Message actions").click()
        page.get_by_role("menuitem", name="Ask again with…").click()
        page.get_by_role("button", name="Built-in, no model").click()
        expect(page.locator(DONE).last).to_contain_text("You told me")
        page.get_by_label("Model", exact=True).select_option("offline")
        assert say(page, "Thanks!") == "You are welcome."
    assert "Be brief." not in str(model.talk[-1].body)


def test_instructions_written_before_the_saved_ones_arrive_are_kept(
    tmp_path: Path, visit: Visit
) -> None:
    with server_process(tmp_path / "empty", ALONE) as server:
        page = visit(f"{server.url}/#pair={server.code}")
        say(page, STATEMENT)
        page.route("**/api/instructions?**", lambda _: None)  # held, until it is unrouted
        page.get_by_role("button", name="Answer options").click()
        written = page.get_by_label("Instructions for this conversation")
        written.fill("Be brief.")
        with page.expect_response("**/api/instructions?**"):
            page.unroute("**/api/instructions?**")
        expect(page.get_by_role("button", name="Save").first).to_be_enabled()
        expect(written).to_have_value("Be brief.")


@pytest.mark.promise("P-THREAD-5")
def test_instructions_reach_the_model_and_the_inspector_shows_what_was_sent(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with (
        fake_service(Reply(pieces=(ANSWER,))) as model,
        server_process(tmp_path / "empty", ALONE) as server,
    ):
        page = visit(f"{server.url}/#pair={server.code}")
        say(page, STATEMENT)
        connect(page, model.url)
        page.get_by_role("button", name="Answer options").click()
        page.get_by_label("Instructions for this conversation").fill("Be brief.")
        page.locator("[data-instructions]").first.get_by_role("button", name="Save").click()
        expect(page.get_by_text("Instructions saved.")).to_be_visible()
        page.keyboard.press("Escape")
        assert say(page, QUESTION) == ANSWER
        page.locator(DONE).last.get_by_role("button", name="Message actions").click()
        page.get_by_role("menuitem", name="Sources").click()
        page.get_by_role("link", name="Open full page").click()
        as_sent = page.locator("[data-sent]")
        expect(as_sent).to_have_count(3)
        shown = {str(one.get_attribute("data-sent")): one.text_content() for one in as_sent.all()}
        page.locator("summary", has_text="System prompt").click()
        screenshot(page, "inspect-as-sent")
    body = model.talk[-1].body
    assert "Be brief." in body["messages"][0]["content"]
    assert shown["system"] == body["messages"][0]["content"]
    assert json.loads(shown["tools"] or "") == [one["function"] for one in body["tools"]]
    assert (shown["before_message"] or "nothing") in body["messages"][-1]["content"]
