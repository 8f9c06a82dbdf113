"""A world in the browser, played with a scripted renderer: from a dropped card to two branches."""

import base64
from collections.abc import Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import Server, start_server
from tests.worlds.exchange.samples import V2, png_card

from everloop.app import USER
from everloop.worlds import CharacterSheet, WorldSettings

pytestmark = pytest.mark.xdist_group("web")

WHISPER = "The key is under the zephyr stone."
REPLIES = [
    '*Ada looks up.* "You are late, Robin."',
    '*Ada nods slowly.* "I will tell nobody."',
    '*Ada laughs.* "Then we go tonight."',
    '*Ada shakes her head.* "No."',
    "Yes, she says. Yes.",
]
SITUATION = "{{user}} meets {{char}} on the quay. The last ferry is late."
CARD = png_card({"chara": {**V2, "data": {**V2["data"], "scenario": SITUATION}}})
CARRY = """packed => {
  const bytes = Uint8Array.from(atob(packed), one => one.charCodeAt(0));
  const carried = new DataTransfer();
  carried.items.add(new File([bytes], 'ada.png', { type: 'image/png' }));
  return carried;
}"""


def drop_card(page: Page) -> None:
    """Drop Ada's card on the page of worlds."""
    carried = page.evaluate_handle(CARRY, base64.b64encode(CARD).decode())
    page.locator(".page").dispatch_event("drop", {"dataTransfer": carried})


def import_card(page: Page, screenshot: Screenshot) -> None:
    """See what the card would bring, and confirm it."""
    drop_card(page)
    sheet = page.get_by_role("dialog", name="Import ada.png?")
    expect(sheet).to_contain_text("It brings 1 character. Nothing is written yet.")
    expect(sheet.get_by_label("Import preview")).to_contain_text("Ada")
    screenshot(page, "world-import-preview")
    sheet.get_by_role("button", name="Import", exact=True).click()
    done = page.get_by_role("dialog", name="Imported ada.png")
    screenshot(page, "world-imported")
    done.get_by_role("button", name="Begin a world").click()


def confirm_opening(page: Page, screenshot: Screenshot) -> None:
    """Complete what the card proposes, and begin."""
    sheet = page.get_by_role("dialog", name="New world")
    expect(sheet.locator("[data-proposed]")).to_contain_text("s card. Change what you like")
    expect(sheet.get_by_label("What is going on")).to_have_value(
        "you meets Ada on the quay. The last ferry is late."
    )
    sheet.locator("label", has_text="Ben").click()
    sheet.get_by_label("Your name in the story").fill("Robin")
    expect(sheet.get_by_label("What is going on")).to_have_value(
        "Robin meets Ada on the quay. The last ferry is late."
    )
    sheet.get_by_label("Where it begins").fill("The quay")
    sheet.get_by_label("Begin with Ada").uncheck()
    screenshot(page, "world-opening")
    sheet.get_by_role("button", name="Begin", exact=True).click()
    expect(page.get_by_text("The scene is set")).to_be_visible()


def say(page: Page, text: str, count: int) -> None:
    """Say a line and wait until there are so many lines."""
    page.get_by_label("Write a line").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    expect(page.locator("[data-message]")).to_have_count(count)


def whisper_past_ben(page: Page) -> None:
    """Leave Ben out; that stays so after a look at another view."""
    heard = page.get_by_role("group", name="Who hears this line")
    heard.get_by_role("button", name="Ben").click()
    page.get_by_label("Write a line").fill("The key")
    view(page, "Memory")
    view(page, "Scene")
    expect(page.get_by_label("Write a line")).to_have_value("The key")
    expect(heard.get_by_role("button", name="Ben")).to_have_attribute("aria-pressed", "false")


def show_cast(page: Page, size: str) -> None:
    """On a phone, the cast is one tap away."""
    if size == "phone":
        page.get_by_role("tab", name="Cast and place").click()


def view(page: Page, name: str) -> None:
    """Open another view of the world."""
    page.get_by_role("navigation", name="Views of this world").get_by_text(name).click()


@pytest.fixture
def stage(tmp_path: Path) -> Iterator[Server]:
    with start_server(tmp_path, REPLIES, worlds=WorldSettings(extraction="rules")) as server:
        server.engine.worlds.author(CharacterSheet("Ben", "Ben waits for a ferry."), USER)
        yield server


def test_an_evening_with_two_characters(  # noqa: PLR0915 - one journey, told in order
    stage: Server, visit: Visit, screenshot: Screenshot, size: str
) -> None:
    page = visit(stage.link())
    page.get_by_role("navigation", name="Main").get_by_text("Worlds").click()
    expect(page.get_by_text("No worlds yet")).to_be_visible()
    screenshot(page, "worlds-empty")
    import_card(page, screenshot)
    confirm_opening(page, screenshot)
    screenshot(page, "world-new")

    say(page, "Good evening, Ada.", 2)
    whisper_past_ben(page)
    say(page, f'"{WHISPER}" ((keep this from Ben))', 4)
    expect(page.get_by_text("I will tell nobody.")).to_be_visible()
    screenshot(page, "world-scene")

    page.get_by_role("button", name="Write another version").click()
    expect(page.get_by_text("2/2")).to_be_visible()
    expect(page.get_by_text("Then we go tonight.")).to_be_visible()
    page.get_by_role("button", name="Previous version").click()
    expect(page.get_by_text("I will tell nobody.")).to_be_visible()

    show_cast(page, size)
    screenshot(page, "world-cast")
    page.get_by_role("button", name="Skip time").click()
    page.get_by_role("button", name="10 minutes").click()
    screenshot(page, "world-skip")
    page.get_by_role("button", name="Skip", exact=True).click()
    expect(page.locator("[data-clock]")).to_contain_text("19:10")

    view(page, "Memory")
    page.get_by_label("Whose memory").get_by_text("Ben").click()
    ben = page.locator("[data-knowledge]")
    expect(ben).to_contain_text("You are late, Robin.")
    expect(ben).not_to_contain_text("zephyr")
    page.get_by_label("Show what Ben missed").check()
    expect(page.locator("[data-known=false]").first).to_contain_text("zephyr")
    screenshot(page, "world-memory")
    rate_what_ada_recalls(page, screenshot)
    view(page, "Prompt")
    page.get_by_label("Whose prompt").get_by_text("Ben").click()
    expect(page.locator("[data-withheld=outside]")).to_contain_text("keep this from Ben")
    screenshot(page, "world-prompt")

    view(page, "Scene")
    page.get_by_role("button", name="Rewind", exact=True).click()
    page.get_by_label("Line 4 of 4").fill("2")
    expect(page.locator("[data-impact]")).to_contain_text("lines")
    screenshot(page, "world-rewind")
    page.get_by_role("button", name="Go back to before it").click()
    expect(page.locator("[data-message]")).to_have_count(2)
    say(page, "Shall we go?", 4)

    view(page, "Branches")
    expect(page.get_by_role("checkbox")).to_have_count(2)
    for box in page.get_by_role("checkbox").all():
        box.check()
    screenshot(page, "world-branches")
    page.get_by_role("link", name="Compare").click()
    expect(page.get_by_label("First branch")).to_contain_text("zephyr")
    expect(page.get_by_label("Second branch")).to_contain_text("Shall we go?")
    screenshot(page, "world-compare")

    view(page, "Scene")
    close_scene(page, size)
    screenshot(page, "world-closed")
    show_cast(page, size)
    page.get_by_role("link", name="What does Ada know?").click()
    ada = page.locator("[data-knowledge]")
    expect(ada.locator("[data-own-summary]")).to_have_count(1)
    ada.get_by_text("lines that reached Ada").click()
    expect(ada).to_contain_text("Shall we go?")
    expect(ada).not_to_contain_text("zephyr")  # on this branch it was never said
    view(page, "Relationships")
    expect(page.locator("[data-edge]")).to_have_count(6)
    screenshot(page, "world-relationships")
    take_it_along(page)
    let_ben_leave(page, size)
    page.get_by_role("navigation", name="Main").get_by_text("Worlds").click()
    picture = page.locator("[data-cast] img")  # of Ada
    expect(picture).to_have_count(1)
    picture.evaluate("image => image.decode()")  # it is one that the browser can show
    screenshot(page, "worlds")


def take_it_along(page: Page) -> None:
    """Download the book and the world."""
    view(page, "Settings")
    for name, ending, words in (
        ("Book (Markdown)", ".md", "Shall we go?"),
        ("World (JSON)", ".json", "zephyr"),  # it was said on the other branch
    ):
        with page.expect_download() as download:
            page.get_by_role("link", name=name).click()
        assert download.value.suggested_filename.endswith(ending)
        assert words in download.value.path().read_text()


def let_ben_leave(page: Page, size: str) -> None:
    """Ben leaves the story; what he saw stays his, under his name."""
    view(page, "Scene")
    show_cast(page, size)
    page.get_by_role("button", name="Change how Ben is").click()
    page.get_by_role("button", name="Leaves the story").click()
    expect(page.get_by_text("Ben leaves the story")).to_be_visible()
    view(page, "Course")
    expect(page.get_by_text("As Ben remembers it")).to_have_count(1)


def rate_what_ada_recalls(page: Page, screenshot: Screenshot) -> None:
    """Rate all that Ada may recall at once, and pin the first."""
    page.get_by_label("Whose memory").get_by_text("Ada").click()
    page.get_by_label("What to show").get_by_text("To recall").click()
    recalled = page.locator("[data-memory]")
    expect(recalled.first).to_be_visible()
    expect(page.get_by_label("Memories")).to_contain_text("zephyr")
    page.get_by_role("checkbox", name="All").check()
    page.get_by_role("combobox", name="selected").select_option("Significant")
    expect(page.locator("[data-significance='2']")).to_have_count(recalled.count())
    recalled.first.get_by_role("button", name="Pin").click()
    expect(recalled.first.get_by_role("button", name="Unpin")).to_be_visible()
    screenshot(page, "world-recall")


def close_scene(page: Page, size: str) -> None:
    """Close the scene, and read what each one keeps of it."""
    show_cast(page, size)
    page.get_by_role("button", name="Close the scene").click()
    page.get_by_label("How it ends").fill("The ferry comes.")
    page.get_by_role("dialog").get_by_role("button", name="Close the scene").click()
    if size == "phone":
        page.get_by_role("tab", name="Story").click()
    expect(page.get_by_text("Scene 1 is closed")).to_be_visible()
    expect(page.locator("[data-summary]")).to_have_count(3)
