"""Every page in both sizes, light and dark: layout, accessibility and keyboard."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import find_lesson, find_memory, open_page, start_demo_server
from tests.web.pages.test_accessibility import axe_violations
from tests.web.servers import Server
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
    "components": "/components",
    "memory-unknown": "/memory/mem-nowhere",
    "nowhere": "/nowhere",
}
TOO_WIDE = (
    "document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth"
)
BACKGROUND = "getComputedStyle(document.documentElement).backgroundColor"
TRACK_FOCUS = """() => {
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


def page_addresses(server: Server, page: Page) -> dict[str, str]:
    """The address of each page. First sends a message, so that there is a prompt."""
    say(page, "What is the humidity target?")
    expect(page.locator("[data-role=assistant]").last).to_contain_text(ANSWER)

    def get(path: str) -> Any:
        return page.request.get(f"{server.address}/api/threads{path}").json()

    branches = get("/home/branches")
    names = {
        "thread": next(one["thread_id"] for one in get("") if one["thread_id"] != "home"),
        "item": find_memory(server, "humidity target for the workshop is 50"),
        "lesson": find_lesson(server, "Never write to customers"),
        "skill": server.engine.crew.entry_summaries(OWNER, "skill")[0].name,
        "team": server.engine.crew.entry_summaries(OWNER, "team")[0].name,
        "context": get("/home/messages?way=before&limit=1")["messages"][-1]["context_id"],
        "first": branches[0]["branch"],
        "second": branches[1]["branch"],
    }
    return {name: server.address + path.format(**names) for name, path in PAGES.items()}


def open_and_wait(page: Page, address: str) -> None:
    """Open a page and wait until it has loaded."""
    page.goto(address)
    page.get_by_role("heading", level=1).first.wait_for()
    if not address.endswith("/components"):  # that page shows loading placeholders
        expect(page.locator("#main [role=status][aria-label]")).to_have_count(0)


def test_every_page_fits_and_is_accessible_in_light_and_dark_mode(
    demo_home: Path, tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_demo_server(demo_home, tmp_path, [ANSWER]) as server:
        page = open_page(server, visit, "/", bypass_csp=True, reduced_motion="reduce")
        found: dict[str, list[str]] = {}
        for name, address in page_addresses(server, page).items():
            open_and_wait(page, address)
            wide = ["too wide"] if page.evaluate(TOO_WIDE) > 0 else []
            page.emulate_media(color_scheme="light")
            screenshot(page, f"{name}-light")
            day, in_light = page.evaluate(BACKGROUND), axe_violations(page)
            page.emulate_media(color_scheme="dark")
            assert page.evaluate(BACKGROUND) != day, f"{name} looks the same in dark mode"
            screenshot(page, f"{name}-dark")
            found[name] = wide + in_light + axe_violations(page)
        assert {name: problems for name, problems in found.items() if problems} == {}


def test_text_at_200_percent_fits_on_every_page(
    demo_home: Path, tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with start_demo_server(demo_home, tmp_path, [ANSWER]) as server:
        page = open_page(server, visit, "/")
        wide: list[str] = []
        for name, address in page_addresses(server, page).items():
            open_and_wait(page, address)
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            screenshot(page, f"{name}-200")
            if page.evaluate(TOO_WIDE) > 0:
                wide.append(name)
        assert wide == []


def test_every_control_can_be_reached_with_the_tab_key(
    demo_home: Path, tmp_path: Path, visit: Visit, size: str
) -> None:
    if size == "phone":
        pytest.skip("a phone has no keyboard")
    with start_demo_server(demo_home, tmp_path, [ANSWER]) as server:
        page = open_page(server, visit, "/")
        left: dict[str, list[str]] = {}
        for name, address in page_addresses(server, page).items():
            open_and_wait(page, address)
            count = page.evaluate(TRACK_FOCUS)
            for _ in range(2 * count + 20):
                page.keyboard.press("Tab")
            if missed := page.evaluate(LEFT):
                left[name] = missed
        assert left == {}
