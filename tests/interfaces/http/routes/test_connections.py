"""Connecting model services: keys stay secret, and found servers need the user's yes."""

import stat
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.adapters.models.fake_services import KEY, FakeService, Reply, fake_service
from tests.interfaces.http.serving import (
    Served,
    plain_settings,
    send_and_wait,
    served,
    wait_until_ended,
)

from everloop.access.model_services import allow_model_service, withdraw_model_service
from everloop.access.pairing import issue_host_token
from everloop.adapters.models import discovery
from everloop.app import USER
from everloop.model_settings import ModelSettings
from everloop.settings import load

STATEMENT = "The spare key hangs behind the blue door."


@pytest.fixture
def service() -> Generator[FakeService]:
    with fake_service(Reply(pieces=("Behind the ", "blue door."))) as one:
        yield one


@pytest.fixture
def alone(tmp_path: Path) -> Generator[Served]:
    """A server on an empty data home, with no model but the built-in one."""
    with served(tmp_path) as one:
        one.running.choose(plain_settings(tmp_path))
        yield one


def connection(service: FakeService, **more: str) -> dict[str, str]:
    return {"service": "endpoint", "address": service.url, "key": KEY, **more}


def answers(server: Served) -> list[tuple[str, str]]:
    """The texts and models of all answers."""
    with server.client() as client:
        page = client.get("/api/threads/home/messages").json()["messages"]
    return [(one["text"], one["model"]) for one in page if one["role"] == "assistant"]


def test_a_connection_is_tested_without_being_saved(
    alone: Served, service: FakeService, tmp_path: Path
) -> None:
    with alone.client() as client:
        tested = client.post("/api/models/test", json=connection(service)).json()
    assert tested["models"] == ["llama3.2"]
    assert tested["address"] == f"{service.url}/v1"
    assert not (tmp_path / "keys.toml").exists()


def test_a_failed_test_says_what_the_service_said(alone: Served) -> None:
    with alone.client() as client:
        wrong = {"service": "endpoint", "address": "http://127.0.0.1:9"}
        refused = client.post("/api/models/test", json=wrong)
        assert refused.status_code >= 400
        assert "nothing answers at http://127.0.0.1:9/v1" in refused.json()["error"]
        assert "Errno" not in refused.json()["error"]
        for address in ("ftp://x", "http://", "http://127.0.0.1:port"):
            body = {"service": "endpoint", "address": address}
            assert client.post("/api/models/test", json=body).status_code == 422
        assert client.post("/api/models/test", json={"service": "openai"}).status_code == 422


@pytest.mark.promise("P-MODEL-1")
def test_a_key_is_saved_where_only_the_user_reads_it_and_never_shown(
    alone: Served, service: FakeService, tmp_path: Path
) -> None:
    with alone.client() as client:
        told = client.put("/api/models/services", json=connection(service, model="llama3.2"))
        assert told.json()["narrative"] == "endpoint:llama3.2"
        assert told.json()["connected"] == [
            {"service": "endpoint", "address": f"{service.url}/v1", "keyed": True}
        ]
        shown = [told.text, client.get("/api/models").text, client.get("/api/settings").text]
        shown.append(client.get("/api/log", params={"limit": 200}).text)
        send_and_wait(client, "Hello?")
    file = tmp_path / "keys.toml"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert load({}, home=str(tmp_path)).models.endpoint_key == KEY
    assert not any(KEY in text for text in shown)
    assert KEY not in (tmp_path / "settings.toml").read_text()
    assert not any(KEY in str(record.data) for record in alone.engine.log.records())
    assert service.talk[-1].headers["authorization"] == f"Bearer {KEY}"


def test_a_disconnected_service_is_forgotten(
    alone: Served, service: FakeService, tmp_path: Path
) -> None:
    with alone.client() as client:
        client.put("/api/models/services", json=connection(service, model="llama3.2"))
        told = client.delete("/api/models/services/endpoint").json()
    assert (told["narrative"], told["offline"], told["connected"]) == ("offline", True, [])
    assert KEY not in (tmp_path / "keys.toml").read_text()


@pytest.mark.promise("P-MODEL-2")
def test_a_found_server_is_offered_and_not_used_before_the_user_said_yes(
    alone: Served, service: FakeService, monkeypatch: pytest.MonkeyPatch
) -> None:
    at_default = ModelSettings(ollama_url=f"{service.url}/v1")
    monkeypatch.setattr(discovery, "DEFAULTS", at_default)  # as if it were Ollama's own port
    running = alone.running
    running.choose(msgspec.structs.replace(running.settings, models=at_default))
    with alone.client() as client:
        told = client.get("/api/models").json()
        assert (told["offline"], told["choices"]) == (True, ["offline"])
        offered = [(one["name"], one["allowed"]) for one in told["found"]]
        assert ("ollama:llama3.2", False) in offered
        send_and_wait(client, STATEMENT)
        body = {"text": "Hm?", "options": {"model": "ollama:llama3.2"}}
        sent = client.post("/api/threads/home/messages", json=body).json()
        wait_until_ended(client, sent["turn_id"])
        turn = client.get(f"/api/turns/{sent['turn_id']}").json()
        assert (turn["phase"], turn["reason"]) == ("failed", "'ollama' is not connected")
        assert service.asked == []
        allow_model_service(alone.engine.log, alone.engine, USER, "ollama", f"{service.url}/v1")
        assert client.get("/api/models").json()["narrative"] == "ollama:llama3.2"
        withdraw_model_service(alone.engine.log, alone.engine, USER, "ollama")  # as at a terminal
        assert client.get("/api/models").json()["offline"]


def test_a_host_with_a_token_cannot_connect_a_service(alone: Served, service: FakeService) -> None:
    engine = alone.engine
    token = issue_host_token(engine.log, engine, engine.ports, "claude-code", USER)
    with alone.client(token) as client:
        for path in ("/api/models/services", "/api/models"):
            assert client.put(path, json=connection(service)).status_code in (401, 403, 404, 422)
        assert client.post("/api/models/test", json=connection(service)).status_code in (
            401,
            403,
            404,
        )
    assert service.asked == []


def test_each_answer_may_have_its_own_model_temperature_and_length(
    alone: Served, service: FakeService
) -> None:
    with alone.client() as client:
        client.put("/api/models/services", json=connection(service, model="llama3.2"))
        first = send_and_wait(client, "Where does the spare key hang?")
        options = {"model": "endpoint:other", "temperature": 0.1, "tokens_max": 50}
        again = client.post(
            f"/api/messages/{first['message_id']}/again", json={"options": options}
        ).json()
        wait_until_ended(client, again["turn_id"])
        assert answers(alone) == [("Behind the blue door.", "endpoint:other")]
        body = service.talk[-1].body
        assert (body["model"], body["temperature"]) == ("other", 0.1)
        assert 50 in (body.get("max_tokens"), body.get("max_completion_tokens"))
        back = client.post(
            f"/api/messages/{first['message_id']}/again", json={"options": {"model": "offline"}}
        ).json()
        wait_until_ended(client, back["turn_id"])
        assert answers(alone) == [("Nothing about that yet.", "offline")]
        bad = {"text": "x", "options": {"temperature": 3}}
        assert client.post("/api/threads/home/messages", json=bad).status_code == 422
