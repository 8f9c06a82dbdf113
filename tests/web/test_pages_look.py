"""Every page in both sizes, by day and by night: it fits, and axe finds nothing serious."""

from pathlib import Path

import pytest
from tests.web.conftest import Shot, Visit
from tests.web.demo_house import demo_house, enter, item_saying, lesson_called
from tests.web.test_access import faults

pytestmark = pytest.mark.xdist_group("web")

PAGES = {
    "search": "/search?q=humidity",
    "memory": "/memory",
    "memory-timeline": "/memory?view=timeline",
    "memory-window": "/memory?view=timeline&window=month:2025-06",
    "memory-ask": "/memory?view=ask&q=what%20is%20the%20humidity%20target",
    "memory-item": "/memory/{item}?why=how%20damp",
    "lessons": "/lessons",
    "lessons-skills": "/lessons?view=skill",
    "lessons-trust": "/lessons?view=hosts",
    "lesson": "/lessons/{lesson}",
    "branches": "/branches/home",
    "devices": "/devices",
    "settings": "/settings",
    "usage": "/usage",
    "memory-unknown": "/memory/mem-nowhere",
}
TOO_WIDE = (
    "document.getElementById('main').scrollWidth - document.getElementById('main').clientWidth"
)


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_every_page_fits_and_everybody_can_use_it(
    year: Path, tmp_path: Path, visit: Visit, shot: Shot, dark: bool
) -> None:
    mode = "dark" if dark else "light"
    with demo_house(year, tmp_path) as home:
        item = item_saying(home, "humidity target for the workshop is 50")
        lesson = lesson_called(home, "Never write to customers")
        page = enter(home, visit, "/devices", dark=dark, bypass_csp=True)
        found: dict[str, list[str]] = {}
        for name, path in PAGES.items():
            page.goto(home.address + path.format(item=item, lesson=lesson))
            page.get_by_role("heading", level=1).wait_for()
            page.wait_for_function("!document.querySelector('[role=status][aria-label]')")
            shot(page, f"{name}-{mode}")
            found[name] = faults(page) + (["too wide"] if page.evaluate(TOO_WIDE) > 0 else [])
        assert {name: faults for name, faults in found.items() if faults} == {}


def test_text_at_200_percent_fits(year: Path, tmp_path: Path, visit: Visit, shot: Shot) -> None:
    with demo_house(year, tmp_path) as home:
        page = enter(home, visit, "/devices")
        wide: list[str] = []
        for name in (
            "search",
            "memory",
            "memory-timeline",
            "lessons",
            "devices",
            "settings",
            "usage",
        ):
            page.goto(home.address + PAGES[name])
            page.get_by_role("heading", level=1).wait_for()
            page.evaluate("document.documentElement.style.fontSize = '200%'")
            if page.evaluate(TOO_WIDE) > 0:
                wide.append(name)
                shot(page, f"{name}-200")
        assert wide == []
