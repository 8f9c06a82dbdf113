"""The picture of relationships in the demo: scene by scene, it equals the fold of the log."""

from pathlib import Path

import pytest
from playwright.sync_api import Page, expect
from tests.web.conftest import Screenshot, Visit
from tests.web.demo_server import open_page, start_demo_server
from tests.web.servers import Server

from everloop.log.model.record import fact_of
from everloop.worlds import edges_of, list_worlds, timeline
from everloop.worlds.exchange.world_json.world_tree import world_facts
from everloop.worlds.model.state import evolve

pytestmark = pytest.mark.xdist_group("pages")

Feelings = dict[str, tuple[int, int]]


def pictured(page: Page, scene: int) -> Feelings:
    """What the arrows of the picture show after a scene."""
    expect(page.locator(f"[data-graph='{scene}']")).to_be_visible()
    return {
        str(arrow.get_attribute("data-edge")): (
            int(arrow.get_attribute("data-affinity") or 0),
            int(arrow.get_attribute("data-trust") or 0),
        )
        for arrow in page.locator("[data-edge]").all()
    }


def folded(server: Server, world_id: str, upto: int) -> Feelings:
    """What the log says, folded up to a position."""
    log, world = server.engine.log, None
    with server.engine.reading() as reader:
        positions = [fact.position for fact in world_facts(reader, world_id)]
    for position in positions:
        if position <= upto:
            world = evolve(world, fact_of(log.record(position)))
    assert world is not None
    return {key: (edge.affinity, edge.trust) for key, edge in edges_of(world).items()}


def test_the_picture_at_scene_1_and_scene_12_differs_and_equals_the_fold(
    demo_home: Path, tmp_path: Path, visit: Visit, screenshot: Screenshot, size: str
) -> None:
    if size == "desktop":
        pytest.skip("the picture is the same")
    with start_demo_server(demo_home, tmp_path) as server:
        with server.engine.reading() as reader:
            world_id = list_worlds(reader)[0].world_id
            first = timeline(reader, world_id, ("scene_closed",))[0].position
        page = open_page(server, visit, f"/worlds/{world_id}?view=relationships")
        last = pictured(page, 12)
        screenshot(page, "world-relationships-12")
        page.get_by_label("Scene", exact=True).fill("0")
        before = pictured(page, 1)
        screenshot(page, "world-relationships-1")
        assert (len(before), len(last)) == (6, 6)
        assert before != last
        assert last == folded(server, world_id, server.engine.log.head)
        assert before == folded(server, world_id, first)
