"""Memory: the list, one memory and its life, why and why not, and the timeline."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import WAIT_MS, Shot, Visit
from tests.web.demo_server import demo_house, enter, item_saying
from tests.web.servers import house

from everloop.app import USER
from everloop.errors import ModelFailed
from everloop.memory.model.commands import RateItem, RememberItem, ReviseItem
from everloop.memory.model.scopes import OWNER

pytestmark = pytest.mark.xdist_group("pages")

TARGET = "humidity target for the workshop is 50"


def test_what_contradicts_stands_side_by_side(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/memory/{item_saying(home, TARGET)}")
        both = page.get_by_text("These contradict each other").locator("..")
        expect(both).to_contain_text("50 percent")
        expect(both).to_contain_text("45 percent")
        both.get_by_role("link", name="Open").click()
        expect(page.locator(".prose").first).to_contain_text("45 percent")


def test_why_and_why_not_show_the_way_of_a_memory(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/memory/{item_saying(home, TARGET)}")
        question = page.get_by_label("Would it answer this question?")
        question.fill("What is the humidity target?")
        page.get_by_role("button", name="Follow it").click()
        expect(page.get_by_text("It is in the answer.")).to_be_visible()
        question.fill("Who bakes below?")
        page.get_by_role("button", name="Follow it").click()
        expect(page.get_by_text("It is not in the answer.")).to_be_visible()
        expect(page.get_by_text("stopped here")).to_be_visible()


def test_how_far_memories_are_read_for_meaning_is_shown_until_all_are(
    tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with house(tmp_path) as home:
        beside = home.running.embedding
        assert beside is not None
        assert beside.idle.wait(WAIT_MS / 1_000)
        beside.progress, beside.problem = (120, 480), ModelFailed("the endpoint answered 429")
        page = enter(home, visit, "/memory")
        expect(page.get_by_role("progressbar", name="Reading for meaning")).to_be_visible()
        expect(page.get_by_text("120 of 480 passages")).to_be_visible()
        expect(page.get_by_text("answered 429")).to_be_visible()
        shot(page, "memory-reading")
        beside.progress, beside.problem = (0, 0), None
        expect(page.get_by_role("progressbar")).to_have_count(0)


def test_what_says_nearly_the_same_stands_below(tmp_path: Path, visit: Visit, shot: Shot) -> None:
    lines = "we sand it, let it dry for a night, turn the board, and oil the other side as well"
    long = f"Before a board is oiled, {lines}; then the rag goes into the water outside the door."
    with house(tmp_path) as home:
        home.engine.memory.remember(RememberItem("mem-one", long), by=USER)
        other = long.replace("for a night", "for a whole night")
        home.engine.memory.remember(RememberItem("mem-two", other), by=USER)
        page = enter(home, visit, "/memory/mem-one")
        near = page.get_by_role("heading", name="Nearly the same").locator("..")
        expect(near).to_be_visible()
        shot(page, "memory-nearly-the-same")
        near.get_by_role("link").click()
        expect(page.locator(".prose").first).to_contain_text("a whole night")


def test_something_is_remembered_and_taken_back(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/memory")
        page.get_by_role("button", name="Remember", exact=True).first.click()
        page.get_by_label("What to remember").fill("The blue key is for the bicycle.")
        page.get_by_role("dialog").get_by_role("button", name="Remember").click()
        expect(page.locator(".prose")).to_contain_text("The blue key")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="Nothing of this kind yet")).to_be_visible()


def test_a_memory_is_revised_and_the_older_words_come_back(
    year: Path, tmp_path: Path, visit: Visit
) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/memory/{item_saying(home, 'spare key')}")
        page.get_by_role("button", name="Revise").click()
        page.get_by_label("What it says").fill("The spare key hangs at Ferit's.")
        page.get_by_role("dialog").get_by_role("button", name="Revise").click()
        expect(page.locator(".prose")).to_contain_text("at Ferit's")
        expect(page.get_by_role("heading", name="What it said before")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".prose")).to_contain_text("behind the plane shelf")


def test_a_title_that_was_taken_from_the_words_goes_with_them(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        home.engine.do(RememberItem("mem-1", text="The key hangs in the hall. Anna said so."))
        page = enter(home, visit, "/memory/mem-1")
        page.get_by_role("button", name="Revise").click()
        page.get_by_label("What it says").fill("Ben has the key. Anna said so.")
        page.get_by_role("dialog").get_by_role("button", name="Revise").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Ben has the key")


@pytest.mark.promise("P-MEM-5")
@pytest.mark.parametrize("told", [True, False], ids=["told at once", "told when saving"])
def test_words_that_another_device_changed_meanwhile_are_shown_beside_ones_own(
    tmp_path: Path, visit: Visit, shot: Shot, told: bool
) -> None:
    with house(tmp_path) as home:
        home.engine.do(RememberItem("mem-1", "The key is under the pot."))
        page = enter(home, visit, "/memory/mem-1")
        if not told:
            page.route("**/api/stream*", lambda route: route.abort())
            page.reload()
        page.get_by_role("button", name="Revise").click()
        mine = page.get_by_label("What it says")
        mine.fill("Ann has the key.")
        home.engine.do(ReviseItem("mem-1", text="The key is under the mat."))
        form = page.get_by_role("dialog")
        if not told:
            form.get_by_role("button", name="Revise").click()
        newer = form.get_by_role("alert")
        expect(newer).to_contain_text("under the mat")
        expect(mine).to_have_value("Ann has the key.")
        shot(page, "memory-changed-meanwhile")
        form.get_by_role("button", name="Save mine anyway").click()
        expect(page.locator(".prose").first).to_contain_text("Ann has the key")
        expect(page.get_by_text("under the mat")).to_be_visible()


def test_who_drops_their_words_keeps_those_of_the_other_device(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        home.engine.do(RememberItem("mem-1", "The key is under the pot."))
        page = enter(home, visit, "/memory/mem-1")
        page.get_by_role("button", name="Revise").click()
        mine = page.get_by_label("What it says")
        home.engine.do(ReviseItem("mem-1", text="The key is under the mat."))
        expect(mine).to_have_value("The key is under the mat.")
        mine.fill("Ann has the key.")
        home.engine.do(ReviseItem("mem-1", text="Ben has the key."))
        page.get_by_role("button", name="Drop mine").click()
        expect(page.locator(".prose").first).to_contain_text("Ben has the key.")
        assert home.engine.memory.find(OWNER, "mem-1").text == "Ben has the key."


def test_letting_a_memory_step_back_says_what_follows(
    year: Path, tmp_path: Path, visit: Visit
) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/memory/{item_saying(home, 'spare key')}")
        page.get_by_role("button", name="Let it step back").click()
        asked = page.get_by_role("dialog")
        expect(asked).to_contain_text("no answer will use it any more")
        asked.get_by_role("button", name="Let it step back").click()
        expect(page.get_by_text("Stepped back", exact=False).first).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Let it step back")).to_be_visible()


def test_the_timeline_is_zoomed_by_click_and_by_keyboard(
    year: Path, tmp_path: Path, visit: Visit
) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/memory?view=timeline")
        bands = page.get_by_role("group", name="The past, from long stretches to days")
        bands.get_by_role("button", name="June 2025: ", exact=False).click()
        expect(page.get_by_role("heading", name="June 2025")).to_be_visible()
        assert "window=month" in page.url
        day = bands.get_by_role("button", name="15 June 2025", exact=False)
        day.focus()
        page.keyboard.press("Enter")
        expect(page.get_by_text("She cried at the right place.", exact=False).first).to_be_visible()
        bands.get_by_role("button").last.focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name="15 June 2025")).to_have_count(0)
        page.go_back()
        page.go_back()
        expect(page.get_by_role("heading", name="June 2025")).to_be_visible()


def test_thousands_of_memories_are_a_few_on_the_page(tmp_path: Path, visit: Visit) -> None:
    count = 3_000
    with house(tmp_path) as home:
        home.engine.do_many(
            [RememberItem(f"mem-{n}", f"Note {n} about thing {n * 7}") for n in range(count)],
            by=USER,
        )
        page = enter(home, visit, "/memory")
        expect(page.get_by_text(f"{count:,} memories")).to_be_visible()
        rows = page.locator("#main a[href^='/memory/mem-']")
        expect(rows.first).to_be_visible()
        page.evaluate(
            """async (least) => {
                const main = document.getElementById('main');
                while (main.scrollTop < least) {
                    main.scrollTo(0, 1e9);
                    await new Promise(requestAnimationFrame);
                }
            }""",
            20_000,
        )
        expect(page.get_by_text("Note 2999 about", exact=False)).to_have_count(0)
        assert 0 < rows.count() < 100


def test_undoing_a_weight_brings_back_the_pin_that_gave_way_to_it(
    tmp_path: Path, visit: Visit
) -> None:
    with house(tmp_path) as home:
        for number in range(9):
            home.engine.do(RememberItem(f"mem-{number}", f"It is about {number}."))
        for number in range(8):
            home.engine.do(RateItem(f"mem-{number}", 3))
        page = enter(home, visit, "/memory/mem-8")
        page.get_by_role("group", name="Weight").get_by_text("3", exact=True).click()
        expect(page.get_by_role("button", name="Unpin")).to_be_visible()
        assert not home.engine.memory.find(OWNER, "mem-0").pinned
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Pin: always at hand")).to_be_visible()
        assert home.engine.memory.find(OWNER, "mem-0").pinned


def test_a_weight_that_could_not_be_changed_is_shown_as_it_is(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        home.engine.do(RememberItem("mem-1", "The blue key."))
        page = enter(home, visit, "/memory/mem-1")
        weight = page.get_by_role("group", name="Weight")
        expect(weight.get_by_label("0")).to_be_checked()
        page.route("**/api/memories/mem-1", lambda route: route.abort())
        weight.get_by_text("2", exact=True).click()
        expect(page.get_by_text("Try again when you are connected.")).to_be_visible()
        expect(weight.get_by_label("0")).to_be_checked()


@pytest.mark.parametrize("since", ["nonsense", "0002-01-01", "2026-99-99"])
def test_an_address_with_a_date_that_is_none_shows_memories_all_the_same(
    tmp_path: Path, visit: Visit, since: str
) -> None:
    with house(tmp_path) as home:
        home.engine.do(RememberItem("mem-1", "The blue key."))
        page = enter(home, visit, f"/memory?since={since}")
        expect(page.get_by_text("The blue key.")).to_be_visible()
        page.goto(f"{home.address}/search?q=zeppelin&since={since}&before={since}")
        expect(page.get_by_role("heading", name="Nothing was found")).to_be_visible()
