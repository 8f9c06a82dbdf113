"""Threads over HTTP: send, regenerate, rewind, retract, edit, browse and search."""

from pathlib import Path

import httpx
import pytest
from tests.interfaces.http.serving import Served, frames, send_and_wait, served, wait_until_ended
from tests.thread.fixtures import gate

from everloop.memory.model.commands import RememberItem


def _texts(client: httpx.Client, thread: str = "home", **asked: str) -> list[str]:
    page = client.get(f"/api/threads/{thread}/messages", params=asked).json()
    return [one["text"] for one in page["messages"]]


def test_an_acknowledged_message_is_stored_and_a_resend_is_not_duplicated(
    server: Served,
) -> None:
    with server.client() as client:
        letter = {"text": "Only once.", "letter_id": "abc"}
        first = client.post("/api/threads/home/messages", json=letter)
        again = client.post("/api/threads/home/messages", json=letter)
        assert first.status_code == 201
        assert again.json() == first.json()
        wait_until_ended(client, first.json()["turn_id"])
        assert _texts(client) == ["Only once.", "Answer number 1."]


def test_messages_can_be_paged_in_both_directions(server: Served) -> None:
    with server.client() as client:
        ids = [send_and_wait(client, f"Question {number}.")["message_id"] for number in range(3)]
        newest = client.get("/api/threads/home/messages?limit=2").json()
        assert [one["text"] for one in newest["messages"]] == ["Question 2.", "Answer number 3."]
        assert (newest["earlier"], newest["later"]) == (True, False)
        before = _texts(client, at=ids[1], way="before", limit="1")
        after = _texts(client, at=ids[1], way="after", limit="1")
        assert (before, after) == (["Answer number 1."], ["Answer number 2."])
        day = newest["messages"][0]["said_at"][:10]
        jumped = client.get(f"/api/threads/home/days/{day}/messages?limit=1").json()
        assert [one["text"] for one in jumped["messages"]] == ["Question 0."]
        assert (jumped["earlier"], jumped["later"]) == (False, True)
        past = client.get("/api/threads/home/days/2001-01-01/messages?limit=1").json()
        assert past == jumped
        future = client.get("/api/threads/home/days/2999-01-01/messages?limit=1").json()
        assert [one["text"] for one in future["messages"]] == ["Answer number 3."]


def test_a_regenerated_answer_is_kept_beside_the_first(server: Served) -> None:
    with server.client() as client:
        sent = send_and_wait(client, "Again?")
        first = client.get("/api/threads/home/messages").json()["messages"][-1]
        again = client.post(f"/api/messages/{first['message_id']}/again").json()
        wait_until_ended(client, again["turn_id"])
        beside = client.get(f"/api/messages/{first['message_id']}/siblings").json()
        assert [one["standing"] for one in beside] == [False, True]
        assert beside == client.get(f"/api/messages/{sent['message_id']}/siblings").json()
        assert _texts(client) == ["Again?", "Answer number 2."]
        branch = beside[0]["branch"]
        client.post("/api/threads/home/branch", json={"branch": branch})
        assert _texts(client) == ["Again?", "Answer number 1."]
        assert client.get("/api/messages/none/siblings").status_code == 404


def test_a_rewind_is_previewed_done_and_undone(server: Served) -> None:
    with server.client() as client:
        first = send_and_wait(client, "One.")
        send_and_wait(client, "Two.")
        preview = client.get(f"/api/messages/{first['message_id']}/rewind").json()
        assert preview["hides"]
        gone = client.post(f"/api/messages/{first['message_id']}/rewind").json()
        assert _texts(client) == ["One."]
        lines = client.get("/api/threads/home/branches").json()
        assert {one["branch"]: one["standing"] for one in lines} == {
            gone["before"]: False,
            gone["branch"]: True,
        }
        beside = client.get(
            "/api/threads/home/branches/compare",
            params={"first": gone["before"], "second": gone["branch"]},
        ).json()
        assert beside["shared"]["text"] == "One."
        assert len(beside["first"]) == 3
        client.post("/api/threads/home/branch", json={"branch": gone["before"]})
        assert len(_texts(client)) == 4


def test_editing_a_message_creates_a_branch(server: Served) -> None:
    with server.client() as client:
        sent = send_and_wait(client, "Tpyo.")
        edited = client.post(f"/api/messages/{sent['message_id']}/edit", json={"text": "Typo."})
        wait_until_ended(client, edited.json()["turn_id"])
        assert _texts(client) == ["Typo.", "Answer number 2."]
        assert edited.json()["branch"] != sent["branch"]


def test_a_retraction_is_previewed_done_and_undone(server: Served) -> None:
    with server.client() as client:
        sent = send_and_wait(client, "A secret.")
        preview = client.get(f"/api/messages/{sent['message_id']}/retraction").json()
        assert preview["kinds"]["thread.message_sent"] == 1
        done = client.post(
            f"/api/messages/{sent['message_id']}/retraction", json={"reason": "no"}
        ).json()
        assert _texts(client) == []
        assert client.get(f"/api/retractions/{done['position']}").json()["restores"]
        client.post(f"/api/retractions/{done['position']}", json={})
        assert _texts(client) == ["A secret.", "Answer number 1."]


def test_a_message_is_hidden_and_shown_again(server: Served) -> None:
    with server.client() as client:
        sent = send_and_wait(client, "Fold me.")
        for hidden in (True, False):
            path = f"/api/messages/{sent['message_id']}/hidden"
            assert client.put(path, json={"hidden": hidden}).json()["hidden"] is hidden


def test_a_second_message_is_queued_and_both_can_be_stopped(tmp_path: Path) -> None:
    held = gate()
    with (
        served(tmp_path, [["Half ", held, "whole."], "Never."]) as server,
        server.client() as client,
    ):
        with client.stream("GET", "/api/stream") as stream:
            first = client.post("/api/threads/home/messages", json={"text": "One."}).json()
            next(one for one in frames(stream) if one.event == "words")
        second = client.post("/api/threads/home/messages", json={"text": "Two."}).json()
        waiting = client.get("/api/threads/home/turns").json()
        assert [(one["turn_id"], one["phase"]) for one in waiting] == [
            (first["turn_id"], "streaming"),
            (second["turn_id"], "recorded"),
        ]
        for turn in (second, first):
            assert client.post(f"/api/turns/{turn['turn_id']}/stop").status_code == 202
            wait_until_ended(client, turn["turn_id"])
        stopped = client.get(f"/api/turns/{first['turn_id']}").json()
        assert stopped["phase"] == "stopped"
        said = client.get(f"/api/messages/{stopped['answer_id']}").json()
        assert (said["text"], said["state"]) == ("Half ", "stopped")
        assert len(server.model.calls) == 1


def test_the_prompt_of_an_answer_can_be_inspected(server: Served) -> None:
    with server.client() as client:
        send_and_wait(client, "Where is the key?")
        question, answer = client.get("/api/threads/home/messages").json()["messages"]
        assert question["context_id"] == ""
        opened = client.get(f"/api/contexts/{answer['context_id']}").json()
        pieces = [piece for section in opened["sections"] for piece in section["pieces"]]
        assert any("Where is the key?" in piece["text"] for piece in pieces)
        assert opened["tokens"] <= opened["hard"]
        assert opened["calls"][0]["model"] == "scripted"
        assert opened["calls"][0]["cost_usd"] is None
        spent = client.get("/api/usage?by=day").json()
        assert (spent[0]["model"], spent[0]["calls"], spent[0]["unpriced"]) == ("scripted", 1, 1)
        assert client.get("/api/contexts/none").status_code == 404


def test_threads_are_opened_renamed_archived_and_restored(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/threads", json={"title": "Garden"}).json()
        path = f"/api/threads/{made['thread_id']}"
        assert client.patch(path, json={"title": "Plants"}).json()["title"] == "Plants"
        client.patch(path, json={"archived": True})
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Home"]
        client.patch(path, json={"archived": False})
        assert len(client.get("/api/threads").json()) == 2
        assert client.get("/api/threads/none").status_code == 404
        assert client.get("/api/threads/none/messages").status_code == 404
        assert client.post("/api/threads/none/messages", json={"text": "x"}).status_code == 404


def test_a_pinned_thread_is_listed_first(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/threads", json={"title": "Garden"}).json()
        send_and_wait(client, "Newer than the garden.")
        path = f"/api/threads/{made['thread_id']}"
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Home", "Garden"]
        assert client.patch(path, json={"pinned": True}).json()["pinned"] is True
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Garden", "Home"]
        assert client.patch(path, json={"pinned": False}).json()["pinned"] is False
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Home", "Garden"]


def test_recall_tells_what_comes_closest_where_nothing_fits(server: Served) -> None:
    with server.client() as client:
        server.engine.do(RememberItem("msg-1", "Do the zinnias need water?", kind="message"))
        wanted = {"query": "Which zinnias need water?", "mode": "text"}
        found = client.get("/api/recall", params=wanted).json()
        assert found["groups"] == []
        assert found["closest"][0]["item"]["text"] == "Do the zinnias need water?"
        assert found["notes"][-1].startswith("No good match")


def test_a_thread_is_deleted_with_its_memories_and_deleting_is_undone(server: Served) -> None:
    with server.client() as client:
        made = client.post("/api/threads", json={"title": "Garden"}).json()
        path = f"/api/threads/{made['thread_id']}"
        send_and_wait(client, "The zinnias are orange.", thread=made["thread_id"])
        server.running.remembering.remember()
        assert client.get(f"{path}/retraction").json()["kinds"]["thread.message_sent"] == 1
        asked = {"request_id": "r1"}
        done = client.post(f"{path}/retraction", json=asked).json()
        assert client.post(f"{path}/retraction", json=asked).json() == done
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Home"]
        assert client.get(path).status_code == 404
        wanted = {"query": "zinnias", "mode": "text"}
        assert client.get("/api/recall", params=wanted).json()["groups"] == []
        client.post(f"/api/retractions/{done['position']}", json={})
        assert _texts(client, made["thread_id"]) == ["The zinnias are orange.", "Answer number 1."]
        assert client.post("/api/threads/home/retraction", json={}).status_code == 422


def test_deleting_a_thread_stops_its_answer(tmp_path: Path) -> None:
    held = gate()
    with served(tmp_path, [["Half ", held, "whole."]]) as server, server.client() as client:
        thread = client.post("/api/threads", json={"title": "Garden"}).json()["thread_id"]
        with client.stream("GET", "/api/stream") as stream:
            sent = client.post(f"/api/threads/{thread}/messages", json={"text": "One."}).json()
            next(one for one in frames(stream) if one.event == "words")
        done = client.post(f"/api/threads/{thread}/retraction", json={}).json()
        while server.running.turns.live.text(sent["turn_id"]):
            pass
        client.post(f"/api/retractions/{done['position']}", json={})
        assert _texts(client, thread)[0] == "One."
        assert not held.is_set()


def test_an_answer_follows_its_question_though_another_was_sent_meanwhile(tmp_path: Path) -> None:
    held = gate()
    with served(tmp_path, [["A", held, "1."], "A2."]) as server, server.client() as client:
        with client.stream("GET", "/api/stream") as stream:
            client.post("/api/threads/home/messages", json={"text": "Q1."})
            next(one for one in frames(stream) if one.event == "words")
        second = client.post("/api/threads/home/messages", json={"text": "Q2."}).json()
        held.set()
        wait_until_ended(client, second["turn_id"])
        assert _texts(client) == ["Q1.", "A1.", "Q2.", "A2."]
        assert _texts(client, limit="3") == ["A1.", "Q2.", "A2."]
        assert _texts(client, at=second["message_id"], way="before") == ["Q1.", "A1."]
        day = client.get("/api/threads/home/messages").json()["messages"][0]["said_at"][:10]
        jumped = client.get(f"/api/threads/home/days/{day}/messages").json()
        assert [one["text"] for one in jumped["messages"]] == ["Q1.", "A1.", "Q2.", "A2."]


def test_messages_are_found_by_keyword_thread_and_author(server: Served) -> None:
    with server.client() as client:
        sent = send_and_wait(client, "The lighthouse keeper has a parrot.")
        server.running.remembering.remember()
        found = client.get("/api/search", params={"query": "parrot", "mode": "text"}).json()
        assert found["hits"][0]["message"]["message_id"] == sent["message_id"]
        assert found["hits"][0]["message"]["thread_id"] == "home"
        for narrow, roles in (
            ({"thread_id": "home"}, ["user", "assistant"]),  # an answer is known by its question
            ({"thread_id": "other"}, []),
            ({"role": "user"}, ["user"]),
            ({"role": "assistant"}, ["assistant"]),
            ({"before": "2020-01-01T00:00:00Z"}, []),
        ):
            wanted = {"query": "parrot", "mode": "text", **narrow}
            hits = client.get("/api/search", params=wanted).json()["hits"]
            assert [one["message"]["role"] for one in hits] == roles, narrow


def test_the_timeline_lists_windows_that_can_be_opened(server: Served) -> None:
    with server.client() as client:
        send_and_wait(client, "Hello.")
        (band,) = client.get("/api/threads/home/timeline?tier=day").json()
        assert (band["tier"], band["messages"], band["state"]) == ("day", 2, "open")
        opened = client.get(f"/api/threads/home/windows/{band['key']}").json()
        assert [one["text"] for one in opened["messages"]] == ["Hello.", "Answer number 1."]
        day = band["first"]
        assert client.put(f"/api/threads/home/days/{day}", json={"important": True}).is_success
        assert client.get("/api/threads/home/timeline?tier=day").json()[0]["important"] is True
        assert client.get("/api/threads/home/windows/nonsense").status_code == 422


def test_topics_decisions_and_intents_are_added_and_closed(server: Served) -> None:
    with server.client() as client:
        path = "/api/threads/home/notes"
        made = {
            sort: client.post(path, json={"sort": sort, "text": f"A {sort}."}).json()
            for sort in ("topic", "decision", "intent")
        }
        assert len(client.get(path).json()) == 3
        topic = f"{path}/{made['topic']['note_id']}"
        assert client.patch(topic, json={"text": "Half done."}).json()["text"] == "Half done."
        for sort in ("topic", "intent"):
            name = made[sort]["note_id"]
            closed = client.patch(f"{path}/{name}", json={"closed": True}).json()
            assert closed["open"] is False
        assert [one["sort"] for one in client.get(path).json()] == ["decision"]
        assert client.patch(f"{path}/none", json={"closed": True}).status_code == 404


@pytest.mark.parametrize(
    "zone", ["Nowhere/None", "../../etc/passwd", "/etc/passwd", "\0", "x" * 65]
)
def test_an_unknown_time_zone_is_refused(shared: Served, zone: str) -> None:
    with shared.client() as client:
        assert client.put("/api/place", json={"zone": zone}).status_code == 422


def test_days_end_at_midnight_of_the_users_time_zone(server: Served) -> None:
    with server.client() as client:
        assert client.put("/api/place", json={"zone": "Pacific/Auckland"}).status_code == 204
        head = server.engine.log.head
        assert client.put("/api/place", json={"zone": "Pacific/Auckland"}).status_code == 204
        assert server.engine.log.head == head
