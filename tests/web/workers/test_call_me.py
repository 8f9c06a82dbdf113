"""“Call me when it is done” on the page of a task: asked for by key and tap, undone, and called."""

from pathlib import Path

import msgspec
import pytest
from playwright.sync_api import expect
from tests.interfaces.voice.telephone import MINE, VOICE
from tests.voice.fake_twilio import fake_twilio
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import Server, start_server

from everloop.app import USER
from everloop.settings import ServeSettings
from everloop.workers import TaskSpec

pytestmark = pytest.mark.xdist_group("pages")

PUBLIC = ServeSettings(hosts="home.example.org")
LABEL = "Call me when it is done"
PROMISE = "You will be called."


@pytest.fixture(params=["phone"])
def size(request: pytest.FixtureRequest) -> str:
    """A phone."""
    return str(request.param)


def propose(server: Server) -> str:
    """A task of the user that waits to be started."""
    spec = TaskSpec("Write the report", "Do.", "command", ("true",))
    return server.engine.workers.propose(spec, USER).task.task_id


def test_the_user_asks_on_the_page_of_a_task_to_be_called_and_is(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    with fake_twilio() as fake:
        voice = msgspec.structs.replace(VOICE, api_url=fake.url)
        with start_server(tmp_path / "home", voice=voice, serve=PUBLIC) as server:
            task = propose(server)
            page = visit(server.link())
            expect(page.get_by_label("Write a message")).to_be_visible()
            page.goto(f"{server.address}/tasks/{task}")
            toggle = page.get_by_role("button", name=LABEL)
            expect(toggle).to_have_attribute("aria-pressed", "false")
            toggle.focus()
            page.keyboard.press("Space")
            expect(toggle).to_have_attribute("aria-pressed", "true")
            expect(page.get_by_role("status").filter(has_text=PROMISE)).to_be_visible()
            assert list(server.running.voice.callbacks()) == [f"task:{task}"]
            screenshot(page, "task-call-me")
            expect(toggle).to_be_focused()
            page.keyboard.press("Enter")
            expect(toggle).to_have_attribute("aria-pressed", "false")
            expect(page.get_by_text(PROMISE)).to_have_count(0)
            assert server.running.voice.callbacks() == {}
            toggle.tap()
            expect(toggle).to_have_attribute("aria-pressed", "true")
            page.reload()
            expect(toggle).to_have_attribute("aria-pressed", "true")
            page.get_by_role("button", name="Start").click()
            fake.wait_for(1)
            expect(toggle).to_have_count(0)
        assert [one["To"] for one in fake.calls] == [MINE]


@pytest.mark.promise("P-VOICE-6")
def test_without_a_telephone_the_page_of_a_task_offers_no_call(
    tmp_path: Path, visit: Visit
) -> None:
    with start_server(tmp_path / "home") as server:
        task = propose(server)
        page = visit(server.link())
        expect(page.get_by_label("Write a message")).to_be_visible()
        with page.expect_response("**/api/voice") as asked:
            page.goto(f"{server.address}/tasks/{task}")
        assert asked.value.json() == {"configured": False, "callbacks": []}
        expect(page.get_by_role("button", name="Start")).to_be_visible()
        expect(page.get_by_role("button", name=LABEL)).to_have_count(0)
