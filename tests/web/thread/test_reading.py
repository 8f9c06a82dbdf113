"""Small things that make pages easy to read, each of which was once in the way."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_house, enter
from tests.web.servers import house
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


def test_the_words_of_a_wide_diagram_can_be_read_and_the_page_stays_as_wide_as_it_is(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path, [f"```mermaid\ngraph LR\n{WIDE}\n```"]) as home:
        page = visit(home.link())
        say(page, "Draw me the steps.")
        diagram = page.locator(".diagram svg")
        expect(diagram).to_be_visible()
        assert diagram.evaluate(TEXT_PX) >= READABLE_PX
        assert page.evaluate("document.documentElement.scrollWidth <= innerWidth")


def test_a_formula_that_is_too_wide_scrolls_and_the_page_does_not(
    tmp_path: Path, visit: Visit
) -> None:
    terms = " + ".join(f"x_{{{number}}}^{{2}}" for number in range(60))
    with house(tmp_path, [f"It is:\n\n$$y = {terms}$$\n\nThat is all."]) as home:
        page = visit(home.link())
        say(page, "How long is it?")
        formula = page.locator("[data-role=assistant] .formula")
        expect(formula.locator(".katex")).to_be_visible()
        assert formula.evaluate("one => one.scrollWidth > one.clientWidth")
        log = page.get_by_role("log")
        assert log.evaluate("one => one.scrollWidth <= one.clientWidth")


def test_a_task_has_its_box_and_no_second_mark(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path, ["- [x] measured\n- [ ] written down\n- said"]) as home:
        page = visit(home.link())
        say(page, "What is left to do?")
        marks = page.locator("[data-role=assistant] .prose li")
        expect(marks).to_have_text(["☑ measured", "☐ written down", "said"])
        styles = marks.evaluate_all("all => all.map(one => getComputedStyle(one).listStyleType)")
        assert styles == ["none", "none", "disc"]


def test_a_prompt_leads_back_to_its_conversation(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path, ["Five to seven."]) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").wait_for()
        made = page.request.post(
            f"{home.address}/api/threads", data={"title": "Glue"}, headers={"origin": home.address}
        )
        page.goto(f"{home.address}/t/{made.json()['thread_id']}")
        say(page, "How many days?")
        act(page, "Five to seven.", "What it stood on")
        page.get_by_role("link", name="Open as a page").click()
        expect(page.get_by_role("heading", name="What the answer stood on")).to_be_visible()
        page.locator("#main").get_by_role("link", name="Glue").click()
        expect(page.locator("[data-role=assistant]")).to_contain_text("Five to seven.")


def test_a_month_in_which_nothing_was_said_says_so(
    year: Path, tmp_path: Path, visit: Visit
) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline&window=month:2024-03")
        expect(page.get_by_text("Nothing was said then.")).to_be_visible()
        expect(page.get_by_text("Not summed up yet")).to_have_count(0)


def test_what_helped_a_memory_is_said_in_words(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=ask&q=what%20is%20the%20humidity%20target")
        expect(page.get_by_text("beside what fits").first).to_be_visible()
        expect(page.get_by_text("neighbours")).to_have_count(0)


def test_an_answer_shows_where_the_words_stand_and_sets_apart_what_hardly_fits(
    tmp_path: Path, visit: Visit
) -> None:
    filling = "Nothing of note was said about the weather. "
    with house(tmp_path) as home:
        for name, text in (
            (
                "deep",
                f"# Notes\n\n{filling * 60}\n\nThe **spare key** hangs in the shed. 🗝️ Wirklich.",
            ),
            ("far", "The key of C minor suits the song, and every other song as well, he said."),
        ):
            home.engine.do(RememberItem(name, text))
        page = visit(home.link())
        page.get_by_label("Write a message").wait_for()
        page.goto(f"{home.address}/memory?view=ask&q=where%20is%20the%20spare%20key")
        rows = page.locator("#main ol > li")
        expect(rows.nth(0).locator("mark")).to_have_text(["spare", "key"])
        expect(rows.nth(0)).to_contain_text("The spare key hangs in the shed.")
        expect(rows.nth(1)).to_contain_text("Further away")


def test_the_first_words_offered_know_the_time_zone_of_the_device(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        page = visit(home.link(), timezone_id="America/Lima")
        expect(page.get_by_role("button", name="my time zone is America/Lima")).to_be_visible()


def test_keys_are_called_as_they_stand_on_the_keyboard(tmp_path: Path, visit: Visit) -> None:
    apple = "Mozilla/5.0 (Macintosh; Intel Mac OS X 10_15_7) Chrome/140"
    with house(tmp_path) as home:
        for agent, keys in (
            ("Mozilla/5.0 (X11; Linux x86_64) Chrome/140", "Ctrl K"),
            (apple, "⌘ K"),
        ):
            page = visit(home.link(), user_agent=agent)
            page.get_by_label("Write a message").wait_for()
            page.locator("main").press("?")
            expect(page.get_by_role("dialog").get_by_text(keys, exact=True)).to_be_visible()


def test_the_palette_names_the_thread_once(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(home.link())
        page.get_by_label("Write a message").wait_for()
        page.keyboard.press("Control+k")
        expect(page.get_by_role("option", name="Thread")).to_have_count(1)
        expect(page.get_by_role("option", name="Home")).to_have_count(0)


def test_there_is_room_to_write_in_text_of_twice_the_size(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = visit(home.link())
        field = page.get_by_label("Write a message")
        field.wait_for()
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        share = field.evaluate("one => one.getBoundingClientRect().width / innerWidth")
        assert share > 1 / 3


@pytest.mark.parametrize(
    "path", ["/memory/mem-nowhere", "/lessons/les-nowhere", "/inspect/ctx-nowhere"]
)
def test_what_is_not_there_is_said_without_advice_for_a_terminal(
    tmp_path: Path, visit: Visit, path: str
) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, path)
        expect(page.get_by_role("alert")).to_contain_text("There is nothing here.")
        expect(page.locator("#main")).not_to_contain_text("`everloop")
        expect(page.get_by_role("button", name="Try again")).to_have_count(0)


def test_the_wheel_turns_the_history_where_the_way_to_the_end_came_under_it(
    year: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no wheel")
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/")
        history = page.get_by_role("log")
        expect(page.locator("article.message").last).to_be_visible()
        page.evaluate(STEADY)
        history.hover()
        page.mouse.wheel(0, -600)
        page.evaluate(STEADY)
        page.get_by_role("button", name="To the end").hover()
        before = history.evaluate("one => one.scrollTop")
        page.mouse.wheel(0, -300)
        page.wait_for_function(
            "before => document.querySelector('[role=log]').scrollTop < before - 100", arg=before
        )
