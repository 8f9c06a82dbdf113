"""Switching models during a conversation, with fake model services."""

from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import httpx
import pytest
from tests.adapters.models.fake_services import FakeService, Reply, fake_service
from tests.interfaces.http.process import server_process, signed_in
from tests.interfaces.http.serving import frames

BIG, SMALL = Reply(pieces=("Big says ", "hello.")), Reply(pieces=("Small says ", "hello."))
NOWHERE = "http://127.0.0.1:9/v1"


def _environment(big: FakeService, small: FakeService) -> dict[str, str]:
    return {
        "EVERLOOP_MODELS_ENDPOINT_URL": f"{big.url}/v1",
        "EVERLOOP_MODELS_OLLAMA_URL": f"{small.url}/v1",
        "EVERLOOP_MODELS_LMSTUDIO_URL": NOWHERE,
        "EVERLOOP_MODELS_LLAMACPP_URL": NOWHERE,
        "EVERLOOP_MODELS_VLLM_URL": NOWHERE,
        "EVERLOOP_MODELS_TRIES": "1",
        "EVERLOOP_MEMORY_EMBEDDER": "none",
    }


@contextmanager
def _talking(
    home: Path, big: FakeService, small: FakeService, **more: str
) -> Generator[httpx.Client]:
    with (
        server_process(home, _environment(big, small) | more) as server,
        signed_in(server, dict[str, str]()) as client,
    ):
        yield client


def _use(client: httpx.Client, model: str, slot: str = "narrative") -> httpx.Response:
    return client.put("/api/models", json={"slot": slot, "models": model})


def _ask(client: httpx.Client, text: str) -> str:
    with client.stream("GET", "/api/stream") as stream:
        sent = client.post("/api/threads/home/messages", json={"text": text}).json()
        for heard in frames(stream):
            told: dict[str, Any] = heard.data.get("data") or {}
            if told.get("turn_id") == sent["turn_id"] and "finish" in told:
                return str(told["text"])
    raise AssertionError("the stream ended")


def _dialogue(service: FakeService) -> list[tuple[str, str]]:
    """The conversation in the last model call."""
    messages: list[dict[str, Any]] = service.talk[-1].body["messages"]
    return [(one["role"], _text(one["content"])) for one in messages if one["role"] != "system"]


def _text(content: Any) -> str:
    return content if isinstance(content, str) else "".join(part["text"] for part in content)


@pytest.mark.promise("P-HTTP-11")
def test_switching_models_during_a_conversation_loses_nothing(
    tmp_path: Path,
) -> None:
    with fake_service(BIG) as big, fake_service(SMALL) as small:
        small.models = ("phi4", "llama3.2")
        with _talking(tmp_path, big, small) as client:
            found = client.get("/api/models").json()["found"]
            assert [one["name"] for one in found][:3] == [
                "ollama:phi4",
                "ollama:llama3.2",
                "endpoint:llama3.2",
            ]
            assert _use(client, "endpoint:big").json()["narrative"] == "endpoint:big"
            assert _ask(client, "First.") == "Big says hello."
            assert _use(client, "ollama:llama3.2").json()["narrative"] == "ollama:llama3.2"
            assert _ask(client, "Second.") == "Small says hello."
            first, answer, second = _dialogue(small)
            assert first[1].endswith("First.")
            assert answer == ("assistant", "Big says hello.")
            assert second[1].endswith("Second.")
            messages = client.get("/api/threads/home/messages").json()["messages"]
            used = [one["model"] for one in messages if one["role"] == "assistant"]
            assert used == ["endpoint:big", "ollama:llama3.2"]
            spent = {one["model"]: one["calls"] for one in client.get("/api/usage").json()}
            assert spent.keys() >= {"endpoint:big", "ollama:llama3.2"}
        with _talking(tmp_path, big, small) as client:  # it holds for the next start too
            assert client.get("/api/models").json()["narrative"] == "ollama:llama3.2"
            assert _use(client, "").json()["narrative"] == "ollama:phi4"


def test_a_running_answer_is_finished_by_the_model_that_began_it(tmp_path: Path) -> None:
    stalls = Reply(pieces=("Big ", "thinks"), then="stall")
    with (
        fake_service(stalls) as big,
        fake_service(SMALL) as small,
        _talking(tmp_path, big, small) as client,
    ):
        _use(client, "endpoint:big")
        with client.stream("GET", "/api/stream") as stream:
            first = client.post("/api/threads/home/messages", json={"text": "One."}).json()
            next(one for one in frames(stream) if one.event == "words")
        _use(client, "ollama:llama3.2")
        assert client.get(f"/api/turns/{first['turn_id']}").json()["phase"] == "streaming"
        client.post(f"/api/turns/{first['turn_id']}/stop")
        assert _ask(client, "Two.") == "Small says hello."
        assert ("assistant", "Big thinks") in _dialogue(small)


def test_each_model_slot_is_chosen_independently(tmp_path: Path) -> None:
    with (
        fake_service(BIG) as big,
        fake_service(SMALL) as small,
        _talking(tmp_path, big, small) as client,
    ):
        _use(client, "endpoint:big")
        told = _use(client, "offline", slot="classifier").json()
        assert (told["narrative"], told["classifier"]) == ("endpoint:big", "offline")


def test_a_model_set_by_the_environment_cannot_be_changed_here(
    tmp_path: Path,
) -> None:
    with fake_service(BIG) as big, fake_service(SMALL) as small:
        fixed = {"EVERLOOP_MODELS_NARRATIVE": "endpoint:big", "EVERLOOP_MODELS_TIMEOUT_S": "9"}
        with _talking(tmp_path, big, small, **fixed) as client:
            refused = _use(client, "offline")
            assert refused.status_code == 409
            assert "EVERLOOP_MODELS_NARRATIVE" in refused.json()["error"]
            changed = client.put("/api/settings/models.timeout_s", json={"value": "5"})
            assert changed.status_code == 409
            told = {one["name"]: one for one in client.get("/api/settings").json()}
            assert told["models.timeout_s"]["changeable"] is False
            assert client.get("/api/models").json()["narrative"] == "endpoint:big"


def test_the_answer_length_limit_can_be_changed_while_serving(tmp_path: Path) -> None:
    with (
        fake_service(BIG) as big,
        fake_service(SMALL) as small,
        _talking(tmp_path, big, small) as client,
    ):
        _use(client, "endpoint:big")
        path = "/api/settings/thread.answer.tokens_max"
        assert client.put(path, json={"value": "77"}).json()["value"] == 77
        _ask(client, "Short?")
        asked = big.talk[-1].body
        assert 77 in (asked.get("max_tokens"), asked.get("max_completion_tokens"))
