"""What people of a world remember over HTTP: ratings, pins, and what a reading missed."""

from collections.abc import Iterator

import pytest
from tests.interfaces.http.routes.worlds.test_worlds import Table
from tests.interfaces.http.serving import Served

from everloop.log import Context
from everloop.worlds.model.effect_commands import RecordEffects, RecordFailedExtraction
from everloop.worlds.witness_memory import new_memory

ENGINE = Context(actor="engine")


@pytest.fixture
def table(server: Served) -> Iterator[Table]:
    with server.client() as client:
        yield Table(server, client)


def remember(table: Table, item_id: str, text: str, *witnesses: str) -> None:
    """Let people of the world remember something."""
    memory = new_memory(
        table.world_id,
        item_id,
        text,
        kind="line",
        witnesses=witnesses,
        clock="2026-05-01T18:00:00+00:00",
        scene_id="scn-1",
        because=(),
    )
    table.server.engine.worlds.memories.store([memory], 1)


def test_memories_are_listed_for_the_player_by_point_of_view(table: Table) -> None:
    remember(table, "mem-1.m1", "Robin: The key is under the stone.", "you", table.ada)
    remember(table, "mem-2.m2", "Robin: Good evening.", "you", table.ada, table.ben)
    (known,) = table.get("/memories", who=table.ben)["memories"]
    assert set(known["witnesses"]) == {"you", table.ada, table.ben}
    assert (known["text"], known["message_id"]) == ("Robin: Good evening.", "m2")
    assert (known["significance"], known["pinned"]) == (1, False)
    page = table.get("/memories", limit=1)
    assert (len(page["memories"]), page["more"]) == (1, True)


def test_many_memories_are_rated_at_once_and_a_pivotal_one_is_pinned(table: Table) -> None:
    for number in (1, 2):
        remember(table, f"mem-{number}.m{number}", f"Fact {number} of the evening.", table.ada)
    at = f"{table.at}/memories"
    rated = table.put(f"{at}/significance", item_ids=["mem-1.m1", "mem-2.m2"], significance=3)
    assert rated == {"rated": 2}
    assert [one["pinned"] for one in table.get("/memories")["memories"]] == [True, True]
    assert table.put(f"{at}/mem-1.m1/pin", pinned=False)["pinned"] is False
    assert table.put(f"{at}/mem-1.m1/pin", pinned=True)["pinned"] is True


def test_a_memory_of_another_world_is_neither_rated_nor_pinned(table: Table) -> None:
    remember(table, "mem-1.m1", "A secret of the harbour.", table.ada)
    other = table.post(
        "/api/worlds", title="Elsewhere", player_name="R", clock="2026-05-01T18:00", place="A room"
    )["world_id"]
    rating = {"item_ids": ["mem-1.m1"], "significance": 0}
    at = f"/api/worlds/{other}/memories"
    assert table.client.put(f"{at}/significance", json=rating).status_code == 404
    assert table.client.put(f"{at}/mem-1.m1/pin", json={"pinned": True}).status_code == 404
    assert table.get("/memories")["memories"][0]["significance"] == 1


def test_what_a_reading_missed_is_shown_and_can_be_redone(table: Table) -> None:
    table.say("m1", "The ferry comes at nine.")
    scene_id = table.get()["scene"]["scene_id"]
    failed = RecordFailedExtraction(
        table.world_id, scene_id, "m1", "", ("m1",), "the model did not answer", ()
    )
    table.server.engine.do(failed, by=ENGINE)
    (turn,) = table.get("/readings")["turns"]
    assert (turn["message_id"], turn["failure"]) == ("m1", "the model did not answer")
    again = table.client.post(f"{table.at}/messages/m1/reading", json={})
    assert again.status_code == 202
    assert again.json()["turns"] == []


def test_a_scene_that_seems_over_is_proposed_to_be_closed(table: Table) -> None:
    table.say("m1", "Good night, then.")
    scene_id = table.get()["scene"]["scene_id"]
    where = (table.world_id, scene_id, "m1", "", ("m1",))
    over = RecordEffects(*where, "a-model", (), 0, "everyone goes to bed", "", ())
    table.server.engine.do(over, by=ENGINE)
    assert table.get("/readings")["closing"] == "everyone goes to bed"
    table.say("m2", "One more thing.")
    assert table.get("/readings")["closing"] == ""
