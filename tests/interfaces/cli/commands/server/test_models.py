"""`everloop models`: what was found is used once the user allows it, by either of its names."""

import pytest
from tests.interfaces.cli.commandline import CommandLine

from everloop.adapters import DiscoveredModel
from everloop.interfaces.cli.commands.server import models
from everloop.model_settings import ModelSettings

HERE = "http://127.0.0.1:8080/v1"


@pytest.mark.parametrize("name", ["llamacpp", "llamacpp:small.gguf"])
def test_a_found_server_is_allowed_and_withdrawn_by_its_name_or_that_of_its_model(
    everloop: CommandLine, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    def discover(_: ModelSettings) -> list[DiscoveredModel]:
        return [DiscoveredModel("llamacpp:small.gguf", "a server", address=HERE, unasked=True)]

    monkeypatch.setattr(models, "discover_models", discover)
    refused = everloop.typed("models", "allow", "ollama")
    assert "'ollama' was not found on this machine" in refused.err
    assert "Found: llamacpp." in refused.err
    assert "not allowed yet" in everloop.typed("models").out
    assert "Allowed: llamacpp." in everloop.typed("models", "allow", name).out
    assert "Answers come from llamacpp:small.gguf" in everloop.typed("models").out
    assert "Withdrawn: llamacpp." in everloop.typed("models", "withdraw", name).out
    assert "not allowed yet" in everloop.typed("models").out
