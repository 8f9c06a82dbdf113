"""The tiny model in two packages: only where both are installed."""

import pytest
from tests.adapters.models.contract import RULES

from everloop.adapters.models.llama_cpp import LocalModel, is_installed
from everloop.completion import generate_structured, read_completion, text_message
from everloop.errors import ModelFailed
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Params, Prompt

PROMPT = Prompt(
    (text_message("user", "What is the capital of France?"),), system="You are helpful."
)


@pytest.mark.skipif(is_installed(), reason="the local model is installed")
def test_a_missing_local_model_names_the_install_commands() -> None:
    with pytest.raises(ModelFailed, match="not installed") as caught:
        read_completion(LocalModel().generate(PROMPT, Params()))
    assert "everloop[local]" in caught.value.hint


@pytest.mark.skipif(not is_installed(), reason="the extra `local` is not installed")
def test_the_local_model_fulfils_the_contract_and_answers_by_a_schema() -> None:
    model = LocalModel()
    for rule in RULES:
        if rule.__name__ != "two_answers_at_a_time_do_not_mix":  # it may run out of tokens
            rule(model)
    assert isinstance(
        generate_structured(model, PROMPT, SummaryText, params=Params(tokens_max=200)), SummaryText
    )
