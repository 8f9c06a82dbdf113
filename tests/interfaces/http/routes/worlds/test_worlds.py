"""Worlds over HTTP: open one from a form, steer the simulation, look at what each one knows."""

from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import Served

from everloop.worlds import WriteMessage, parse_message


class Table:
    """A player at a world with Ada and Ben, over HTTP."""

    def __init__(self, server: Served, client: httpx.Client) -> None:
        self.server, self.client = server, client
        self.ada = self.post("/api/characters", name="Ada", description="A sailor.")["character_id"]
        self.ben = self.post("/api/characters", name="Ben")["character_id"]
        opened = self.post(
            "/api/worlds",
            title="The harbour",
            player_name="Robin",
            clock="2026-05-01T18:00",
            place="The quay",
            characters=[self.ada, self.ben],
            premise="The ferry is late.",
        )
        self.world_id = opened["world_id"]
        self.at = f"/api/worlds/{self.world_id}"

    def post(self, path: str, **body: Any) -> Any:
        answer = self.client.post(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def put(self, path: str, **body: Any) -> Any:
        answer = self.client.put(path, json=body)
        assert answer.status_code < 300, answer.text
        return answer.json()

    def get(self, path: str = "", **query: Any) -> Any:
        answer = self.client.get(f"{self.at}{path}", params=query)
        assert answer.status_code == 200, answer.text
        return answer.json()

    def say(self, message_id: str, text: str, *witnesses: str) -> None:
        self.server.engine.do(
            WriteMessage(
                self.world_id, message_id, "you", text, parse_message(text), witnesses=witnesses
            )
        )


@pytest.fixture
def table(server: Served) -> Any:
    with server.client() as client:
        yield Table(server, client)


def test_a_world_opens_from_a_form_with_its_first_scene(table: Table) -> None:
    world = table.get()
    assert [one["name"] for one in world["people"]] == ["Robin", "Ada", "Ben"]
    assert world["scene"]["place"]["name"] == "The quay"
    assert world["scene"]["number"] == 1
    assert len(world["edges"]) == 6
    (listed,) = table.client.get("/api/worlds").json()
    assert listed["title"] == "The harbour"
    assert [one["name"] for one in listed["cast"]] == ["Ada", "Ben"]


def test_a_third_character_is_refused_with_the_choice_of_whom_to_replace(table: Table) -> None:
    cleo = table.post("/api/characters", name="Cleo")["character_id"]
    answer = table.client.post(f"{table.at}/cast", json={"character_id": cleo})
    assert answer.status_code == 409
    assert "Ada" in answer.json()["hint"]
    assert "Ben" in answer.json()["hint"]


def test_who_missed_a_line_does_not_know_it_and_is_not_told_it(table: Table) -> None:
    table.say("m1", "Good evening.")
    table.say("m2", '"The key is under the zephyr." ((ooc: keep Ben out))', "you", table.ada)
    ada = table.get(f"/people/{table.ada}/knowledge")
    ben = table.get(f"/people/{table.ben}/knowledge")
    assert [one["text"] for one in ada["scenes"][0]["known"]] == [
        "Good evening.",
        "The key is under the zephyr.",
    ]
    assert [one["text"] for one in ben["scenes"][0]["known"]] == ["Good evening."]
    assert [one["text"] for one in ben["scenes"][0]["missed"]] == ["The key is under the zephyr."]
    prompt = table.get(f"/people/{table.ben}/prompt")
    assert not any("zephyr" in one["text"] for one in prompt["segments"])
    withheld = {one["kind"]: one["reason"] for one in prompt["withheld"]}
    assert withheld["dialogue"] == "did not witness it"
    assert withheld["outside"] == "was said outside the story"


def test_the_player_corrects_who_witnessed_a_line(table: Table) -> None:
    table.say("m1", "A secret.", "you", table.ada)
    told = table.put(
        f"{table.at}/messages/m1/witnesses",
        witnesses=["you", table.ada, table.ben],
        learned_via={table.ben: "overheard"},
    )
    assert told["witnesses"] == ["you", table.ada, table.ben]
    (line,) = table.get(f"/people/{table.ben}/knowledge")["scenes"][0]["known"]
    assert line["learned_via"] == "overheard"


def test_an_event_owns_its_props_and_only_what_was_acquired_stays(table: Table) -> None:
    event = table.post(f"{table.at}/events", title="Picnic", start=True)["events"][0]
    basket = {"name": "basket", "event_id": event["event_id"], "holder": table.ada}
    table.post(f"{table.at}/props", **basket)
    table.post(f"{table.at}/props", **{**basket, "name": "shell"})
    ada = table.get()["people"][1]
    assert ada["holding"] == ["basket", "shell"]
    steps = f"{table.at}/events/{event['event_id']}/steps"
    table.post(steps, step="complete", acquired=[{"name": "shell", "holder": table.ben}])
    people = {one["who"]: one for one in table.get()["people"]}
    assert people[table.ada]["holding"] == []
    assert people[table.ben]["belongings"] == ["shell"]
    assert {one["name"]: one["state"] for one in table.get("/props")} == {
        "basket": "gone",
        "shell": "acquired",
    }


def test_relationships_by_scene_end_where_the_world_stands(table: Table) -> None:
    edge = f"{table.at}/edges/{table.ada}/you"
    table.post(edge, affinity=5, trust=2, reason="a kind word")
    scene = table.get()["scene"]["scene_id"]
    table.post(f"{table.at}/scenes/{scene}/closing", reason="the ferry came")
    table.post(f"{table.at}/scenes", place_id="place-1", present=["you", table.ada])
    table.post(edge, affinity=-9)
    first, second = table.get("/relationships")
    key = f"{table.ada}>you"
    assert (first["edges"][key]["affinity"], second["edges"][key]["affinity"]) == (5, -4)
    assert second["edges"][key] == table.get()["edges"][key]


def test_skipping_minutes_keeps_the_scene_and_skipping_days_closes_it(table: Table) -> None:
    later = table.post(f"{table.at}/time", minutes=30)
    assert later["clock"].startswith("2026-05-01T18:30")
    assert later["scene"]
    friday = table.post(f"{table.at}/time", minutes=7 * 24 * 60)
    assert friday["scene"] is None
    assert [one["what"] for one in table.get("/course")["entries"]][-2:] == ["closed", "jumped"]


def test_a_rewound_line_stays_on_its_branch_and_both_can_be_compared(table: Table) -> None:
    table.say("m1", "Will you marry me?")
    table.say("m2", "She said no.")
    hidden = table.client.get(f"{table.at}/messages/m2/rewind").json()["kinds"]
    assert hidden == {"worlds.message_written": 1}
    before = table.get()["branch"]
    table.post(f"{table.at}/messages/m2/rewind")
    table.say("m3", "She said yes.")
    after = table.get()["branch"]
    compared = table.get("/branches/compare", first=before, second=after)
    assert compared["shared"]["message_id"] == "m1"
    assert [one["text"] for one in compared["first"]["messages"]] == ["She said no."]
    assert [one["text"] for one in compared["second"]["messages"]] == ["She said yes."]
    table.post(f"{table.at}/branch", branch=before)
    assert [one["text"] for one in table.get("/messages")["messages"]][-1] == "She said no."
    elsewhere = table.client.post(f"{table.at}/branch", json={"branch": "main"})
    assert elsewhere.status_code == 422


def test_a_retracted_line_is_gone_and_comes_back(table: Table) -> None:
    table.say("m1", "Wrong window.")
    done = table.post(f"{table.at}/messages/m1/retraction", reason="a slip")
    assert table.get("/messages")["messages"] == []
    table.server.engine.log.retract([done["position"]], reason="undo", actor="user")
    assert len(table.get("/messages")["messages"]) == 1


def test_lore_has_an_audience(table: Table) -> None:
    (entry,) = table.post(
        f"{table.at}/lore", content="The lighthouse is haunted.", keys=["lighthouse"]
    )
    table.put(
        f"{table.at}/lore/{entry['entry_id']}",
        content="The lighthouse is haunted.",
        audience=[table.ada],
    )
    assert table.get(f"/people/{table.ben}/knowledge")["lore"] == []
    assert len(table.get(f"/people/{table.ada}/knowledge")["lore"]) == 1
    assert table.client.delete(f"{table.at}/lore/{entry['entry_id']}").json() == []


def test_a_character_is_revised_removed_and_restored(table: Table) -> None:
    at = f"/api/characters/{table.ada}"
    table.put(at, name="Ada", personality="Dry.")
    sheet = table.client.get(at).json()["sheet"]
    assert (sheet["description"], sheet["personality"]) == ("A sailor.", "Dry.")
    table.client.delete(at)
    assert [one["sheet"]["name"] for one in table.client.get("/api/characters").json()] == ["Ben"]
    table.post(f"{at}/restoration")
    assert len(table.client.get("/api/characters").json()) == 2


def test_what_does_not_exist_is_named(table: Table) -> None:
    assert table.client.get("/api/worlds/nowhere").status_code == 404
    assert table.client.get(f"{table.at}/people/nobody/knowledge").status_code == 404
    assert table.client.get("/api/characters/nobody").status_code == 404
