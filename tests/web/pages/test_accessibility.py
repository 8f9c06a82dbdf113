"""Accessibility: axe checks, large text, and the size of touch targets."""

from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import start_server
from tests.web.thread.test_thread import act, say

pytestmark = pytest.mark.xdist_group("web")

AXE = Path("web/node_modules/axe-core/axe.min.js")
SETTLE = """async () => {
  const frame = () => new Promise(resolve => requestAnimationFrame(resolve));
  await frame();
  document.getAnimations().filter(a => a instanceof CSSTransition).forEach(a => a.finish());
  await frame();
}"""
SERIOUS = ("serious", "critical")
TOUCH_PX = 44
TEXT = "# Title\n\n- one\n\n```python\nx = 1\n```\n\n| a |\n|---|\n| 1 |\n\n[link](https://example.org)"


def axe_violations(page: Page, only: str | None = None) -> list[str]:
    """Serious violations that axe finds, of all rules or of one, with no colour on its way."""
    page.evaluate(SETTLE)
    page.evaluate(AXE.read_text())
    options = {"resultTypes": ["violations"]} | ({"runOnly": [only]} if only else {})
    found: dict[str, Any] = page.evaluate("options => axe.run(document, options)", options)
    return [
        f"{fault['id']}: {fault['nodes'][0]['target']} {fault['nodes'][0]['failureSummary']}"
        for fault in found["violations"]
        if fault["impact"] in SERIOUS
    ]


def small_touch_targets(page: Page) -> list[str]:
    """Controls smaller than a touch target."""
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
def test_axe_finds_no_serious_violations(
    tmp_path: Path, visit: Visit, screenshot: Screenshot, dark: bool
) -> None:
    mode = "dark" if dark else "light"
    with start_server(tmp_path, [TEXT]) as server:
        page = visit(server.address, dark=dark, bypass_csp=True, reduced_motion="reduce")
        page.get_by_label("Code").wait_for()
        assert axe_violations(page) == []
        page.goto(server.link())
        page.get_by_role("heading", name="This is your thread.").wait_for()
        screenshot(page, f"welcome-{mode}")
        assert axe_violations(page) == []
        say(page, "Everything, please")
        expect(page.locator("[data-role=assistant] .shiki")).to_have_count(1)
        screenshot(page, f"thread-{mode}")
        assert axe_violations(page) == []
        act(page, "Title", "Sources")
        page.get_by_role("group", name="Prompt by section").wait_for()
        screenshot(page, f"inspect-sheet-{mode}")
        assert axe_violations(page) == []
        page.goto(f"{server.address}/components")
        page.get_by_role("heading", name="Components").wait_for()
        screenshot(page, f"components-{mode}")
        assert axe_violations(page) == []


@pytest.mark.parametrize("theme", ["paper", "slate", "moss", "dusk", "contrast"])
def test_every_theme_has_enough_contrast_in_light_and_dark_mode(
    tmp_path: Path, visit: Visit, theme: str, size: str
) -> None:
    if size == "phone":
        pytest.skip("colours are the same on both")
    with start_server(tmp_path) as server:
        page = visit(server.link(), bypass_csp=True, reduced_motion="reduce")
        page.get_by_label("Write a message").wait_for()
        for mode in ("light", "dark"):
            page.evaluate(
                "(look) => Object.entries(look).forEach(([k, v]) => localStorage.setItem(k, v))",
                {"everloop.theme": theme, "everloop.mode": mode},
            )
            page.goto(f"{server.address}/components")
            page.get_by_role("heading", name="Components").wait_for()
            assert axe_violations(page) == [], mode


def test_text_at_double_size_fits(tmp_path: Path, visit: Visit, screenshot: Screenshot) -> None:
    with start_server(tmp_path, [TEXT]) as server:
        page = visit(server.link())
        say(page, "Supercalifragilisticexpialidocious" * 8)
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        page.evaluate("document.documentElement.style.fontSize = '200%'")
        screenshot(page, "thread-large-text")
        wide = page.evaluate("document.documentElement.scrollWidth - innerWidth")
        assert wide <= 0
        expect(page.get_by_label("Write a message")).to_be_in_viewport()


def test_touch_targets_are_large_enough(tmp_path: Path, visit: Visit, size: str) -> None:
    if size == "desktop":
        pytest.skip("a pointer is finer than a thumb")
    with start_server(tmp_path, ["Yes."]) as server:
        page = visit(server.link())
        say(page, "Large enough?")
        expect(page.locator("[data-role=assistant]")).to_have_count(1)
        assert small_touch_targets(page) == []
