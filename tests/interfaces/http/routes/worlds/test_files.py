"""Imports into worlds over HTTP: a card is uploaded, shown with its portrait, and undone."""

from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import Served
from tests.worlds.exchange.samples import V2, V3, chat_file, message, png_card

from everloop.worlds.exchange.formats.card_files import write_charx
from everloop.worlds.exchange.formats.png import plain_picture

PREVIEW = "/api/world-imports/preview"
ICON = "assets/icon/images/main.png"  # as the card names it, whatever the picture is


def upload(client: httpx.Client, name: str, content: bytes) -> httpx.Response:
    return client.post("/api/world-imports", params={"name": name}, content=content)


def names(client: httpx.Client) -> list[str]:
    listed: list[dict[str, Any]] = client.get("/api/characters").json()
    return [one["sheet"]["name"] for one in listed]


def left_over(home: Path) -> list[Path]:
    return [*home.glob("*.imports/*"), *home.glob("*.world-imports/*")]


def test_a_card_is_imported_and_the_import_undone(server: Served) -> None:
    with server.client() as client:
        answer = upload(client, "ada.png", png_card({"chara": V2}))
        assert answer.status_code == 201, answer.text
        done = answer.json()
        assert (done["source"], done["name"], len(done["characters"])) == ("card", "ada.png", 1)
        assert names(client) == ["Ada"]
        assert left_over(server.engine.log.file.path.parent) == []
        undo = f"/api/world-imports/{done['import_id']}/undo"
        assert client.get(undo).status_code == 200
        assert client.post(undo).status_code == 200
        assert names(client) == []


def test_an_import_into_worlds_is_listed_with_the_jobs(server: Served) -> None:
    with server.client() as client:
        done = upload(client, "ada.png", png_card({"chara": V2})).json()
        jobs = client.get("/api/background").json()["jobs"]
    assert [(one["job_id"], one["kind"], one["state"]) for one in jobs] == [
        (done["import_id"], "world-import", "done")
    ]


def test_a_file_that_is_no_card_is_refused_and_leaves_nothing(server: Served) -> None:
    with server.client() as client:
        assert upload(client, "notes.json", b"{}").status_code == 422
        crowd = [message(number, name=name) for number, name in enumerate(("A", "B", "C"))]
        assert upload(client, "crowd.jsonl", chat_file(crowd)).status_code == 409
        assert names(client) == []
    assert left_over(server.engine.log.file.path.parent) == []


@pytest.mark.parametrize(
    ("picture", "media_type"),
    [
        (plain_picture(), "image/png"),
        (b"\xff\xd8\xff\xe0 a photo", "image/jpeg"),
        (b"RIFF\x10\0\0\0WEBPVP8 ", "image/webp"),
    ],
)
def test_a_portrait_is_served_as_the_picture_that_it_is(
    server: Served, picture: bytes, media_type: str
) -> None:
    with server.client() as client:
        done = upload(client, "ada.charx", write_charx(V3, {ICON: picture})).json()
        shown = client.get(f"/api/characters/{done['characters'][0]}/portrait")
    assert (shown.status_code, shown.headers["content-type"]) == (200, media_type)
    assert shown.content == picture


def test_a_preview_tells_what_the_import_will_report_and_records_nothing(server: Served) -> None:
    card = png_card({"chara": V2})
    with server.client() as client:
        head = server.engine.log.head
        told = client.post(PREVIEW, params={"name": "ada.png"}, content=card).json()
        assert (told["source"], told["characters"], told["before"]) == ("card", ["Ada"], False)
        assert server.engine.log.head == head
        assert names(client) == []
        done = upload(client, "ada.png", card).json()
        assert told["notes"] == done["notes"]
        assert client.post(PREVIEW, params={"name": "ada.png"}, content=card).json()["before"]
    assert left_over(server.engine.log.file.path.parent) == []


def test_a_preview_asks_who_plays_where_there_is_no_room_for_all(server: Served) -> None:
    crowd = [message(number, name=name) for number, name in enumerate(("A", "B", "C"))]
    chat = chat_file(crowd)
    with server.client() as client:
        asked = client.post(PREVIEW, params={"name": "crowd.jsonl"}, content=chat).json()
        assert [one["names"][-3:] for one in asked["questions"]] == [["A", "B", "C"]]
        chosen = {"name": "crowd.jsonl", "cast": ["A", "C"]}
        told = client.post(PREVIEW, params=chosen, content=chat).json()
        assert (told["questions"], told["characters"]) == ([], ["A", "C"])
        assert client.post(PREVIEW, params={"name": "x.json"}, content=b"{}").status_code == 422


def test_a_character_is_given_another_portrait(server: Served) -> None:
    with server.client() as client:
        ada = upload(client, "ada.png", png_card({"chara": V2})).json()["characters"][0]
        at = f"/api/characters/{ada}/portrait"
        before = client.get(f"/api/characters/{ada}").json()["portrait"]
        photo = b"\xff\xd8\xff\xe0 a photo"
        changed = client.put(at, content=photo).json()
        assert changed["portrait"] != before
        assert client.get(changed["portrait"]).content == photo
        assert changed["sheet"]["name"] == "Ada"
        assert client.put(at, content=b"<script>").status_code == 422
        assert client.put(at, content=plain_picture()[:-20]).status_code == 422
        assert client.get(at).content == photo


def test_an_opening_is_proposed_from_prose_and_no_world_begins(server: Served) -> None:
    with server.client() as client:
        ada = client.post("/api/characters", json={"name": "Ada"}).json()["character_id"]
        prose = "Ada waits on the quay. The last ferry is late."
        told = client.post("/api/world-openings", json={"prose": prose}).json()
        assert (told["characters"], told["read_by"]) == ([ada], "rules")
        assert client.get("/api/worlds").json() == []
    assert told["premise"] == prose
