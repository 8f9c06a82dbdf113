"""Tasks over HTTP: start, watch, cancel, retry; what an agent proposes waits."""

import time
from collections.abc import Generator
from typing import Any

import httpx
import pytest
from tests.interfaces.http.serving import Served

from everloop.log import Context
from everloop.workers import TaskSpec, Workspace

WAIT_S = 60.0


@pytest.fixture
def working(server: Served) -> Generator[Served]:
    """A server that runs tasks."""
    server.running.tasks.start()
    yield server
    server.running.tasks.stop()


def until(client: httpx.Client, task_id: str, *states: str) -> dict[str, Any]:
    """The task, once it is in one of these states."""
    task: dict[str, Any] = {}
    deadline = time.monotonic() + WAIT_S
    while time.monotonic() < deadline:
        task = client.get(f"/api/tasks/{task_id}").json()
        if task["state"] in states:
            return task
        time.sleep(0.05)
    raise AssertionError(f"still {task}")


def test_a_command_is_started_watched_and_checked(working: Served) -> None:
    body = {
        "title": "Say hello",
        "runner": "command",
        "command": ["echo", "hello"],
        "check": ["true"],
        "request_id": "k1",
    }
    with working.client() as client:
        made = client.post("/api/tasks", json=body)
        assert made.status_code == 201
        name = made.json()["task_id"]
        assert client.post("/api/tasks", json=body).json()["task_id"] == name
        done = until(client, name, "done")
        assert (done["claim"], done["verdict"]["passed"]) == ("hello", True)
        (part, *_) = client.get(f"/api/tasks/{name}/transcript").json()["parts"]
        assert part["entries"][0]["text"] == "hello\n"
        later = client.get(f"/api/tasks/{name}/transcript", params={"after": part["position"]})
        assert "hello" not in later.text
        found = client.get("/api/tasks/search", params={"query": "HELLO"}).json()
        assert [(one["task_id"], one["kind"]) for one in found["hits"]] == [(name, "output")]
        assert found["titles"] == {name: "Say hello"}
        assert client.get(f"/api/tasks/{name}/diff").json() == {"diff": ""}
        board = client.get("/api/tasks").json()
        assert [one["task_id"] for one in board["ended"]] == [name]
        assert client.get("/api/tasks/nothing").status_code == 404


def test_a_task_is_cancelled_and_tried_again(working: Served) -> None:
    body = {"title": "Wait", "runner": "command", "command": ["sleep", "600"]}
    with working.client() as client:
        name = client.post("/api/tasks", json=body).json()["task_id"]
        until(client, name, "running")
        client.post(f"/api/tasks/{name}/cancel")
        until(client, name, "cancelled")
        assert client.post(f"/api/tasks/{name}/retry").json()["state"] in ("approved", "running")
        client.post(f"/api/tasks/{name}/cancel")
        until(client, name, "cancelled")
        assert client.post(f"/api/tasks/{name}/messages", json={"text": "x"}).status_code == 409


@pytest.mark.promise("P-WORK-1")
def test_a_proposed_task_is_started_or_dismissed_by_the_user(working: Served) -> None:
    agent = Context(actor="agent:thread")
    first, second = (
        working.engine.workers.propose(TaskSpec("List", command=("ls",)), agent).task.task_id
        for _ in range(2)
    )
    with working.client() as client:
        proposed = client.get("/api/tasks").json()["proposed"]
        assert {one["task_id"] for one in proposed} == {first, second}
        client.post(f"/api/tasks/{first}/start")
        until(client, first, "done")
        assert client.post(f"/api/tasks/{second}/dismiss").json()["state"] == "dismissed"
        assert client.get("/api/inbox").json()["needs_you"] == []


def test_the_timeline_says_when_a_task_ran_and_when_it_waited(working: Served) -> None:
    body = {"title": "Fail", "runner": "command", "command": ["false"], "time_s": 60}
    with working.client() as client:
        name = client.post("/api/tasks", json={**body, "request_id": "k2"}).json()["task_id"]
        assert until(client, name, "failed")["time_limit_s"] == 60
        (row,) = client.get("/api/tasks/timeline").json()["tasks"]
        assert (row["task_id"], row["state"]) == (name, "failed")
        kinds = [span["kind"] for span in row["spans"]]
        assert kinds == ["queued", "running"]
        ends = [span["until"] for span in row["spans"]]
        assert all(ends), "what has ended is not still running"


def test_a_form_learns_which_runners_folders_and_limits_there_are(server: Served) -> None:
    spec = TaskSpec("Look", "Look around", "claude", workspace=Workspace("folder", "/srv/shop"))
    server.running.engine.workers.propose(spec, Context(actor="agent:a"))
    with server.client() as client:
        found = client.get("/api/tasks/options").json()
    assert {"claude", "command"} <= set(found["runners"])
    assert (found["folders"], found["time_s"], found["cost_usd"]) == (["/srv/shop"], 3600, 5.0)


def test_a_message_goes_only_to_a_task_that_was_suggested_for_it(server: Served) -> None:
    with server.client() as client:
        assert client.get("/api/tasks/of-thread/home").json()["suggestions"] == []
        body = {"message_id": "m1", "task_id": "t1"}
        refused = client.post("/api/tasks/of-thread/home/route", json=body)
    assert refused.status_code == 404
    assert "nothing is suggested" in refused.text


def test_a_thread_lists_the_tasks_that_were_proposed_in_it(server: Served) -> None:
    workers = server.running.engine.workers
    for title, thread in (("First", "home"), ("Other", "thr-1"), ("Second", "home")):
        spec = TaskSpec(title, "Do it", "claude", thread_id=thread)
        workers.propose(spec, Context(actor="agent:a"))
    with server.client() as client:
        found = client.get("/api/tasks/of-thread/home").json()["tasks"]
        count = client.get("/api/inbox/count").json()
    assert [one["title"] for one in found] == ["First", "Second"]
    assert count == {"waiting": 3, "unread": 3}
