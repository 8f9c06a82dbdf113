"""The inbox over HTTP: groups, answers from two devices, snoozing, reading."""

import pytest
from tests.interfaces.http.serving import Served

from everloop.app import USER
from everloop.inbox import Choice, RaiseRequest
from everloop.lessons.model.commands import ActivateLesson, ProposeLesson
from everloop.lessons.settings import LessonSettings
from everloop.log import Context
from everloop.reactions.stale_lessons import StaleLessonsTask

CHOICES = (Choice("approve", "Approve"), Choice("deny", "Deny"))


def ask(server: Served, request_id: str) -> None:
    """Raise an approval as a worker."""
    request = RaiseRequest(request_id, "approval", "Run `ls`?", "ls", CHOICES, subject="task:t1")
    server.engine.do(request, by=Context(actor="worker:t1"))


@pytest.mark.promise("P-INBOX-1")
def test_the_second_device_is_told_who_answered(server: Served) -> None:
    ask(server, "r1")
    with (
        server.client(server.credential("phone")) as phone,
        server.client(server.credential("laptop")) as laptop,
    ):
        (shown,) = phone.get("/api/inbox").json()["needs_you"]
        answer = {"choice": "deny", "digest": shown["digest"], "request_id": "k1"}
        first = phone.post("/api/inbox/r1/answer", json=answer)
        assert first.json()["closing"]["device"] == "phone"
        assert phone.post("/api/inbox/r1/answer", json=answer).json() == first.json()
        second = laptop.post("/api/inbox/r1/answer", json={**answer, "request_id": "k2"})
        assert second.status_code == 409
        assert "answered with 'Deny' by user on phone" in second.json()["error"]


@pytest.mark.promise("P-INBOX-3")
def test_an_answer_needs_the_digest_of_what_was_shown(server: Served) -> None:
    ask(server, "r1")
    with server.client() as client:
        answer = {"choice": "approve", "digest": "0" * 64}
        assert client.post("/api/inbox/r1/answer", json=answer).status_code == 409
        assert client.get("/api/inbox/r1").json()["closing"] is None
        assert client.get("/api/inbox/nothing").status_code == 404


def test_requests_are_read_and_put_off(server: Served) -> None:
    for name in ("r1", "r2"):
        ask(server, name)
    with server.client() as client:
        assert client.post("/api/inbox/r1/read").json()["unread"] is False
        assert client.post("/api/inbox/read").json() == {"read": 1}
        until = {"until": "2199-01-01T00:00:00Z"}
        assert client.post("/api/inbox/r1/snooze", json=until).status_code == 200
        told = client.get("/api/inbox").json()
        assert [one["request_id"] for one in told["snoozed"]] == ["r1"]
        assert (told["waiting"], told["unread"]) == (1, 0)
        assert client.post("/api/inbox/r1/snooze", json={}).json()["snoozed_until"] is None


def test_nobody_reads_the_inbox_without_a_credential(server: Served) -> None:
    with server.stranger() as client:
        assert client.get("/api/inbox").status_code == 401


def test_a_stale_lesson_is_discarded_by_the_answer(server: Served) -> None:
    engine = server.engine
    engine.do(ProposeLesson("les-1", "Run the tests", "Before each commit."), by=USER)
    engine.do(ActivateLesson("les-1"), by=USER)
    engine.lessons.settings = LessonSettings(stale_days=0)
    StaleLessonsTask(engine.log, engine, engine.lessons).look()
    with server.client() as client:
        (asked,) = client.get("/api/inbox").json()["needs_you"]
        assert asked["subject"] == "lesson:les-1"
        assert [one["value"] for one in asked["choices"]] == ["keep", "discard"]
        answer = {"choice": "discard", "digest": asked["digest"]}
        assert client.post(f"/api/inbox/{asked['request_id']}/answer", json=answer).is_success
        assert client.get("/api/lessons/les-1").json()["lesson"]["status"] == "discarded"
