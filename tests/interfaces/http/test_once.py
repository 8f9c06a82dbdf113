"""A request about memory that is made again, because its answer was lost on the way."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import Served

KEY = {"text": "The spare key is under the pot.", "request_id": "r1"}


def _kept(client: httpx.Client, text: str, request_id: str = "") -> dict[str, Any]:
    answer = client.post("/api/memories", json={"text": text, "request_id": request_id})
    assert answer.status_code == 201, answer.text
    found: dict[str, Any] = answer.json()
    return found


def _life(client: httpx.Client, item_id: str) -> dict[str, Any]:
    found: dict[str, Any] = client.get(f"/api/memories/{item_id}").json()
    return found


@pytest.mark.promise("P-HTTP-12")
def test_what_is_remembered_again_by_the_same_request_gives_the_first_answer(
    house: Served,
) -> None:
    with house.client() as client:
        _kept(client, "The workshop opens at 8.")
        first = _kept(client, "The workshop opens at 9.", "r1")
        head = house.engine.log.head
        assert (first["new"], bool(first["contradicts"])) == (True, True)
        assert _kept(client, "The workshop opens at 9.", "r1") == first
        assert house.engine.log.head == head
        said = _kept(client, "The workshop opens at 9.", "r2")
        assert (said["new"], said["item_id"]) == (False, first["item_id"])
        assert _kept(client, "The workshop opens at 9.", "r2") == said
        assert len(_life(client, first["item_id"])["repeats"]) == 1


def test_the_same_request_from_many_at_once_is_carried_out_once(house: Served) -> None:
    with house.client() as client, ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(client.post, "/api/memories", json=KEY) for _ in range(16)]
        told = [answer.result() for answer in answers]
        assert {answer.status_code for answer in told} == {201}
        assert {answer.text for answer in told} == {told[0].text}
        assert told[0].json()["new"] is True
        assert _life(client, told[0].json()["item_id"])["repeats"] == []


def test_what_was_taken_back_is_not_remembered_again_by_its_own_request(house: Served) -> None:
    with house.client() as client:
        first = client.post("/api/memories", json=KEY).json()
        client.post(f"/api/retractions/{first['position']}", json={})
        assert client.post("/api/memories", json=KEY).json() == first
        assert client.get("/api/memories").json()["total"] == 0


def test_a_request_id_for_something_else_is_refused(house: Served) -> None:
    with house.client() as client:
        item = client.post("/api/memories", json=KEY).json()
        other = client.post("/api/memories", json={**KEY, "text": "Something else."})
        assert (other.status_code, bool(other.json()["hint"])) == (409, True)
        path = f"/api/memories/{item['item_id']}"
        for change, another in (
            ({"text": "One."}, {"text": "Two."}),
            ({"significance": 1}, {"significance": 2}),
            ({"pinned": True}, {"pinned": False}),
        ):
            assert client.patch(path, json={**change, "request_id": "c"}).is_success
            assert client.patch(path, json={**change, "request_id": "c"}).is_success
            assert client.patch(path, json={**another, "request_id": "c"}).status_code == 409
        taken = {"request_id": "t"}
        assert client.post(f"/api/retractions/{item['position']}", json=taken).is_success
        assert client.post("/api/retractions/1", json=taken).status_code == 409


def test_a_change_that_is_made_again_does_not_undo_what_came_since(house: Served) -> None:
    with house.client() as client:
        path = f"/api/memories/{_kept(client, 'The key is under the pot.')['item_id']}"
        change = {"text": "Under the mat.", "significance": 3, "pinned": True, "request_id": "c1"}
        client.patch(path, json=change)
        client.patch(path, json={"text": "With Ann.", "significance": 1, "pinned": False})
        head = house.engine.log.head
        item = client.patch(path, json=change).json()["item"]
        assert (item["text"], item["significance"], item["pinned"]) == ("With Ann.", 1, False)
        assert house.engine.log.head == head


def test_a_memory_that_came_back_does_not_step_back_again_by_the_same_request(
    house: Served,
) -> None:
    with house.client() as client:
        item_id = _kept(client, "The key is under the pot.")["item_id"]
        path, letting = f"/api/memories/{item_id}/retirement", {"reason": "x", "request_id": "g1"}
        gone = client.post(path, json=letting).json()
        assert gone["position"] > 0
        assert client.post(path, json=letting).json() == gone
        undo = {"reason": "undone", "request_id": "u1"}
        back = client.post(f"/api/retractions/{gone['position']}", json=undo).json()
        assert client.post(f"/api/retractions/{gone['position']}", json=undo).json() == back
        assert client.post(path, json=letting).json() == gone
        assert _life(client, item_id)["item"]["retired"] is False


@pytest.mark.parametrize("odd", ["a b", "../x", "ä", "x" * 65, 7, ["x"]])
def test_an_odd_request_id_is_refused(shared: Served, odd: Any) -> None:
    with shared.client() as client:
        for path in ("/api/memories", "/api/memories/x/retirement", "/api/retractions/1"):
            body = {"text": "Something.", "request_id": odd}
            assert client.post(path, json=body).status_code == 422, path
