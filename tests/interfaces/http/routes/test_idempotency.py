"""Idempotency: a request repeated with the same request id."""

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import Served, send_and_wait, wait_until_ended

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
def test_remembering_with_the_same_request_id_returns_the_first_result(
    server: Served,
) -> None:
    with server.client() as client:
        _kept(client, "The workshop opens at 8.")
        first = _kept(client, "The workshop opens at 9.", "r1")
        head = server.engine.log.head
        assert (first["new"], bool(first["contradicts"])) == (True, True)
        assert _kept(client, "The workshop opens at 9.", "r1") == first
        assert server.engine.log.head == head
        said = _kept(client, "The workshop opens at 9.", "r2")
        assert (said["new"], said["item_id"]) == (False, first["item_id"])
        assert _kept(client, "The workshop opens at 9.", "r2") == said
        assert len(_life(client, first["item_id"])["repeats"]) == 1


def test_concurrent_requests_with_one_id_are_executed_once(server: Served) -> None:
    with server.client() as client, ThreadPoolExecutor(8) as pool:
        answers = [pool.submit(client.post, "/api/memories", json=KEY) for _ in range(16)]
        told = [answer.result() for answer in answers]
        assert {answer.status_code for answer in told} == {201}
        assert {answer.text for answer in told} == {told[0].text}
        assert told[0].json()["new"] is True
        assert _life(client, told[0].json()["item_id"])["repeats"] == []


def test_a_repeated_request_does_not_restore_a_retracted_memory(server: Served) -> None:
    with server.client() as client:
        first = client.post("/api/memories", json=KEY).json()
        client.post(f"/api/retractions/{first['position']}", json={})
        assert client.post("/api/memories", json=KEY).json() == first
        assert client.get("/api/memories").json()["total"] == 0


def test_a_request_id_reused_for_something_else_is_refused(server: Served) -> None:
    with server.client() as client:
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
            elsewhere = f"/api/memories/{_kept(client, f'Not so: {change}.')['item_id']}"
            assert client.patch(elsewhere, json={**change, "request_id": "c"}).status_code == 409
        taken = {"request_id": "t"}
        assert client.post(f"/api/retractions/{item['position']}", json=taken).is_success
        assert client.post("/api/retractions/1", json=taken).status_code == 409


def test_a_repeated_change_does_not_undo_later_changes(server: Served) -> None:
    with server.client() as client:
        path = f"/api/memories/{_kept(client, 'The key is under the pot.')['item_id']}"
        change = {"text": "Under the mat.", "significance": 3, "pinned": True, "request_id": "c1"}
        client.patch(path, json=change)
        client.patch(path, json={"text": "With Ann.", "significance": 1, "pinned": False})
        head = server.engine.log.head
        item = client.patch(path, json=change).json()["item"]
        assert (item["text"], item["significance"], item["pinned"]) == ("With Ann.", 1, False)
        assert server.engine.log.head == head


def test_a_repeated_request_does_not_retire_a_restored_memory(
    server: Served,
) -> None:
    with server.client() as client:
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
def test_a_malformed_request_id_is_refused(shared: Served, odd: Any) -> None:
    with shared.client() as client:
        for path in (
            "/api/memories",
            "/api/memories/x/retirement",
            "/api/retractions/1",
            "/api/threads",
            "/api/lessons",
            "/api/messages/x/again",
            "/api/lessons/x/promotion",
        ):
            body = {"text": "Something.", "request_id": odd}
            assert client.post(path, json=body).status_code == 422, path


LESSON = {"description": "Water in the evening", "body": "Plants lose less of it then."}
WHY = {"trigger": "watering", "failure_mode": "dry", "correction": "evening"}


def _recorded(server: Served, kinds: str) -> int:
    """The number of facts of these kinds in the log."""
    with server.engine.reading() as reader:
        return int(reader.rows("SELECT count(*) FROM log WHERE kind GLOB ?", (kinds,))[0][0])


def _twice(client: httpx.Client, path: str, body: dict[str, Any], method: str = "POST") -> Any:
    """Send the same request twice and return the response, which must be equal."""
    first = client.request(method, path, json=body)
    again = client.request(method, path, json=body)
    assert first.is_success, first.text
    assert (again.status_code, again.json()) == (first.status_code, first.json())
    return first.json()


def test_proposing_with_the_same_request_id_creates_one_lesson(server: Served) -> None:
    with server.client() as client:
        _twice(client, "/api/lessons", {**LESSON, "request_id": "r1"})
        assert client.get("/api/lessons").json()["total"] == 1
        other = {**LESSON, "body": "Something else.", "request_id": "r1"}
        assert client.post("/api/lessons", json=other).status_code == 409
        assert client.get("/api/lessons").json()["total"] == 1


@pytest.mark.promise("P-HTTP-12")
def test_feedback_with_the_same_request_id_counts_once(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/lessons", json=LESSON).json()["lesson"]
        lesson = f"/api/lessons/{made['lesson_id']}"
        why = {**WHY, "confidence": "inferred"}
        for path, body, other in (
            ("/narrative", why, {**why, "trigger": "rain"}),
            ("/feedback", {"helpful": True}, {"helpful": False}),
            ("/activation", {}, None),
            ("/promotion", {}, None),
            ("/discard", {"reason": "x", "force": True}, {"reason": "y", "force": True}),
        ):
            head = server.engine.log.head
            _twice(client, f"{lesson}{path}", {**body, "request_id": "r1"})
            recorded = _recorded(server, "lessons.*")
            assert server.engine.log.head > head, path
            if other is not None:
                refused = client.post(f"{lesson}{path}", json={**other, "request_id": "r1"})
                assert refused.status_code == 409, path
            assert _recorded(server, "lessons.*") == recorded, path
        assert _recorded(server, "lessons.lesson_narrated") == 1
        assert _recorded(server, "lessons.feedback_given") == 1


def test_a_repeated_edit_does_not_undo_a_later_edit_of_a_lesson(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/lessons", json=LESSON).json()["lesson"]
        path = f"/api/lessons/{made['lesson_id']}"
        edit = {"body": "They lose less.", "request_id": "e1"}
        assert client.patch(path, json=edit).is_success
        client.patch(path, json={"body": "Never at noon."})
        assert client.patch(path, json=edit).json()["lesson"]["body"] == "Never at noon."


def test_opening_with_the_same_request_id_creates_one_thread(server: Served) -> None:
    with server.client() as client:
        begun = len(client.get("/api/threads").json())
        opened = _twice(client, "/api/threads", {"title": " The  garden ", "request_id": "r1"})
        assert opened["title"] == "The garden"
        assert len(client.get("/api/threads").json()) == begun + 1
        other = client.post("/api/threads", json={"title": "The shed", "request_id": "r1"})
        assert other.status_code == 409
        path = f"/api/threads/{opened['thread_id']}"
        _twice(client, path, {"title": "Beds", "archived": True, "request_id": "r2"}, "PATCH")
        assert _recorded(server, "thread.thread_archived") == 1
        back = client.patch(path, json={"archived": False, "request_id": "r2"})
        assert back.status_code == 409


@pytest.mark.parametrize("sort", ["topic", "decision", "intent"])
def test_noting_with_the_same_request_id_creates_one_note(server: Served, sort: str) -> None:
    with server.client() as client:
        client.post("/api/threads", json={"title": "The garden", "request_id": "g"})
        path = "/api/threads/thr-g/notes"
        note = _twice(client, path, {"sort": sort, "text": "The hedge", "request_id": "n1"})
        assert len(client.get(path).json()) == 1
        other = "intent" if sort == "topic" else "topic"
        for body in ({"sort": sort, "text": "Else"}, {"sort": other, "text": "The hedge"}):
            assert client.post(path, json={**body, "request_id": "n1"}).status_code == 409, body
        if sort == "topic":
            stands = {"text": "Half of it is cut.", "request_id": "n2"}
            _twice(client, f"{path}/{note['note_id']}", stands, "PATCH")
            assert _recorded(server, "thread.topic_noted") == 1


def test_rewinding_with_the_same_request_id_rewinds_once(server: Served) -> None:
    with server.client() as client:
        first = send_and_wait(client, "One.")
        second = send_and_wait(client, "Two.")
        path = f"/api/messages/{first['message_id']}/rewind"
        gone = _twice(client, path, {"request_id": "r1"})
        assert gone["branch"] != gone["before"]
        assert _recorded(server, "log.branch_forked") == 1
        undo = {"branch": gone["before"], "request_id": "s1"}
        back = _twice(client, "/api/threads/home/branch", undo)
        assert back == {"branch": gone["before"], "before": gone["branch"]}
        assert client.post(path, json={"request_id": "r1"}).json() == gone
        assert _recorded(server, "log.branch_stood") == 2
        other = f"/api/messages/{second['message_id']}/rewind"
        assert client.post(other, json={"request_id": "r1"}).status_code == 409
        elsewhere = {"branch": gone["branch"], "request_id": "s1"}
        assert client.post("/api/threads/home/branch", json=elsewhere).status_code == 409


@pytest.mark.promise("P-HTTP-12")
def test_regenerating_with_the_same_request_id_gives_one_answer(server: Served) -> None:
    with server.client() as client:
        send_and_wait(client, "One.")
        second = send_and_wait(client, "Two.")
        answer = client.get("/api/threads/home/messages").json()["messages"][-1]["message_id"]
        path = f"/api/messages/{answer}/again"  # which is out of sight from then on
        sent = _twice(client, path, {"request_id": "r1"})
        wait_until_ended(client, sent["turn_id"])
        assert client.post(path, json={"request_id": "r1"}).json() == sent
        assert len(client.get(f"/api/messages/{second['message_id']}/siblings").json()) == 2
        earlier = client.get("/api/threads/home/messages").json()["messages"][0]["message_id"]
        other = client.post(f"/api/messages/{earlier}/again", json={"request_id": "r1"})
        assert other.status_code == 409


def test_retracting_or_hiding_with_the_same_request_id_happens_once(
    server: Served,
) -> None:
    with server.client() as client:
        first, second = send_and_wait(client, "One."), send_and_wait(client, "Two.")
        hidden = {"hidden": True, "request_id": "h1"}
        _twice(client, f"/api/messages/{first['message_id']}/hidden", hidden, "PUT")
        assert _recorded(server, "thread.message_hidden") == 1
        path = f"/api/messages/{second['message_id']}/retraction"
        done = _twice(client, path, {"reason": "a slip", "request_id": "r1"})
        assert done["position"] > 0
        assert _recorded(server, "log.retracted") == 1
        other = client.post(path, json={"reason": "wrong", "request_id": "r1"})
        assert other.status_code == 409
