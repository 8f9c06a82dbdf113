"""Lessons: the gate as doors, what a person says to it, and whom they trust."""

from pathlib import Path

import pytest
from playwright.sync_api import expect
from tests.web.conftest import Visit
from tests.web.demo_server import demo_house, enter, lesson_called
from tests.web.servers import house

from everloop.app import USER
from everloop.lessons.model.commands import ProposeLesson

pytestmark = pytest.mark.xdist_group("pages")


def test_the_gate_shows_each_door_with_its_fact(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/lessons/{lesson_called(home, 'Never write to customers')}")
        gate = page.get_by_label("The gate")
        expect(gate.get_by_role("listitem")).to_have_count(9)
        expect(gate).to_contain_text("doors are shut")
        expect(gate).to_contain_text("To open it: let a runner outside the agent try it")
        page.get_by_role("button", name="Ask the gate").click()
        expect(page.get_by_text("The gate stays shut.", exact=False)).to_be_visible()


def test_feedback_is_given_and_taken_back(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, f"/lessons/{lesson_called(home, 'Count first')}")
        expect(page.get_by_text("0 harmed")).to_be_visible()
        page.get_by_role("button", name="It harmed").click()
        expect(page.get_by_text("1 harmed")).to_be_visible()
        page.get_by_role("button", name="Undo").click()
        expect(page.get_by_text("0 harmed")).to_be_visible()


def test_a_rule_is_put_forward_tried_and_let_go(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/lessons")
        page.get_by_role("button", name="Put a rule forward").first.click()
        page.get_by_label("In one line").fill("Short answers in the morning")
        page.get_by_label("What to do, and when").fill("Before nine: three sentences at most.")
        page.get_by_role("button", name="Put forward", exact=True).click()
        expect(page.get_by_role("heading", name="Short answers in the morning")).to_be_visible()
        page.get_by_role("button", name="Put on trial").click()
        expect(page.get_by_text("On trial", exact=True)).to_be_visible()
        page.get_by_role("button", name="Let it go").click()
        page.get_by_role("dialog").get_by_role("button", name="Let it go").click()
        expect(page.get_by_text("Let go", exact=True)).to_be_visible()


def test_a_host_is_trusted_and_no_more(tmp_path: Path, visit: Visit) -> None:
    with house(tmp_path) as home:
        page = enter(home, visit, "/lessons?view=hosts")
        page.get_by_label("Trust another").fill("editor")
        page.get_by_role("button", name="Trust", exact=True).click()
        page.get_by_role("button", name="Trust no more").click()
        expect(page.get_by_text("Not trusted since", exact=False)).to_be_visible()


def test_a_team_opens_and_leads_to_its_members(year: Path, tmp_path: Path, visit: Visit) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/lessons?view=team")
        main = page.locator("#main")
        main.get_by_role("link", name="The workshop").click()
        expect(page.get_by_role("heading", name="The workshop", level=1)).to_be_visible()
        expect(main).to_contain_text("The tutor reads what goes to Porto.")
        main.get_by_role("link", name="bookkeeper").click()
        expect(main).to_contain_text("Give sums with their parts.")
        main.get_by_role("link", name="Personas").click()
        expect(page.get_by_role("tab", name="Personas")).to_have_attribute("aria-selected", "true")


def test_more_lessons_than_come_at_once_are_all_reached(tmp_path: Path, visit: Visit) -> None:
    count = 620
    with house(tmp_path) as home:
        home.engine.do_many(
            [
                ProposeLesson(f"les-{n}", f"Rule {n} of many", "Do it so.", author="user")
                for n in range(count)
            ],
            by=USER,
        )
        page = enter(home, visit, "/lessons")
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
