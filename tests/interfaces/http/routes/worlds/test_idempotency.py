"""Every route that writes to a world is carried out once for each request id."""

import json
from collections.abc import Generator
from typing import Any

import httpx
import pytest
from tests.interfaces.http.routes.worlds.test_world_memories import ENGINE, remember
from tests.interfaces.http.routes.worlds.test_worlds import Table
from tests.interfaces.http.serving import Served

from everloop.worlds.exchange.model.commands import ImportedMessage, ImportMessages
from everloop.worlds.model.effect_commands import RecordFailedExtraction

WORLD = "/api/worlds/{world_id}"
MESSAGE = f"{WORLD}/messages/{{message_id}}"
NAMELESS = {  # named by their content, or they record nothing
    ("post", "/api/world-imports"),
    ("post", "/api/world-imports/preview"),
    ("post", "/api/world-openings"),
    ("put", "/api/characters/{character_id}/portrait"),
}
BODIES: dict[tuple[str, str], dict[str, Any]] = {
    ("post", "/api/characters"): {"name": "Cleo"},
    ("put", "/api/characters/{character_id}"): {"name": "Ada Lovelace"},
    ("delete", "/api/characters/{character_id}"): {},
    ("post", "/api/characters/{character_id}/restoration"): {},
    ("post", "/api/worlds"): {
        "title": "Another",
        "player_name": "Robin",
        "clock": "2026-05-01T18:00",
        "place": "The quay",
        "characters": ["{ada}"],
    },
    ("post", "/api/world-imports/{import_id}/undo"): {},
    ("patch", WORLD): {"title": "A harbour", "archived": True},
    ("put", f"{WORLD}/style"): {"prose": "Terse."},
    ("put", f"{WORLD}/note"): {"text": "Keep it light."},
    ("post", f"{WORLD}/cast"): {"character_id": "{cleo}", "replaces": "{ben}"},
    ("delete", f"{WORLD}/cast/{{character_id}}"): {},
    ("put", f"{WORLD}/places/{{place_id}}"): {"name": "The pier"},
    ("post", f"{WORLD}/scenes"): {"place_id": "place-1", "present": ["you", "{ada}"]},
    ("patch", f"{WORLD}/scene"): {"weather": "rain", "present": ["you", "{ada}"]},
    ("post", f"{WORLD}/scenes/{{scene_id}}/closing"): {"reason": "It is late."},
    ("post", f"{WORLD}/time"): {"minutes": 10},
    ("put", f"{WORLD}/people/{{who}}/activity"): {"doing": "waiting"},
    ("put", f"{WORLD}/people/{{who}}/condition"): {"mood": "calm"},
    ("delete", f"{WORLD}/people/{{who}}/belongings/{{name}}"): {},
    ("post", f"{WORLD}/edges/{{source}}/{{target}}"): {"affinity": 5, "summary": "They talk."},
    ("put", f"{WORLD}/group"): {"summary": "Friends."},
    ("post", f"{WORLD}/events"): {"title": "A picnic", "start": True},
    ("post", f"{WORLD}/events/{{event_id}}/steps"): {"step": "complete", "gist": "It was fun."},
    ("post", f"{WORLD}/props"): {"name": "basket", "event_id": "{event}"},
    ("put", f"{WORLD}/props/{{prop_id}}"): {"holder": "{ada}"},
    ("post", f"{WORLD}/plots"): {"title": "Who sent the letter?"},
    ("post", f"{WORLD}/plots/{{plot_id}}/steps"): {"step": "update", "text": "It was typed."},
    ("post", f"{WORLD}/lore"): {"content": "The lake is haunted."},
    ("put", f"{WORLD}/lore/{{entry_id}}"): {"content": "The lake is deep."},
    ("delete", f"{WORLD}/lore/{{entry_id}}"): {},
    ("post", f"{WORLD}/lines"): {"text": "Good evening."},
    ("post", f"{WORLD}/replies"): {"mode": "next"},
    ("post", f"{MESSAGE}/versions"): {},
    ("post", f"{WORLD}/turns/{{turn_id}}/stop"): {},
    ("put", f"{MESSAGE}/version"): {"version_id": "{version}"},
    ("put", f"{MESSAGE}/text"): {"text": "I said something else."},
    ("put", f"{MESSAGE}/hidden"): {"hidden": True},
    ("put", f"{MESSAGE}/witnesses"): {"witnesses": ["you", "{ada}"]},
    ("post", f"{MESSAGE}/reading"): {},
    ("put", f"{WORLD}/memories/significance"): {"item_ids": ["{item_id}"], "significance": 2},
    ("put", f"{WORLD}/memories/{{item_id}}/pin"): {"pinned": True},
    ("post", f"{MESSAGE}/retraction"): {"reason": "never said"},
    ("post", f"{MESSAGE}/rewind"): {},
    ("post", f"{MESSAGE}/branch"): {},
    ("post", f"{WORLD}/branch"): {"branch": "{branch}"},
}


class Prepared(Table):
    """A world with something to change for every route."""

    def __init__(self, server: Served, client: httpx.Client) -> None:
        super().__init__(server, client)
        self.names = {
            "world_id": self.world_id,
            "character_id": self.ada,
            "ada": self.ada,
            "ben": self.ben,
            "who": self.ada,
            "source": self.ada,
            "target": self.ben,
            "place_id": "pier",
            "scene_id": self.get()["scene"]["scene_id"],
            "name": "lamp",
        }
        people = ("you", self.ada, self.ben)
        reply = f"r-{self.world_id}"
        said = ImportedMessage(f"m-{self.world_id}", "you", "Hello.", people)
        told = ImportedMessage(reply, self.ada, "Yes.", people, versions=("Yes.", "No."))
        server.engine.do(ImportMessages(self.world_id, (said, told)))
        self.names["message_id"] = reply
        self.names["version"] = self.get(f"/messages/{reply}")["versions"][1]["version_id"]

    def prepare(self, method: str, path: str) -> None:
        """Make what one route needs."""
        if path.endswith("/cast"):
            self.names["cleo"] = self.post("/api/characters", name="Cleo")["character_id"]
        if "/events/" in path or "/props" in path or "/belongings/" in path:
            self._event(path)
        if "/plots/" in path:
            (plot,) = self.post(f"{self.at}/plots", title="A letter")["plots"]
            self.names["plot_id"] = plot["plot_id"]
        if "/lore/" in path:
            (entry,) = self.post(f"{self.at}/lore", content="A lake.")
            self.names["entry_id"] = entry["entry_id"]
        if "/turns/" in path:
            self.names["turn_id"] = self.post(f"{self.at}/replies")["turn_id"]
        if path.endswith("/branch") and "/messages/" not in path:
            self.names["branch"] = self.get()["branch"]
            self.post(f"{self.at}/messages/{self.names['message_id']}/rewind")
        if path.endswith(("/scenes", "/cast")):
            self.post(f"{self.at}/scenes/{self.names['scene_id']}/closing")
        if path.endswith("/restoration"):
            self.client.delete(f"/api/characters/{self.ada}")
        if "/world-imports/" in path:
            sent = self.client.post("/api/world-imports?name=x.json", content=card(self.world_id))
            self.names["import_id"] = sent.json()["import_id"]
        self._effects(path)
        del method

    def _effects(self, path: str) -> None:
        if "/memories/" in path:
            self.names["item_id"] = f"mem-{self.world_id}"
            remember(self, self.names["item_id"], "Ada likes lamps.", self.ada)
        if path.endswith("/reading"):
            where = (self.world_id, self.names["scene_id"], self.names["message_id"], "", ())
            self.server.engine.do(RecordFailedExtraction(*where, "no answer", ()), by=ENGINE)

    def _event(self, path: str) -> None:
        (event,) = self.post(f"{self.at}/events", title="A picnic", start=True)["events"]
        self.names["event"] = self.names["event_id"] = event["event_id"]
        if "/props/" in path:
            self.post(f"{self.at}/props", name="basket", event_id=event["event_id"])
            (prop,) = self.get("/props")
            self.names["prop_id"] = prop["prop_id"]
        if "/belongings/" in path:
            kept = [{"name": "lamp", "holder": self.ada}]
            step = f"{self.at}/events/{event['event_id']}/steps"
            self.post(step, step="complete", gist="Over.", acquired=kept)

    def send(self, method: str, path: str, body: dict[str, Any], request_id: str) -> httpx.Response:
        """Send a request with an id."""
        address, told = path.format(**self.names), _filled(body, self.names)
        if method == "delete":
            return self.client.delete(address, params={"request_id": request_id})
        return self.client.request(method, address, json={**told, "request_id": request_id})

    @property
    def written(self) -> int:
        """How many facts the user has written; replies come by themselves."""
        with self.server.engine.log.file.reading() as reader:
            return int(reader.rows("SELECT count(*) FROM log WHERE actor = 'user'")[0][0])


def card(name: str) -> str:
    """A character card of the first version."""
    keys = ("description", "personality", "scenario", "first_mes", "mes_example")
    return json.dumps({"name": name, **dict.fromkeys(keys, "A diver.")})


def _filled(told: dict[str, Any], names: dict[str, str]) -> dict[str, Any]:
    """A body with `{ada}` and the like replaced."""
    text = json.dumps(told)
    for key, name in names.items():
        text = text.replace(f"{{{key}}}", name)
    return dict(json.loads(text))


@pytest.fixture
def table(shared: Served) -> Generator[Prepared]:
    with shared.client() as client:
        yield Prepared(shared, client)


def test_every_writing_route_of_worlds_is_among_those_sent_twice(shared: Served) -> None:
    with shared.client() as client:
        paths = client.get("/openapi.json").json()["paths"]
    writing = {
        (method, path)
        for path, methods in paths.items()
        for method, route in methods.items()
        if "worlds" in route.get("tags", []) and method != "get"
    }
    assert writing - NAMELESS == BODIES.keys()


@pytest.mark.promise("P-HTTP-12")
@pytest.mark.parametrize(("method", "path"), BODIES)
def test_a_repeated_request_changes_nothing_more(table: Prepared, method: str, path: str) -> None:
    table.prepare(method, path)
    body, request_id = BODIES[method, path], f"once-{table.world_id}"
    before = table.written
    first = table.send(method, path, body, request_id)
    assert first.status_code < 300, first.text
    after = table.written
    again = table.send(method, path, body, request_id)
    assert (again.status_code, table.written) == (first.status_code, after), again.text
    assert again.json().keys() == first.json().keys() if isinstance(first.json(), dict) else True
    if path.endswith(("/lines", "/replies", "/versions", "/characters", "/worlds", "/undo")):
        ids = {key: value for key, value in first.json().items() if key.endswith(("_id", "ition"))}
        assert ids
        assert ids.items() <= again.json().items()
    assert after > before or path.endswith("/stop")


def test_a_request_id_stands_for_one_request_only(table: Prepared) -> None:
    sent = {"prose": "Terse.", "request_id": "same"}
    assert table.client.put(f"{table.at}/style", json=sent).is_success
    other = {**sent, "prose": "Florid."}
    answer = table.client.put(f"{table.at}/style", json=other)
    assert (answer.status_code, bool(answer.json()["hint"])) == (409, True)
    note = {"text": "Terse.", "request_id": "same"}
    assert table.client.put(f"{table.at}/note", json=note).status_code == 409


def test_a_repeated_change_does_not_undo_what_was_changed_since(table: Prepared) -> None:
    sent = {"text": "One.", "request_id": "first-edit"}
    path = f"{table.at}/messages/{table.names['message_id']}/text"
    table.client.put(path, json=sent)
    table.client.put(path, json={"text": "Two."})
    assert table.client.put(path, json=sent).json()["text"] == "Two."
    skip = {"minutes": 10, "request_id": "skip"}
    assert (
        table.client.post(f"{table.at}/time", json=skip).json()["clock"]
        == (table.client.post(f"{table.at}/time", json=skip).json()["clock"])
    )


def test_the_same_file_again_imports_nothing_more(table: Prepared) -> None:
    for _ in range(2):
        sent = table.client.post("/api/world-imports?name=eve.json", content=card("Eve"))
        assert sent.status_code == 201
    names = [one["sheet"]["name"] for one in table.client.get("/api/characters").json()]
    assert names.count("Eve") == 1
