"""Two browsers behind a proxy before three nodes: one conversation, also when a node is killed."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.nodes.cluster import WAIT_S, Cluster, Node, cluster, until
from tests.nodes.proxy import proxy_to_nodes
from tests.web.conftest import Visit

from everloop.testing.postgres import PostgresServer

pytestmark = [pytest.mark.xdist_group("web"), pytest.mark.timeout(600)]


def send(page: Page, text: str) -> None:
    """Type a message and send it."""
    page.get_by_label("Write a message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def expect_answers(page: Page, number: int) -> None:
    """The page shows so many finished answers."""
    done = page.locator("[data-role=assistant][data-state=done]")
    expect(done).to_have_count(number, timeout=WAIT_S * 1000)


def runs_turns(nodes: Cluster, node: Node) -> bool:
    """Whether a node is the one that runs the turns."""
    with nodes.client(node.url) as client:
        tasks = client.get("/api/background").json()["tasks"]
    return any(one["name"] == "turns" and one["state"] == "running" for one in tasks)


@pytest.mark.promise("P-NODES-1")
def test_two_browsers_on_different_nodes_stay_in_step_when_a_node_is_killed(
    postgres: PostgresServer, tmp_path: Path, visit: Visit
) -> None:
    with postgres.fresh_database() as url, cluster(url, tmp_path) as nodes:
        first, second, third = (nodes.start() for _ in range(3))
        with proxy_to_nodes(lambda: [node.port for node in nodes.nodes]) as proxy:
            phone = visit(f"{proxy.url}/#pair={second.process.code}")
            laptop = visit(f"{proxy.url}/#pair={third.process.code}")
            for page, text in ((phone, "My sister is called Ada."), (laptop, "Ada likes tea.")):
                expect(page.get_by_label("Write a message")).to_be_editable()
                send(page, text)
                for one in (phone, laptop):
                    expect(one.locator("[data-role=user]", has_text=text)).to_have_count(1)
            for page in (phone, laptop):
                expect_answers(page, 2)
            leader: Node = until(
                lambda: next((node for node in nodes.nodes if runs_turns(nodes, node)), None)
            )
            leader.kill()
            send(phone, "What is my sister called?")
            for page in (phone, laptop):
                expect_answers(page, 3)
                expect(page.locator("[data-role=assistant]").last).to_contain_text("Ada")
                asked = page.locator("[data-role=user]", has_text="What is my sister called?")
                expect(asked).to_have_count(1)
            assert first.port != second.port != third.port
