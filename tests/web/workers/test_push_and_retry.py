"""A task that the agent proposes in the thread: pushed to the phone, tapped, started, retried."""

import json
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, Worker, expect
from tests.notifications.fake_push_service import FakePushService, fake_push_service
from tests.web.conftest import Screenshot, Visit
from tests.web.servers import Server, start_server
from tests.web.thread.test_thread import say
from tests.web.workers.scripted_agent import ScriptedRunner

from everloop.ports import ToolCall
from everloop.testing.model import Script

pytestmark = pytest.mark.xdist_group("pages")

TITLE = "Run the script"
PROPOSED = ToolCall("c1", "propose_task", {"title": TITLE, "brief": "Run the broken script."})

# A browser without a push service: the subscription leads to the one of the test.
SUBSCRIBE = """
subscription => {
    const made = { toJSON: () => subscription, unsubscribe: async () => true }
    let current = null
    PushManager.prototype.subscribe = async () => (current = made)
    PushManager.prototype.getSubscription = async () => current
    navigator.setAppBadge = async count => { window.badge = count }
    navigator.clearAppBadge = async () => { window.badge = 0 }
}
"""
SHOWN = """
async () => (await self.registration.getNotifications()).map(one => [one.title, one.data])
"""
TAP = """
async () => {
    const [notification] = await self.registration.getNotifications()
    self.dispatchEvent(new NotificationEvent('notificationclick', { notification }))
}
"""


@pytest.fixture(params=["phone"])
def size(request: pytest.FixtureRequest) -> str:
    """A phone."""
    return str(request.param)


def fake_subscriptions(page: Page, service: FakePushService) -> None:
    """Give the pages of this browser a push service, from the next one on."""
    said = service.subscription()
    keys = {"p256dh": said["p256dh"], "auth": said["auth"]}
    made = json.dumps({"endpoint": said["endpoint"], "keys": keys})
    page.context.add_init_script(f"({SUBSCRIBE})({made})")


def switch_on_and_test(page: Page, service: FakePushService, screenshot: Screenshot) -> None:
    """Switch push messages on, and see how each answer of the service is told."""
    settings = page.locator("[data-push]")
    settings.get_by_role("button", name="Switch on").click()
    send = settings.get_by_role("button", name="Send a test")
    send.click()
    expect(page.get_by_text("Sent. It should appear")).to_be_visible()
    told = settings.get_by_role("list", name="The last messages").locator("li")
    answers = {
        403: "the push service refused it (403)",
        429: "the push service wants fewer messages (429)",
        404: "no longer takes messages; switch them on again (404)",
        410: "no longer takes messages; switch them on again (410)",
    }
    for count, (status, words) in enumerate(answers.items(), start=2):
        service.statuses = [status]
        send.click()
        expect(told).to_have_count(count)
        expect(told.first).to_contain_text(words)
        if status in (404, 410):
            settings.get_by_role("button", name="Switch on").click()
            expect(send).to_be_visible()
    screenshot(page, "push-settings")


def deliver(page: Page, server: Server, message: dict[str, Any]) -> Worker:
    """Hand a message to the service worker, as the browser does, and wait until it is shown."""
    page.wait_for_function("navigator.serviceWorker.ready.then(() => true)")
    devtools: Any = page.context.new_cdp_session(page)
    found: list[str] = []

    def note(event: dict[str, Any]) -> None:
        found.extend(str(one["registrationId"]) for one in event["registrations"])

    devtools.on("ServiceWorker.workerRegistrationUpdated", note)
    devtools.send("ServiceWorker.enable")
    page.wait_for_function("() => navigator.serviceWorker.controller !== null")
    data = {"origin": server.address, "registrationId": found[0], "data": json.dumps(message)}
    devtools.send("ServiceWorker.deliverPushMessage", data)
    worker = page.context.service_workers[0]
    while not worker.evaluate(SHOWN):
        page.wait_for_timeout(20)
    return worker


def retry(page: Page) -> None:
    """See the failure, and try again in place."""
    failure = page.locator("[data-kind=failure]").first
    expect(failure).to_contain_text("The script stopped in line 3.")
    failure.get_by_role("button", name="Retry").click()
    expect(failure).to_contain_text("“Retry”: answered by you")
    expect(page.get_by_role("region", name="Just finished")).to_contain_text("The script ran.")


@pytest.mark.promise("P-INBOX-5")
def test_a_proposed_task_is_pushed_tapped_started_and_retried(
    tmp_path: Path, visit: Visit, screenshot: Screenshot
) -> None:
    answers: list[Script] = [[PROPOSED], "I propose a task."]
    with (
        fake_push_service() as service,
        start_server(tmp_path / "home", answers, runners=[ScriptedRunner()]) as server,
    ):
        page = visit(server.link(), permissions=["notifications"])
        expect(page.get_by_label("Write a message")).to_be_visible()
        fake_subscriptions(page, service)
        page.goto(f"{server.address}/settings#notifications")
        switch_on_and_test(page, service, screenshot)
        page.goto(server.address)
        say(page, "Run the broken script")
        card = page.get_by_role("article", name=f"Task: {TITLE}")
        expect(card).to_contain_text("Proposed task")
        expect(card.get_by_role("button", name="Start")).to_be_visible()
        expect(page.locator("nav [data-unread]")).to_have_attribute("data-unread", "1")
        assert page.evaluate("window.badge") == 1
        screenshot(page, "thread-card")
        service.wait_for(6)
        message = service.got[-1][1]
        worker = deliver(page, server, message)
        assert worker.evaluate(SHOWN) == [[TITLE, message["path"]]]
        worker.evaluate(TAP)
        page.wait_for_url(f"**{message['path']}")
        asked = page.locator("[data-kind=proposal]")
        expect(asked).to_contain_text("Run the broken script.")
        asked.get_by_role("button", name="Start without a plan").click()
        retry(page)
        page.get_by_role("link", name="Thread").click()
        expect(card).to_contain_text("Done")
        expect(page.get_by_role("link", name="Open the task").first).to_be_visible()
