"""The memory pages: list, single memory, search explanations, and timeline."""

import re
from datetime import date, timedelta
from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import WAIT_MS, Screenshot, Visit
from tests.web.demo_server import demo_day, find_memory, open_page, start_demo_server
from tests.web.servers import start_server

from everloop.app import USER
from everloop.errors import ModelFailed
from everloop.memory.model.commands import RateItem, RememberItem, ReviseItem
from everloop.memory.model.scopes import OWNER

pytestmark = pytest.mark.xdist_group("pages")

TARGET = "budget for the kitchen is 16,500"
ROW = "#main div:has(> a[href^='/memory/'])"


def test_contradicting_memories_are_shown_side_by_side(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory/{find_memory(server, TARGET)}")
        both = page.get_by_text("These contradict each other").locator("..")
        expect(both).to_contain_text("16,500 euros")
        expect(both).to_contain_text("14,000 euros")
        both.get_by_role("link", name="Open").click()
        expect(page.locator(".prose").first).to_contain_text("14,000 euros")


def test_a_memory_is_edited_and_deleted_in_the_list(
    demo_home: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    def act(name: str) -> None:
        if size == "desktop":
            row.get_by_role("button", name=name).click()
        else:
            row.get_by_role("button", name="Actions").click()
            page.get_by_role("menuitem", name=name).click()

    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory")
        row = page.locator(ROW).filter(has_text="The dog")
        act("Edit")
        page.get_by_label("Title").fill("No dog")
        page.get_by_role("button", name="Save").click()
        row = page.locator(ROW).filter(has_text="No dog of our own")
        expect(row).to_contain_text("No dog")
        act("Delete")
        deleted = page.get_by_text("Deleted.")
        expect(deleted).to_be_visible()
        expect(row).to_have_count(0)
        deleted.locator("..").get_by_role("button", name="Undo").click()
        expect(row).to_have_count(1)


def test_a_memory_page_leads_with_one_sentence(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory/{find_memory(server, 'second key')}")
        expect(page.get_by_text("You saved this on", exact=False)).to_contain_text(
            "answers can use it."
        )


def test_search_explains_why_a_memory_is_found_or_not(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory/{find_memory(server, TARGET)}")
        question = page.get_by_label("Would it be found for this question?")
        question.fill("What is the budget for the kitchen?")
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_text("This memory would be found.")).to_be_visible()
        question.fill("Who bakes below?")
        page.get_by_role("button", name="Explain").click()
        expect(page.get_by_text("This memory would not be found.")).to_be_visible()
        page.get_by_text("steps of the search").click()
        expect(page.get_by_text("Excluded here")).to_be_visible()


def test_semantic_indexing_progress_is_shown_until_it_is_done(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        embedding = server.running.embedding
        assert embedding is not None
        assert embedding.idle.wait(WAIT_MS / 1_000)
        embedding.progress, embedding.problem = (120, 480), ModelFailed("the endpoint answered 429")
        page = open_page(server, visit, "/memory")
        expect(page.get_by_role("progressbar", name="Semantic indexing")).to_be_visible()
        expect(page.get_by_text("120 of 480 passages")).to_be_visible()
        expect(page.get_by_text("answered 429")).to_be_visible()
        screenshot(page, "memory-reading")
        embedding.progress, embedding.problem = (0, 0), None
        expect(page.get_by_role("progressbar")).to_have_count(0)


def test_near_duplicates_are_listed(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    lines = "we sand it, let it dry for a night, turn the board, and oil the other side as well"
    long = f"Before a board is oiled, {lines}; then the rag goes into the water outside the door."
    with start_server(tmp_path) as server:
        server.engine.memory.remember(RememberItem("mem-one", long), by=USER)
        other = long.replace("for a night", "for a whole night")
        server.engine.memory.remember(RememberItem("mem-two", other), by=USER)
        page = open_page(server, visit, "/memory/mem-one")
        near = page.get_by_role("heading", name="Near duplicates").locator("..")
        expect(near).to_be_visible()
        screenshot(page, "memory-nearly-the-same")
        near.get_by_role("link").click()
        expect(page.locator(".prose").first).to_contain_text("a whole night")


def test_adding_a_memory_can_be_undone(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/memory")
        page.get_by_role("button", name="Add memory", exact=True).first.click()
        page.get_by_label("Text", exact=True).fill("The blue key is for the bicycle.")
        page.get_by_role("dialog").get_by_role("button", name="Add", exact=True).click()
        expect(page.locator(".prose")).to_contain_text("The blue key")
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("heading", name="No memories found")).to_be_visible()


def test_editing_a_memory_can_be_undone(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory/{find_memory(server, 'second key')}")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill("The spare key hangs at Ruth's.")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.locator(".prose")).to_contain_text("at Ruth's")
        expect(page.get_by_role("heading", name="Earlier versions")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.locator(".prose")).to_contain_text("with Mrs Lindner")


def test_a_title_derived_from_the_text_changes_with_it(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("mem-1", text="The key hangs in the hall. Anna said so."))
        page = open_page(server, visit, "/memory/mem-1")
        page.get_by_role("button", name="Edit").click()
        page.get_by_label("Text", exact=True).fill("Ben has the key. Anna said so.")
        page.get_by_role("dialog").get_by_role("button", name="Save").click()
        expect(page.get_by_role("heading", level=1)).to_contain_text("Ben has the key")


@pytest.mark.promise("P-MEM-5")
@pytest.mark.parametrize("live", [True, False], ids=["by event", "when saving"])
def test_an_edit_conflict_shows_the_text_of_the_other_device(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, live: bool
) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("mem-1", "The key is under the pot."))
        page = open_page(server, visit, "/memory/mem-1")
        if not live:
            page.route("**/api/stream*", lambda route: route.abort())
            page.reload()
        page.get_by_role("button", name="Edit").click()
        mine = page.get_by_label("Text", exact=True)
        mine.fill("Ann has the key.")
        server.engine.do(ReviseItem("mem-1", text="The key is under the mat."))
        form = page.get_by_role("dialog")
        if not live:
            form.get_by_role("button", name="Save").click()
        newer = form.get_by_role("alert")
        expect(newer).to_contain_text("under the mat")
        expect(mine).to_have_value("Ann has the key.")
        screenshot(page, "memory-changed-meanwhile")
        form.get_by_role("button", name="Overwrite").click()
        expect(page.locator(".prose").first).to_contain_text("Ann has the key")
        expect(page.get_by_text("under the mat")).to_be_visible()


def test_discarding_an_edit_keeps_the_text_of_the_other_device(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("mem-1", "The key is under the pot."))
        page = open_page(server, visit, "/memory/mem-1")
        page.get_by_role("button", name="Edit").click()
        mine = page.get_by_label("Text", exact=True)
        server.engine.do(ReviseItem("mem-1", text="The key is under the mat."))
        expect(mine).to_have_value("The key is under the mat.")
        mine.fill("Ann has the key.")
        server.engine.do(ReviseItem("mem-1", text="Ben has the key."))
        page.get_by_role("button", name="Discard my changes").click()
        expect(page.locator(".prose").first).to_contain_text("Ben has the key.")
        assert server.engine.memory.find(OWNER, "mem-1").text == "Ben has the key."


def test_archiving_a_memory_shows_the_consequences(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/memory/{find_memory(server, 'second key')}")
        page.get_by_role("button", name="Archive").click()
        asked = page.get_by_role("dialog")
        expect(asked).to_contain_text("answers will no longer use it")
        asked.get_by_role("button", name="Archive").click()
        expect(page.get_by_text("Archived", exact=False).first).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Archive")).to_be_visible()


def test_the_timeline_is_zoomed_by_click_and_by_keyboard(
    demo_home: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    told = demo_day(139)
    month, day_name = f"{told:%B %Y}", f"{told.day} {told:%B}"  # this year is not named
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/memory?view=timeline")
        bands = page.get_by_role("group", name="Timeline")
        bands.get_by_role("button", name=re.compile(f"^{month}: ")).click()
        expect(page.get_by_role("heading", name=month)).to_be_visible()
        assert "window=month" in page.url
        if size == "phone":  # a day of a month is too narrow for a thumb: the list leads there
            page.locator("main li").get_by_role("button", name=_week_in_month(told)).click()
            page.locator("main li").get_by_role("button", name=re.compile(rf"\b{day_name}")).click()
        else:
            bands.get_by_role("button", name=re.compile(rf"\b{day_name}")).focus()
            page.keyboard.press("Enter")
        expect(page.get_by_text("Ella skipped one day", exact=False).first).to_be_visible()
        bands.get_by_role("button").last.focus()
        page.keyboard.press("Escape")
        expect(page.get_by_role("heading", name=re.compile(rf"\b{day_name}"))).to_have_count(0)
        for _ in range(3 if size == "phone" else 2):
            page.go_back()
        expect(page.get_by_role("heading", name=month)).to_be_visible()


def _week_in_month(day: date) -> str:
    """The week of a day as the page names it: the part of it that is in the month."""
    monday = day - timedelta(days=day.weekday())
    days = [monday + timedelta(days=n) for n in range(7)]
    days = [one for one in days if one.month == day.month]
    return f"{days[0].day} {days[0]:%b} to {days[-1].day} {days[-1]:%b}"


def test_only_visible_memories_are_rendered(tmp_path: Path, visit: Visit) -> None:
    count = 3_000
    with start_server(tmp_path) as server:
        server.engine.do_many(
            [RememberItem(f"mem-{n}", f"Note {n} about thing {n * 7}") for n in range(count)],
            by=USER,
        )
        page = open_page(server, visit, "/memory")
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


def test_undoing_an_importance_restores_the_displaced_pin(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        for number in range(9):
            server.engine.do(RememberItem(f"mem-{number}", f"It is about {number}."))
        for number in range(8):
            server.engine.do(RateItem(f"mem-{number}", 3))
        page = open_page(server, visit, "/memory/mem-8")
        page.get_by_role("group", name="Importance").get_by_text("3", exact=True).click()
        expect(page.get_by_role("button", name="Unpin")).to_be_visible()
        assert not server.engine.memory.find(OWNER, "mem-0").pinned
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_role("button", name="Pin")).to_be_visible()
        assert server.engine.memory.find(OWNER, "mem-0").pinned


def test_a_failed_change_of_importance_is_reverted(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("mem-1", "The blue key."))
        page = open_page(server, visit, "/memory/mem-1")
        weight = page.get_by_role("group", name="Importance")
        expect(weight.get_by_label("0")).to_be_checked()
        page.route("**/api/memories/mem-1", lambda route: route.abort())
        weight.get_by_text("2", exact=True).click()
        expect(page.get_by_text("Try again when you are connected.")).to_be_visible()
        expect(weight.get_by_label("0")).to_be_checked()


@pytest.mark.parametrize("since", ["nonsense", "0002-01-01", "2026-99-99"])
def test_an_invalid_date_in_the_address_is_ignored(
    tmp_path: Path, visit: Visit, since: str
) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("mem-1", "The blue key."))
        page = open_page(server, visit, f"/memory?since={since}")
        expect(page.get_by_text("The blue key.")).to_be_visible()
        page.goto(f"{server.address}/search?q=zeppelin&since={since}&before={since}")
        expect(page.get_by_role("heading", name="No results")).to_be_visible()


def test_where_nothing_fits_the_closest_memories_are_folded_below(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_server(tmp_path) as server:
        server.engine.do(RememberItem("msg-1", "Do the tulips need water?", kind="message"))
        page = open_page(server, visit, "/memory?view=ask&q=Which tulips need water?")
        expect(page.get_by_role("heading", name="No good match")).to_be_visible()
        closest = page.locator("[data-closest]")
        expect(closest.get_by_text("Do the tulips need water?")).to_be_hidden()
        closest.locator("summary").click()
        expect(closest.get_by_text("Do the tulips need water?")).to_be_visible()
        screenshot(page, "memory-ask-closest")
