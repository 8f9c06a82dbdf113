"""The lessons pages: requirements for approval, feedback, and trusted programs."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import find_lesson, open_page, start_demo_server
from tests.web.servers import start_server

from everloop.app import USER
from everloop.lessons.model.commands import ProposeLesson

pytestmark = pytest.mark.xdist_group("pages")


def test_the_requirements_are_listed_with_their_next_steps(
    demo_home: Path, tmp_path: Path, visit: Visit
) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(
            server, visit, f"/lessons/{find_lesson(server, 'Never write to her boss')}"
        )
        gate = page.get_by_label("Requirements for approval")
        expect(gate.get_by_role("listitem")).to_have_count(9)
        expect(gate).to_contain_text("of 9 requirements met")
        expect(gate).to_contain_text("Next step:")
        page.get_by_role("button", name="Check for approval").click()
        expect(page.get_by_text("Not approved yet:", exact=False)).to_be_visible()


def test_feedback_can_be_undone(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, f"/lessons/{find_lesson(server, 'Count first')}")
        expect(page.get_by_text("0 not helpful")).to_be_visible()
        page.get_by_role("button", name="Not helpful").click()
        expect(page.get_by_text("1 not helpful")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("0 not helpful")).to_be_visible()


def test_a_lesson_is_proposed_tried_and_discarded(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/lessons")
        page.get_by_role("button", name="Propose a lesson").first.click()
        page.get_by_label("Title").fill("Short answers in the morning")
        page.get_by_label("What to do, and when").fill("Before nine: three sentences at most.")
        page.get_by_role("button", name="Propose", exact=True).click()
        expect(page.get_by_role("heading", name="Short answers in the morning")).to_be_visible()
        page.get_by_role("button", name="Start trial").click()
        expect(page.get_by_text("In trial", exact=True)).to_be_visible()
        page.get_by_role("button", name="Discard").click()
        page.get_by_role("dialog").get_by_role("button", name="Discard").click()
        expect(page.get_by_text("Discarded", exact=True)).to_be_visible()


def test_trust_in_a_program_can_be_given_and_removed(tmp_path: Path, visit: Visit) -> None:
    with start_server(tmp_path) as server:
        page = open_page(server, visit, "/lessons?view=hosts")
        page.get_by_label("Program name").fill("editor")
        page.get_by_role("button", name="Trust", exact=True).click()
        page.get_by_role("button", name="Remove trust").click()
        expect(page.get_by_text("Not trusted since", exact=False)).to_be_visible()


def test_a_team_links_to_its_members(demo_home: Path, tmp_path: Path, visit: Visit) -> None:
    with start_demo_server(demo_home, tmp_path) as server:
        page = open_page(server, visit, "/lessons?view=team")
        main = page.locator("#main")
        main.get_by_role("link", name="The household").click()
        expect(page.get_by_role("heading", name="The household", level=1)).to_be_visible()
        expect(main).to_contain_text("The tutor reads what goes to Valencia.")
        main.get_by_role("link", name="bookkeeper").click()
        expect(main).to_contain_text("Give sums with their parts.")
        main.get_by_role("link", name="Personas").click()
        expect(page.get_by_role("tab", name="Personas")).to_have_attribute("aria-selected", "true")


def test_scrolling_loads_all_lessons(tmp_path: Path, visit: Visit) -> None:
    count = 620
    with start_server(tmp_path) as server:
        server.engine.do_many(
            [
                ProposeLesson(f"les-{n}", f"Rule {n} of many", "Do it so.", author="user")
                for n in range(count)
            ],
            by=USER,
        )
        page = open_page(server, visit, "/lessons")
        expect(page.get_by_text(f"{count} lessons")).to_be_visible()
        rows = page.locator("#main a[href^='/lessons/les-']")
        expect(rows.first).to_be_visible()
        seen = page.evaluate(
            """async (count) => {
                const main = document.getElementById('main'), seen = new Set();
                for (let step = 0; seen.size < count && step < 4000; step++) {
                    for (const link of main.querySelectorAll("a[href^='/lessons/les-']"))
                        seen.add(link.getAttribute('href'));
                    main.scrollBy(0, 500);
                    await new Promise(requestAnimationFrame);
                }
                return seen.size;
            }""",
            count,
        )
        assert seen == count
        assert rows.count() < 100
