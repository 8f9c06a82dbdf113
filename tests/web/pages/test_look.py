"""Every page in both sizes, by day and by night: it fits, axe finds nothing, keys suffice."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.demo_server import demo_house, enter, item_saying, lesson_called
from tests.web.security.test_access import faults
from tests.web.servers import House
from tests.web.thread.test_thread import say

from everloop.memory.model.scopes import OWNER

pytestmark = pytest.mark.xdist_group("pages")

ANSWER = "At most fifty percent, since the third of May."
PAGES = {
    "thread-year": "/",
    "conversation": "/t/{thread}",
    "search": "/search?q=humidity",
    "memory": "/memory",
    "memory-summaries": "/memory?sort=summary",
    "memory-timeline": "/memory?view=timeline",
    "memory-window": "/memory?view=timeline&window=month:2025-06",
    "memory-stretch": "/memory?view=timeline&from=2025-05-01&until=2025-06-20",
    "memory-ask": "/memory?view=ask&q=what%20is%20the%20humidity%20target",
    "memory-item": "/memory/{item}?why=how%20damp",
    "lessons": "/lessons",
    "lessons-skills": "/lessons?view=skill",
    "lessons-personas": "/lessons?view=persona",
    "lessons-teams": "/lessons?view=team",
    "lessons-trust": "/lessons?view=hosts",
    "skill": "/lessons/skill/{skill}",
    "team": "/lessons/team/{team}",
    "crew-unknown": "/lessons/skill/nowhere",
    "lesson": "/lessons/{lesson}",
    "inspect": "/inspect/{context}",
    "branches": "/branches/home",
    "compare": "/branches/home?first={first}&second={second}",
    "devices": "/devices",
    "settings": "/settings",
    "usage": "/usage",
    "parts": "/parts",
    "memory-unknown": "/memory/mem-nowhere",
    "nowhere": "/nowhere",
}
TOO_WIDE = (
    "document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth"
)
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
REACHABLE = """() => {
  const marked = [...document.querySelectorAll(
    'a[href], button, input:not([type=radio]), select, textarea, summary')]
    .filter(e => !e.disabled && e.tabIndex >= 0 && e.checkVisibility({visibilityProperty: true})
      && !e.closest('[inert]'));
  window.__left = new Set(marked);
  document.addEventListener('focusin', e => window.__left.delete(e.target));
  return marked.length;
}"""
LEFT = """() => [...window.__left].filter(e => e.isConnected && e.checkVisibility())
  .map(e => e.getAttribute('aria-label') || e.innerText || e.outerHTML.slice(0, 80))"""


def addresses(home: House, page: Page) -> dict[str, str]:
    """Where each page is in this house; a question is answered first, so that a prompt is kept."""
    say(page, "What is the humidity target?")
    expect(page.locator("[data-role=assistant]").last).to_contain_text(ANSWER)

    def told(path: str) -> Any:
        return page.request.get(f"{home.address}/api/threads{path}").json()

    lines = told("/home/branches")
    names = {
        "thread": next(one["thread_id"] for one in told("") if one["thread_id"] != "home"),
        "item": item_saying(home, "humidity target for the workshop is 50"),
        "lesson": lesson_called(home, "Never write to customers"),
        "skill": home.engine.crew.entry_summaries(OWNER, "skill")[0].name,
        "team": home.engine.crew.entry_summaries(OWNER, "team")[0].name,
        "context": told("/home/messages?way=before&limit=1")["messages"][-1]["context_id"],
        "first": lines[0]["branch"],
        "second": lines[1]["branch"],
    }
    return {name: home.address + path.format(**names) for name, path in PAGES.items()}


def settled(page: Page, address: str) -> None:
    """Go to a page and wait until it shows what it has."""
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    if not address.endswith("/parts"):  # that page shows what waiting looks like
        expect(page.locator("#main [role=status][aria-label]")).to_have_count(0)


def test_every_page_fits_and_everybody_can_use_it_by_day_and_by_night(
    year: Path, tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with demo_house(year, tmp_path, [ANSWER]) as home:
        page = enter(home, visit, "/", bypass_csp=True, reduced_motion="reduce")
        found: dict[str, list[str]] = {}
        for name, address in addresses(home, page).items():
            settled(page, address)
            wide = ["too wide"] if page.evaluate(TOO_WIDE) > 0 else []
            page.emulate_media(color_scheme="light")
            shot(page, f"{name}-light")
            day, by_day = page.evaluate(BACKGROUND), faults(page)
            page.emulate_media(color_scheme="dark")
            assert page.evaluate(BACKGROUND) != day, f"{name} looks the same by night"
            shot(page, f"{name}-dark")
            found[name] = wide + by_day + faults(page)
        assert {name: faults for name, faults in found.items() if faults} == {}


def test_text_at_200_percent_fits_on_every_page(
    year: Path, tmp_path: Path, visit: Visit, shot: Shot
) -> None:
    with demo_house(year, tmp_path, [ANSWER]) as home:
        page = enter(home, visit, "/")
        wide: list[str] = []
        for name, address in addresses(home, page).items():
            settled(page, address)
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            shot(page, f"{name}-200")
            if page.evaluate(TOO_WIDE) > 0:
                wide.append(name)
        assert wide == []


def test_everything_on_every_page_is_reached_by_the_tab_key(
    year: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with demo_house(year, tmp_path, [ANSWER]) as home:
        page = enter(home, visit, "/")
        left: dict[str, list[str]] = {}
        for name, address in addresses(home, page).items():
            settled(page, address)
            count = page.evaluate(REACHABLE)
            for _ in range(2 * count + 20):
                page.keyboard.press("Tab")
            if missed := page.evaluate(LEFT):
                left[name] = missed
        assert left == {}
