"""Readability: regression tests for small layout and wording problems."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import open_page, start_demo_server
from tests.web.servers import key_headers, start_server
from tests.web.thread.test_thread import act, say

from everloop.memory.model.commands import RememberItem

pytestmark = pytest.mark.xdist_group("web")

WIDE = " --> ".join(f"{name}[A step called {name}]" for name in "ABCDEF")
TEXT_PX = """one => {
  const { width } = one.getBoundingClientRect();
  const size = parseFloat(getComputedStyle(one.querySelector('text, tspan')).fontSize);
  return size * width / one.viewBox.baseVal.width;
}"""
READABLE_PX = 10
STEADY = """() => new Promise((done) => {
  const one = document.querySelector('[role=log]');
  let height = 0, frames = 0;
  const look = () => {
    frames = one.scrollHeight === height ? frames + 1 : 0;
    height = one.scrollHeight;
    if (frames > 30) done(); else requestAnimationFrame(look);
  };
  look();
})"""


def test_a_wide_diagram_is_readable_and_does_not_widen_the_page(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path, [f"```mermaid\ngraph LR\n{WIDE}\n```"]) as server:
        page = visit(server.link())
        say(page, "Draw me the steps.")
        diagram = page.locator(".diagram svg")
        expect(diagram).to_be_visible()
        assert diagram.evaluate(TEXT_PX) >= READABLE_PX
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_wide_formula_scrolls_without_widening_the_page(tmp_path: Path, visit: Visit) -> None:
    terms = " + ".join(f"x_{{{number}}}^{{2}}" for number in range(60))
    with start_server(tmp_path, [f"It is:\n\n$$y = {terms}$$\n\nThat is all."]) as server:
        page = visit(server.link())
        say(page, "How long is it?")
        formula = page.locator("[data-role=assistant] .formula")
        expect(formula.locator(".katex")).to_be_visible()
        assert formula.evaluate("one => one.scrollWidth > one.clientWidth")
        log = page.get_by_role("log")
        assert log.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_task_list_item_has_a_checkbox_and_no_bullet(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["- [x] measured\n- [ ] written down\n- said"]) as server:
        page = visit(server.link())
        say(page, "What is left to do?")
        marks = page.locator("[data-role=assistant] .prose li")
        expect(marks).to_have_text(["☑ measured", "☐ written down", "said"])
        styles = marks.evaluate_all("all => all.map(one => getComputedStyle(one).listStyleType)")
        assert styles == ["none", "none", "disc"]


def test_the_prompt_page_links_back_to_its_conversation(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path, ["Five to seven."]) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        made = page.request.post(
            f"{server.address}/api/threads",
            data={"title": "Glue"},
            headers={"origin": server.address, **key_headers(page)},
        )
        page.goto(f"{server.address}/t/{made.json()['thread_id']}")
        say(page, "How many days?")
        act(page, "Five to seven.", "Sources")
        page.get_by_role("link", name="Open full page").click()
        expect(page.get_by_role("heading", name="Sources of this answer")).to_be_visible()
        page.locator("#main").get_by_role("link", name="Glue").click()
        expect(page.locator("[data-role=assistant]")).to_contain_text("Five to seven.")


def test_an_empty_month_says_that_it_has_no_messages(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=timeline&window=month:2024-03")
        expect(page.get_by_text("No messages")).to_be_visible()
        expect(page.get_by_text("No summary yet")).to_have_count(0)


def test_ranking_boosts_are_shown_in_words(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=ask&q=budget%20for%20the%20kitchen")
        expect(page.get_by_text("near a match").first).to_be_visible()
        expect(page.get_by_text("neighbours")).to_have_count(0)


def test_recall_highlights_matches_and_separates_less_relevant_results(
    tmp_path: Path, visit: Visit
) -> None:
    filling = "Nothing of note was said about the weather. "
    with start_server(tmp_path) as server:
        for name, text in (
            (
                "deep",
                f"# Notes\n\n{filling * 60}\n\nThe **spare key** hangs in the shed. 🗝️ Wirklich.",
            ),
            ("far", "The key of C minor suits the song, and every other song as well, he said."),
        ):
            server.engine.do(RememberItem(name, text))
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.goto(f"{server.address}/memory?view=ask&q=where%20is%20the%20spare%20key")
        rows = page.locator("#main ol > li")
        expect(rows.nth(0).locator("mark")).to_have_text(["spare", "key"])
        expect(rows.nth(0)).to_contain_text("The spare key hangs in the shed.")
        expect(rows.nth(1)).to_contain_text("Less relevant")


def test_a_suggested_message_contains_the_time_zone_of_the_device(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link(), timezone_id="America/Lima")
        expect(page.get_by_role("button", name="my time zone is America/Lima")).to_be_visible()


def test_shortcuts_use_the_key_names_of_the_platform(tmp_path: Path, visit: Visit) -> None:
    apple = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140"
    with start_server(tmp_path) as server:
        for agent, keys in (
            ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140", "Ctrl K"),
            (apple, "⌘ K"),
        ):
            page = visit(server.link(), user_agent=agent)
            page.get_by_label("Write a message").wait_for()
            page.locator("main").press("?")
            expect(page.get_by_role("dialog").get_by_text(keys, exact=True)).to_be_visible()


def test_the_command_palette_lists_the_thread_once(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        page.get_by_label("Write a message").wait_for()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option", name="Thread")).to_have_count(1)
        expect(page.get_by_role("option", name="Home")).to_have_count(0)


def test_the_composer_stays_usable_at_double_text_size(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = visit(server.link())
        field = page.get_by_label("Write a message")
        field.wait_for()
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        share = field.evaluate("one => one.getBoundingClientRect().width / innerWidth")
        assert share > 1 / 3


@pytest.mark.parametrize(
    "path", ["/memory/mem-nowhere", "/lessons/les-nowhere", "/inspect/ctx-nowhere"]
)
def test_a_missing_item_shows_a_plain_message_without_terminal_advice(
    tmp_path: Path, visit: Visit, path: str
) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, path)
        expect(page.get_by_role("alert")).to_contain_text("This item was deleted")
        expect(page.locator("#main")).not_to_contain_text("`everloop")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_the_wheel_scrolls_over_the_jump_to_latest_button(
    demo_home: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no wheel")
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/")
        history = page.get_by_role("log")
        expect(page.locator("article.message").last).to_be_visible()
        page.evaluate(STEADY)
        history.hover()
        page.mouse.wheel(0, -600)
        page.evaluate(STEADY)
        page.get_by_role("button", name="Jump to latest").hover()
        before = history.evaluate("one => one.scrollTop")
        page.mouse.wheel(0, -300)
        page.wait_for_function(
            "before => document.querySelector('[role=log]').scrollTop < before - 100", arg=before
        )
