"""Everybody can use it: axe finds nothing serious, large text fits, what is touched is large."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Shot, Visit
from tests.web.servers import house
from tests.web.thread.test_thread import act, say

pytestmark = pytest.mark.xdist_group("web")

AXE = Path("web/node_modules/axe-core/axe.min.js")
SERIOUS = ("serious", "critical")
TOUCH_PX = 44
TEXT = "# Title\n\n- one\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n\n[link](https://example.org)"


def faults(page: Page) -> list[str]:
    """What axe finds that matters."""
    page.evaluate(AXE.read_text())
    found: dict[str, Any] = page.evaluate("axe.run(document, {resultTypes: ['violations']})")
    return [
        f"{fault['id']}: {fault['nodes'][0]['target']} {fault['nodes'][0]['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
    ]


def too_small(page: Page) -> list[str]:
    """What a thumb would miss."""
    found: list[str] = page.evaluate(
        """min => [...document.querySelectorAll('button, a[href], summary')]
        .filter(e => e.checkVisibility() && !e.closest('.prose') && !e.matches('.sr-only'))
        .map(e => [e.getAttribute('aria-label') || e.innerText, e.getBoundingClientRect()])
        .filter(([_, box]) => box.width && Math.min(box.width, box.height) < min)
        .map(([name, box]) => `${name}: ${box.width}x${box.height}`)""",
        TOUCH_PX,
    )
    return found


@pytest.mark.parametrize("dark", [False, True], ids=["light", "dark"])
def test_axe_finds_nothing_serious(tmp_path: Path, visit: Visit, shot: Shot, dark: bool) -> None:
    mode = "dark" if dark else "light"
    with house(tmp_path, [TEXT]) as home:
        page = visit(home.address, dark=dark, bypass_csp=True, reduced_motion="reduce")
        page.get_by_label("Code").wait_for()
        assert faults(page) == []
        page.goto(home.link())
        page.get_by_role("heading", name="This is your thread.").wait_for()
        shot(page, f"welcome-{mode}")
        assert faults(page) == []
        say(page, "Everything, please")
        expect(page.locator("[data-role=assistant] .shiki")).to_have_count(1)
        shot(page, f"thread-{mode}")
        assert faults(page) == []
        act(page, "Title", "What it stood on")
        page.get_by_role("group", name="The prompt, by section").wait_for()
        shot(page, f"inspect-sheet-{mode}")
        assert faults(page) == []
        page.goto(f"{home.address}/parts")
        page.get_by_role("heading", name="Parts").wait_for()
        shot(page, f"parts-{mode}")
        assert faults(page) == []


@pytest.mark.parametrize("theme", ["paper", "slate", "moss", "dusk", "contrast"])
def test_every_theme_has_contrast_by_day_and_by_night(
    tmp_path: Path, visit: Visit, theme: str, size: str
) -> None:
    if size == "phone":
        pytest.skip("colours are the same on both")
    with house(tmp_path) as home:
        page = visit(home.link(), bypass_csp=True, reduced_motion="reduce")
        page.get_by_label("Write a message").wait_for()
        for mode in ("light", "dark"):
            page.evaluate(
                "(look) => Object.entries(look).forEach(([k, v]) => localStorage.setItem(k, v))",
                {"everloop.theme": theme, "everloop.mode": mode},
            )
            page.goto(f"{home.address}/parts")
            page.get_by_role("heading", name="Parts").wait_for()
            assert faults(page) == [], mode


def test_text_twice_as_large_fits(tmp_path: Path, visit: Visit, shot: Shot) -> None:
    with house(tmp_path, [TEXT]) as home:
        page = visit(home.link())
        say(page, "Supercalifragilisticexpialidocious" * 8)
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        shot(page, "thread-large-text")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        expect(page.get_by_label("Write a message")).to_be_in_viewport()


def test_what_is_touched_is_large_enough(tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "desktop":
        pytest.skip("a pointer is finer than a thumb")
    with house(tmp_path, ["Yes."]) as home:
        page = visit(home.link())
        say(page, "Large enough?")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        assert too_small(page) == []
