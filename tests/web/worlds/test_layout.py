"""The pages of a world as a player sees them: nothing covered or cut, and always a next step."""

import re
from collections.abc import Iterator
from pathlib import Path
from zipfile import ZIP_STORED, ZipFile

import pytest
from playwright.sync_api import Locator, Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page, start_demo_server
from tests.web.servers import Server

from everloop.app import USER
from everloop.worlds import ChangePresence, list_worlds

pytestmark = pytest.mark.xdist_group("pages")

BACKGROUND = """portrait => {
  const canvas = document.createElement('canvas').getContext('2d');
  canvas.fillStyle = getComputedStyle(portrait).backgroundColor;
  canvas.fillRect(0, 0, 1, 1);
  return [...canvas.getImageData(0, 0, 1, 1).data];
}"""
TOPS = "buttons => buttons.map(one => one.getBoundingClientRect().top)"  # at once: a sheet moves


@pytest.fixture
def demo(demo_home: Path, tmp_path: Path) -> Iterator[Server]:
    with start_demo_server(demo_home, tmp_path) as server:
        yield server


def open_world(server: Server, visit: Visit, view: str = "scene") -> Page:
    """Open a view of the demo's world."""
    with server.engine.reading() as reader:
        world_id = list_worlds(reader)[0].world_id
    return open_page(server, visit, f"/worlds/{world_id}?view={view}")


def bottom(shown: Locator) -> float:
    """Where something on the page ends."""
    box = shown.bounding_box()
    assert box is not None
    return box["y"] + box["height"]


def top(shown: Locator) -> float:
    """Where something on the page begins."""
    box = shown.bounding_box()
    assert box is not None
    return box["y"]


def expect_below(toast: Locator, bars: list[Locator]) -> None:
    """A toast is shown, and begins where all of these have ended."""
    expect(toast).to_be_visible()
    for bar in bars:
        assert top(toast) >= bottom(bar)


def test_a_toast_covers_no_tab(
    demo: Server, visit: Visit, screenshot: Screenshot, size: str
) -> None:
    page = open_world(demo, visit)
    toasts = page.get_by_role("status").locator("div")
    page.get_by_role("button", name="Actions of this line").last.click()
    page.get_by_role("menuitem", name="Branch from here").click()
    panes = [page.get_by_role("tablist", name="View")] if size == "phone" else []
    views = page.get_by_role("navigation", name="Views of this world")
    expect_below(toasts.filter(has_text="You are on a new branch"), [views, *panes])
    screenshot(page, "world-toast")

    views.get_by_text("Settings").click()
    page.get_by_role("button", name="Archive", exact=True).click()
    library = page.get_by_role("tablist", name="Worlds")
    expect(library).to_be_visible()
    expect_below(toasts.filter(has_text="Archived"), [library])


def test_where_everybody_left_the_narrator_replies_and_they_can_come_back(
    demo: Server, visit: Visit, screenshot: Screenshot
) -> None:
    with demo.engine.reading() as reader:
        world_id = list_worlds(reader)[0].world_id
    demo.engine.do(ChangePresence(world_id, ("you",)), by=USER)
    page = open_world(demo, visit)
    expect(page.locator("[data-alone]")).to_contain_text("Only you are here.")
    replies = page.get_by_label("Who replies")
    expect(replies.locator("option:checked")).to_have_text("the narrator")
    screenshot(page, "world-alone")
    page.get_by_role("button", name="Ada enters").click()
    expect(page.locator("[data-alone]")).to_have_count(0)
    expect(replies.locator("option:checked")).to_have_text("Ada")


def test_escape_leaves_a_line_as_it_was(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit)
    newest = page.locator("[data-message]").last
    text = newest.locator(".said").first.inner_text()
    newest.get_by_role("button", name="Actions of this line").click()
    page.get_by_role("menuitem", name="Edit").click()
    field = page.get_by_label("Text of this line")
    expect(field).to_be_focused()
    field.fill("Something else")
    field.press("Escape")
    expect(field).to_have_count(0)
    expect(newest.locator(".said").first).to_have_text(text)


def test_an_arrow_shows_that_more_views_follow(demo: Server, visit: Visit, size: str) -> None:
    page = open_world(demo, visit)
    more = page.locator("[data-more-tabs]")
    expect(page.get_by_label("Write a line")).to_be_visible()
    expect(more).to_have_count(1 if size == "phone" else 0)
    page.get_by_role("navigation", name="Views of this world").get_by_text("Settings").click()
    expect(page.get_by_label("Title")).to_be_visible()
    expect(more).to_have_count(0)


def test_the_keyboard_goes_to_a_relationship_and_back(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit, "relationships")
    first = page.get_by_role("table").get_by_role("button").first
    first.press("Enter")
    everyone = page.get_by_role("button", name="All relationships")
    expect(everyone).to_be_focused()
    everyone.press("Enter")
    expect(first).to_be_focused()


def test_a_portrait_without_a_picture_has_the_hue_of_its_person(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit)
    ben = page.locator("[data-person]").filter(has_text="What does Ben know?")
    red, _, blue, _ = ben.locator("span[aria-hidden]").first.evaluate(BACKGROUND)
    assert blue > red


def test_what_someone_missed_is_not_faded(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit, "memory")
    page.get_by_label("Show what Ben missed").check()
    expect(page.locator("[data-known=false]").first).to_have_css("opacity", "1")


def test_an_object_that_is_kept_says_whose_it_is(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit, "props")
    whistle = page.locator("[data-prop='tin whistle']")
    expect(whistle).to_contain_text("Ada has it")
    expect(page.locator("[data-prop='red blanket']")).to_contain_text("the event was completed")
    whistle.get_by_role("button", name="Ada no longer has tin whistle").click()
    expect(whistle).not_to_contain_text("Ada has it")


def test_a_world_without_characters_always_says_what_to_do_next(
    demo: Server, visit: Visit, screenshot: Screenshot
) -> None:
    page = open_page(demo, visit, "/worlds")
    page.get_by_role("button", name="New world").click()
    sheet = page.get_by_role("dialog", name="New world")
    expect(sheet.get_by_text("Still needed")).to_be_visible()
    assert len(set(sheet.locator("footer button").evaluate_all(TOPS))) == 1
    sheet.get_by_label("Your name in the story").fill("Robin")
    sheet.get_by_label("Where it begins").fill("The quay")
    when = sheet.get_by_label("When it begins")
    assert when.evaluate("field => field.clientWidth") > 250  # date, time and the picker
    sheet.get_by_role("button", name="Begin", exact=True).click()
    views = page.get_by_role("navigation", name="Views of this world")
    for view, step in (
        ("Relationships", "Open the story"),
        ("Memory", "Open the story"),
        ("Props", "Plan an event"),
        ("Branches", "Open the story"),
        ("Prompt", "Open the story"),
    ):
        views.get_by_text(view).click()
        expect(page).to_have_url(re.compile(f"view={view.lower()}"))
        expect(page.get_by_role("main").get_by_role("link", name=step)).to_be_visible()
        screenshot(page, f"world-empty-{view.lower()}")


def test_the_book_is_an_epub_with_its_chapters_in_order(demo: Server, visit: Visit) -> None:
    page = open_world(demo, visit, "settings")
    with page.expect_download() as download:
        page.get_by_role("link", name="Book (EPUB)").click()
    assert download.value.suggested_filename.endswith(".epub")
    with ZipFile(download.value.path()) as book:
        first = book.infolist()[0]
        assert (first.filename, first.compress_type) == ("mimetype", ZIP_STORED)
        chapters = re.findall(
            r"<li><a href=\"[^\"]+\">(\d+)\. ", book.read("EPUB/nav.xhtml").decode()
        )
    assert chapters == [str(number) for number in range(1, 13)]


def take_spot(page: Page, who: str, spot: str) -> Locator:
    """Set where somebody is, and give back the sheet."""
    page.get_by_role("button", name=f"Change how {who} is").click()
    sheet = page.get_by_role("dialog", name=who)
    sheet.get_by_label("Where").fill(spot)
    sheet.get_by_role("button", name="Save").click()
    return sheet


def test_a_slot_that_is_taken_is_refused_with_who_has_it(
    demo: Server, visit: Visit, screenshot: Screenshot, size: str
) -> None:
    page = open_world(demo, visit)
    if size == "phone":
        page.get_by_role("tab", name="Cast and place").click()
    page.get_by_role("button", name="Change this place").click()
    sheet = page.get_by_role("dialog")
    slots = sheet.locator("[data-slot]")
    had = slots.count()
    sheet.get_by_role("button", name="Add a slot").click()
    slots.nth(had).get_by_label("Slot", exact=True).fill("window seat")
    screenshot(page, "world-place")
    sheet.get_by_role("button", name="Save").click()
    expect(sheet).to_be_hidden()
    expect(page.get_by_label("Place and time")).to_contain_text("window seat")

    expect(take_spot(page, "Ada", "window seat")).to_be_hidden()
    ada = page.locator("[data-person]").filter(has_text="What does Ada know?")
    expect(ada).to_contain_text("at window seat")
    screenshot(page, "world-slot")
    refused = take_spot(page, "Ben", "window seat")
    expect(refused).to_be_visible()
    expect(page.get_by_text("is taken by Ada")).to_be_visible()
    screenshot(page, "world-slot-taken")
