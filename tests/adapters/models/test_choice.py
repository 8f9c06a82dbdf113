"""Which models are found, and which of them answer."""

import socket
from collections.abc import Generator
from pathlib import Path

import msgspec
import pytest
from tests.adapters.models.fake_services import KEY, fake_service

from everloop.adapters.models.discovery import (
    DiscoveredModel,
    Slot,
    choose_model,
    create_model,
    discover_models,
)
from everloop.completion import read_completion, text_message
from everloop.errors import Invalid
from everloop.model_settings import ModelSettings
from everloop.ports import Params, Prompt
from everloop.settings import FILE, describe_settings, load

SLOTS: tuple[Slot, ...] = ("narrative", "classifier")
NOWHERE = "http://127.0.0.1:9/v1"


def settings(
    *, narrative: str = "", classifier: str = "", ollama_url: str = NOWHERE, endpoint_url: str = ""
) -> ModelSettings:
    """Settings for a machine on which nothing runs but what a test starts."""
    return ModelSettings(
        narrative=narrative,
        classifier=classifier,
        ollama_url=ollama_url,
        endpoint_url=endpoint_url,
        lmstudio_url=NOWHERE,
        llamacpp_url=NOWHERE,
        vllm_url=NOWHERE,
    )


def names(found: list[DiscoveredModel]) -> list[str]:
    """The services that were found, without what this machine may have installed."""
    return [one.name for one in found if one.name not in ("claude", "local")]


@pytest.fixture
def silent() -> Generator[str]:
    """The address of something that takes connections and never answers."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        yield f"http://127.0.0.1:{server.getsockname()[1]}/v1"


def test_a_local_server_is_discovered_with_its_first_chat_model() -> None:
    with fake_service() as service:
        found = discover_models(settings(ollama_url=f"{service.url}/v1"))
    assert names(found) == ["ollama:llama3.2"]


@pytest.mark.parametrize("server", ["ollama", "lmstudio", "llamacpp", "vllm"])
def test_each_kind_of_local_server_is_discovered_and_answers(server: str) -> None:
    with fake_service() as service:
        at_home = msgspec.structs.replace(settings(), **{f"{server}_url": f"{service.url}/v1"})
        found = discover_models(at_home)
        model = choose_model(at_home, "narrative", [one for one in found if server in one.name])
        answer = read_completion(model.generate(Prompt((text_message("user", "Hi"),)), Params()))
    assert names(found) == [f"{server}:llama3.2"]
    assert (answer.text, answer.usage.model) == ("Hello there.", f"{server}:llama3.2")
    assert service.asked[0].body["model"] == "llama3.2"


@pytest.mark.parametrize(
    ("service_name", "path"),
    [
        ("anthropic", "/v1/messages"),
        ("openai", "/v1/chat/completions"),
        ("openrouter", "/v1/chat/completions"),
    ],
)
def test_each_service_with_a_key_is_called_at_its_own_url(service_name: str, path: str) -> None:
    with fake_service() as service:
        base = service.url if service_name == "anthropic" else f"{service.url}/v1"
        keyed = {f"{service_name}_key": KEY, f"{service_name}_url": base}
        chosen = msgspec.structs.replace(settings(narrative=f"{service_name}:some"), **keyed)
        model = choose_model(chosen, "narrative")
        answer = read_completion(model.generate(Prompt((text_message("user", "Hi"),)), Params()))
    (asked,) = service.asked
    assert (answer.text, asked.path, asked.body["model"]) == ("Hello there.", path, "some")
    assert KEY in (asked.headers.get("x-api-key"), asked.headers.get("authorization", "")[7:])


def test_every_model_of_a_server_can_be_chosen_and_its_first_is_the_default() -> None:
    with fake_service() as service:
        service.models = ("llama3.2", "qwen3", "bge-embed")
        at_home = settings(ollama_url=f"{service.url}/v1")
        found = discover_models(at_home)
    assert names(found) == ["ollama:llama3.2", "ollama:qwen3"]
    assert choose_model(at_home, "narrative", found).names == ("ollama:llama3.2",)


def test_a_configured_endpoint_is_discovered_too() -> None:
    with fake_service() as service:
        found = discover_models(settings(endpoint_url=f"{service.url}/v1"))
    assert names(found) == ["endpoint:llama3.2"]


def test_servers_without_a_valid_response_have_no_models(silent: str) -> None:
    chosen = settings(ollama_url=silent, endpoint_url="gopher://x")
    assert names(discover_models(chosen)) == []


def test_services_with_keys_come_first_and_keys_are_not_shown() -> None:
    keyed = ModelSettings(
        openai_key=KEY,
        anthropic_key=KEY,
        ollama_url=NOWHERE,
        lmstudio_url=NOWHERE,
        llamacpp_url=NOWHERE,
        vllm_url=NOWHERE,
    )
    found = discover_models(keyed)
    assert names(found) == ["anthropic:claude-opus-5-5", "openai:gpt-5"]
    assert KEY not in str(found)


def test_if_nothing_is_found_the_offline_model_answers() -> None:
    assert choose_model(settings(), "narrative").names == ("offline",)
    assert choose_model(settings(), "classifier").names == ("offline",)


def test_discovered_models_are_used_in_order() -> None:
    found = [DiscoveredModel("claude", ""), DiscoveredModel("ollama:llama3.2", "")]
    assert choose_model(settings(), "narrative", found).names == ("claude", "ollama:llama3.2")


def test_models_of_the_settings_are_used_in_both_slots_exclusively() -> None:
    chosen = settings(narrative="ollama:llama3.2, offline")
    found = [DiscoveredModel("claude", "")]
    for slot in SLOTS:
        assert choose_model(chosen, slot, found).names == ("ollama:llama3.2", "offline")


def test_the_classifier_can_be_another_model() -> None:
    chosen = settings(narrative="offline", classifier="openrouter:meta/llama:free")
    assert choose_model(chosen, "classifier").names == ("openrouter:meta/llama:free",)
    assert choose_model(chosen, "narrative").names == ("offline",)


@pytest.mark.parametrize("name", ["ollama", "ollama:", "endpoint:llama3.2", "a b:c"])
def test_an_invalid_model_name_is_rejected_with_a_hint(name: str) -> None:
    with pytest.raises(Invalid) as caught:
        create_model(name, settings())
    assert caught.value.hint


@pytest.mark.parametrize(
    "name", ["offline", "claude:sonnet", "mistral:mistral-large", "vllm:qwen", "lmstudio:phi"]
)
def test_a_model_keeps_its_configured_name(name: str) -> None:
    assert create_model(name, settings()).name == name


def test_a_failing_service_falls_back_to_the_next_over_real_http() -> None:
    with fake_service() as service:
        chosen = ModelSettings(
            narrative="ollama:llama3.2, endpoint:phi",
            ollama_url=NOWHERE,
            endpoint_url=f"{service.url}/v1",
            backoff_s=0,
        )
        model = choose_model(chosen, "narrative")
        answer = read_completion(model.generate(Prompt((text_message("user", "Hi"),)), Params()))
    assert answer.usage.model == "endpoint:phi"


def test_model_libraries_can_be_preloaded() -> None:
    for name in ("ollama:llama3.2", "offline"):
        choose_model(settings(narrative=name), "narrative").preload()


def test_keys_of_other_programs_are_honoured_where_ours_are_not_set(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text('[models]\nopenrouter_key = "from-file"\n')
    loaded = load(
        {
            "EVERLOOP_HOME": str(tmp_path),
            "ANTHROPIC_API_KEY": "one",
            "OPENAI_API_KEY": "two",
            "EVERLOOP_MODELS_OPENAI_KEY": "three",
            "OPENROUTER_API_KEY": "four",
        }
    ).models
    assert (loaded.anthropic_key, loaded.openai_key) == ("one", "three")
    assert loaded.openrouter_key == "from-file"


def test_a_value_in_place_of_a_section_is_rejected(tmp_path: Path) -> None:
    (tmp_path / FILE).write_text("models = 3\n")
    with pytest.raises(Invalid):
        load({"EVERLOOP_HOME": str(tmp_path), "OPENAI_API_KEY": "two"})


def test_no_key_is_shown_in_settings() -> None:
    loaded = load({"EVERLOOP_HOME": "/nowhere", "ANTHROPIC_API_KEY": KEY})
    shown = (
        f"{loaded!r} {loaded.models} {loaded.models.__rich_repr__()} {describe_settings(loaded)}"
    )
    assert KEY not in shown
    assert "anthropic_key='…'" in shown
