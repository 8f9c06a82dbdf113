"""Imports over HTTP: begun, watched, broken off, gone on with, and taken back in one step."""

import json
import os
import threading
from collections.abc import Generator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adapters.models.fake_services import fake_service
from tests.interfaces.http.process import server_process, signed_in, with_model
from tests.interfaces.http.serving import Served, served

from everloop.app import Engine
from everloop.memory.settings import MemorySettings
from everloop.settings import Settings
from everloop.thread.settings import ImportLimits, ThreadSettings

MANY = 300
STATES = {"waiting", "running"}


def lines(count: int, name: str = "old") -> bytes:
    told = (
        {"thread": name, "role": "user", "text": f"{name} {number}", "at": 1_600_000_000 + number}
        for number in range(count)
    )
    return b"".join(json.dumps(one).encode() + b"\n" for one in told)


def slowly(folder: Path) -> Settings:
    """One message at a time."""
    thread = ThreadSettings(imports=ImportLimits(batch=1))
    return Settings(home=str(folder), memory=MemorySettings(embedder="none"), thread=thread)


@pytest.fixture
def slow(tmp_path: Path) -> Generator[Served]:
    """A server that takes in one message at a time."""
    with served(tmp_path, settings=slowly(tmp_path)) as house:
        yield house


def begin(client: httpx.Client, body: bytes, name: str = "old.jsonl") -> dict[str, Any]:
    answer = client.post("/api/imports", params={"name": name, "wait": "false"}, content=body)
    assert answer.status_code == 202
    begun: dict[str, Any] = answer.json()
    return begun


def until(client: httpx.Client, import_id: str, *, some: bool = False) -> dict[str, Any]:
    """How it stands when it is over; with `some`, when something is in."""
    while True:
        found: dict[str, Any] = client.get(f"/api/imports/{import_id}").json()
        if found["state"] not in STATES or (some and found["messages"]):
            return found
        threading.Event().wait(0.01)


def test_it_begins_at_once_tells_how_far_it_is_and_what_came_of_it(slow: Served) -> None:
    with slow.client() as client:
        begun = begin(client, lines(MANY))
        assert (begun["state"] in STATES, begun["result"]) == (True, None)
        half = until(client, begun["import_id"], some=True)
        assert half["state"] == "running"
        assert 0 < half["bytes_read"] < half["bytes"]
        (past,) = client.get("/api/imports").json()
        assert (past["ended"], past["under_way"]) == (False, True)
        assert client.get("/api/health").json()["ok"]
        done = until(client, begun["import_id"])
        assert (done["state"], done["messages"], done["error"]) == ("done", MANY, "")
        assert done["bytes_read"] == done["bytes"]
        assert done["result"]["messages"] == MANY
        (past,) = client.get("/api/imports").json()
        assert (past["ended"], past["under_way"]) == (True, False)
        assert _parcels(slow.engine) == []


def test_an_interrupted_import_resumes_without_another_upload(slow: Served) -> None:
    with slow.client() as client:
        import_id = _broken_off(client)
        assert client.post(f"/api/imports/{import_id}/resume").status_code == 202
        done = until(client, import_id)
        assert done["known"] > 0
        assert (done["state"], done["messages"] + done["known"]) == ("done", MANY)
        assert _parcels(slow.engine) == []
        assert client.delete(f"/api/imports/{import_id}").status_code == 404
        assert client.post(f"/api/imports/{import_id}/resume").status_code == 404


def test_an_interrupted_import_resumes_when_its_file_is_sent_again(slow: Served) -> None:
    with slow.client() as client:
        import_id = _broken_off(client)
        begin(client, lines(MANY))
        done = until(client, import_id)
        assert (done["state"], done["messages"] + done["known"]) == ("done", MANY)


def test_broken_off_twice_what_was_sent_is_thrown_away(slow: Served) -> None:
    with slow.client() as client:
        import_id = _broken_off(client)
        assert len(_parcels(slow.engine)) == 1
        assert client.delete(f"/api/imports/{import_id}").status_code == 204
        assert _parcels(slow.engine) == []
        assert client.post(f"/api/imports/{import_id}/resume").status_code == 404


def test_broken_off_it_waits_over_a_restart_and_no_longer_than_is_set(tmp_path: Path) -> None:
    days = ImportLimits().kept_days
    with served(tmp_path, settings=slowly(tmp_path)) as house, house.client() as client:
        import_id = _broken_off(client)
    with served(tmp_path) as house, house.client(house.credential()) as client:
        assert client.get(f"/api/imports/{import_id}").json()["state"] == "broken off"
        (parcel,) = _parcels(house.engine)
        began_s = house.stage.clock.now_us() / 1_000_000
        os.utime(parcel, (0, began_s - days * 86_400 + 60))
    with served(tmp_path) as house, house.client(house.credential()) as client:
        assert client.post(f"/api/imports/{import_id}/resume").status_code == 202
        assert until(client, import_id)["state"] == "done"
    held = tmp_path / "everloop.imports" / "old"
    held.mkdir()
    (held / "asked.json").write_bytes(b"{}")
    (held / "broken off").touch()
    os.utime(held, (0, began_s - days * 86_400 - 60))
    with served(tmp_path):
        assert not held.exists()


def _broken_off(client: httpx.Client) -> str:
    """An import of which some is in."""
    import_id: str = begin(client, lines(MANY))["import_id"]
    until(client, import_id, some=True)
    assert client.delete(f"/api/imports/{import_id}").status_code == 204
    broken = until(client, import_id)
    assert broken["state"] == "broken off"
    assert 0 < broken["messages"] < MANY
    return import_id


def _parcels(engine: Engine) -> list[Path]:
    return list(engine.log.file.path.with_suffix(".imports").iterdir())


@pytest.mark.promise("P-IMPORT-2")
def test_an_import_that_is_undone_while_it_runs_leaves_nothing(slow: Served) -> None:
    with slow.client() as client:
        import_id = begin(client, lines(MANY))["import_id"]
        until(client, import_id, some=True)
        (past,) = client.get("/api/imports").json()
        assert client.post(f"/api/retractions/{past['position']}", json={}).is_success
        assert until(client, import_id)["state"] == "failed"
        assert client.get("/api/imports").json() == []
        assert [one["title"] for one in client.get("/api/threads").json()] == ["Home"]


def test_two_imports_come_in_one_after_the_other(slow: Served) -> None:
    with slow.client() as client:
        first = begin(client, lines(300, "a"), "a.jsonl")["import_id"]
        second = begin(client, lines(300, "b"), "b.jsonl")["import_id"]
        assert first != second
        assert [until(client, one)["messages"] for one in (first, second)] == [300, 300]
        again = begin(client, lines(300, "b"), "b.jsonl")
        assert until(client, again["import_id"])["known"] == 300


def test_one_that_failed_for_want_of_a_disk_is_gone_on_with(slow: Served) -> None:
    blocked = slow.engine.log.file.path.parent / "files"
    blocked.write_text("in the way of the folder")
    with slow.client() as client:
        body = claude_with_a_document()
        import_id = begin(client, body, "conversations.json")["import_id"]
        failed = until(client, import_id)
        assert (failed["state"], failed["hint"] != "") == ("failed", True)
        blocked.unlink()
        assert client.post(f"/api/imports/{import_id}/resume").status_code == 202
        done = until(client, import_id)
        assert (done["state"], done["result"]["files"]) == ("done", 1)


def claude_with_a_document() -> bytes:
    message = {
        "uuid": "m",
        "sender": "human",
        "text": "Read this.",
        "created_at": "2025-01-01T00:00:00Z",
        "attachments": [{"file_name": "a.txt", "extracted_content": "Words."}],
    }
    return json.dumps([{"uuid": "c", "name": "A", "chat_messages": [message]}]).encode()


def test_what_a_dead_server_left_unreadable_keeps_no_server_from_starting(tmp_path: Path) -> None:
    for name, asked in (
        ("a", b"{"),
        ("b", b'{"name":"gone.zip","home":false,"by":{}}'),
        ("c", b""),
    ):
        (tmp_path / "everloop.imports" / name).mkdir(parents=True)
        (tmp_path / "everloop.imports" / name / "asked.json").write_bytes(asked)
    half = tmp_path / "everloop.imports" / "half"
    half.mkdir()
    os.utime(half, (0, 0))
    with served(tmp_path) as house, house.client() as client:
        assert client.get("/api/imports").json() == []
        assert not half.exists()


@pytest.mark.promise("P-IMPORT-3")
def test_killed_in_the_middle_it_goes_on_by_itself(tmp_path: Path) -> None:
    cookies = dict[str, str]()
    with fake_service() as model:
        environment = with_model(model.url) | {"EVERLOOP_THREAD_IMPORTS_BATCH": "1"}
        with (
            server_process(tmp_path, environment) as server,
            signed_in(server, cookies) as client,
        ):
            import_id = begin(client, lines(MANY))["import_id"]
            until(client, import_id, some=True)
            server.kill()
        with (
            server_process(tmp_path, environment) as server,
            signed_in(server, cookies) as client,
        ):
            done = until(client, import_id)
            assert done["known"] > 0
            assert (done["state"], done["messages"] + done["known"]) == ("done", MANY)
            (past,) = client.get("/api/imports").json()
            assert (past["ended"], past["messages"]) == (True, MANY)


@pytest.mark.promise("P-IMPORT-3")
def test_of_two_servers_one_carries_it_and_the_other_goes_on_when_that_is_killed(
    tmp_path: Path,
) -> None:
    cookies = dict[str, str]()
    with fake_service() as model, ExitStack() as stack:
        environment = with_model(model.url) | {"EVERLOOP_THREAD_IMPORTS_BATCH": "1"}
        first, second = (
            stack.enter_context(server_process(tmp_path, environment)) for _ in range(2)
        )
        here = stack.enter_context(signed_in(first, cookies))
        there = stack.enter_context(signed_in(second, cookies))
        import_id = begin(here, lines(2 * MANY))["import_id"]
        until(here, import_id, some=True)
        refused = there.post(f"/api/imports/{import_id}/resume")
        assert (refused.status_code, "another process" in refused.text) == (409, True)
        assert there.delete(f"/api/imports/{import_id}").status_code == 409
        assert here.get(f"/api/imports/{import_id}").json()["state"] == "running"
        first.kill()
        while there.get(f"/api/imports/{import_id}").status_code == 404:
            threading.Event().wait(0.05)
        done = until(there, import_id)
        assert done["known"] > 0
        assert (done["state"], done["messages"] + done["known"]) == ("done", 2 * MANY)
