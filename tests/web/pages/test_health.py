"""The page Health: each problem with its next step."""

from pathlib import Path

from playwright.sync_api import expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page
from tests.web.pages.test_accessibility import axe_violations
from tests.web.servers import start_server
from tests.web.thread.test_thread import say

from everloop.errors import ModelFailed


def test_a_model_error_is_shown_with_its_next_step(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    away = ModelFailed("the model at port 11434 does not answer", hint="Start Ollama.")
    with start_server(tmp_path / "home", [away]) as server:
        page = open_page(server, visit, "/", bypass_csp=True)
        say(page, "Hello?")
        expect(page.get_by_text("Start Ollama.")).to_be_visible()
        page.goto(f"{server.address}/health")
        problems = page.get_by_role("list", name="problem")
        expect(problems).to_contain_text("1 answer failed in the last 24 h")
        expect(problems).to_contain_text("Next step: Start Ollama.")
        expect(page.get_by_role("list", name="Background tasks")).to_contain_text("turns")
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme)
            screenshot(page, f"health-{scheme}")
            assert axe_violations(page) == []
        page.get_by_role("link", name="Open model settings").click()
        expect(page.get_by_role("heading", name="Models", exact=True)).to_be_visible()
