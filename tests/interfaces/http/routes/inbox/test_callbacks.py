"""“Call me when it is done” over HTTP: asked for, cancelled, and refused where it cannot be."""

from collections.abc import Generator
from pathlib import Path

import pytest
from tests.interfaces.http.serving import Served
from tests.interfaces.voice.telephone import telephone_server

from everloop.access import pairing
from everloop.app import USER
from everloop.workers import TaskSpec


@pytest.fixture
def reachable(tmp_path: Path) -> Generator[Served]:
    """A server whose telephone is configured."""
    with telephone_server(tmp_path) as one:
        yield one


def propose(server: Served) -> str:
    """The subject of a new task, which has not started."""
    spec = TaskSpec("Write the report", "Do.", "command", ("true",))
    return f"task:{server.engine.workers.propose(spec, USER).task.task_id}"


def test_the_user_asks_to_be_called_about_a_task_once(reachable: Served) -> None:
    subject = propose(reachable)
    with reachable.client() as client:
        assert client.get("/api/voice").json() == {"configured": True, "callbacks": []}
        asked = client.put(f"/api/voice/callbacks/{subject}")
        head = reachable.engine.log.head
        again = client.put(f"/api/voice/callbacks/{subject}", json={"request_id": "k1"})
        known = client.get("/api/voice").json()
    wanted = {"configured": True, "callbacks": [subject]}
    assert (asked.status_code, asked.json(), again.json(), known) == (200, wanted, wanted, wanted)
    assert reachable.engine.log.head == head
    assert list(reachable.running.voice.callbacks()) == [subject]


def test_a_call_that_was_asked_for_is_cancelled(reachable: Served) -> None:
    subject, other = propose(reachable), propose(reachable)
    with reachable.client() as client:
        for one in (subject, other):
            client.put(f"/api/voice/callbacks/{one}")
        cancelled = client.delete(f"/api/voice/callbacks/{subject}")
        again = client.delete(f"/api/voice/callbacks/{subject}")
    left = {"configured": True, "callbacks": [other]}
    assert (cancelled.status_code, cancelled.json()) == (200, left)
    assert (again.status_code, again.json()) == (200, left)


@pytest.mark.promise("P-VOICE-6")
def test_without_a_telephone_nobody_can_ask_to_be_called(server: Served) -> None:
    subject = propose(server)
    with server.client() as client:
        assert client.get("/api/voice").json() == {"configured": False, "callbacks": []}
        refused = client.put(f"/api/voice/callbacks/{subject}")
    assert refused.status_code == 422
    assert refused.json()["error"] == "the telephone is not configured"
    assert "`everloop voice check`" in refused.json()["hint"]
    assert server.running.voice.callbacks() == {}


def test_a_call_that_was_asked_for_is_cancelled_also_without_a_telephone(server: Served) -> None:
    subject = propose(server)
    server.running.voice.request_callback(subject, USER)
    with server.client() as client:
        cancelled = client.delete(f"/api/voice/callbacks/{subject}")
    assert cancelled.json() == {"configured": False, "callbacks": []}


@pytest.mark.parametrize(
    ("subject", "status"), [("task:tsk-none", 404), ("task:", 404), ("home", 422), ("t" * 201, 422)]
)
def test_nobody_is_called_about_what_is_no_task(
    reachable: Served, subject: str, status: int
) -> None:
    with reachable.client() as client:
        refused = client.put(f"/api/voice/callbacks/{subject}")
    assert (refused.status_code, set(refused.json())) == (status, {"error", "hint"})
    assert reachable.running.voice.callbacks() == {}


def test_nobody_is_called_about_a_task_that_is_over(reachable: Served) -> None:
    subject = propose(reachable)
    reachable.engine.workers.dismiss(subject.removeprefix("task:"), USER)
    with reachable.client() as client:
        refused = client.put(f"/api/voice/callbacks/{subject}")
    assert refused.status_code == 409
    assert refused.json()["hint"]
    assert reachable.running.voice.callbacks() == {}


def test_an_agent_can_neither_see_ask_for_nor_cancel_a_call(reachable: Served) -> None:
    engine, subject = reachable.engine, propose(reachable)
    reachable.running.voice.request_callback(subject, USER)
    token = pairing.issue_host_token(engine.log, engine, engine.ports, "squid", USER).text
    with reachable.stranger() as client:
        client.headers["authorization"] = f"Bearer {token}"
        answers = [
            client.get("/api/voice"),
            client.put(f"/api/voice/callbacks/{propose(reachable)}"),
            client.delete(f"/api/voice/callbacks/{subject}"),
        ]
    assert [one.status_code for one in answers] == [403, 403, 403]
    assert list(reachable.running.voice.callbacks()) == [subject]
