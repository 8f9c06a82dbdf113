"""Tool calls that come as text are read as calls, and no other text is held back for good."""

import pytest
from tests.adapters.models.fake_services import Reply, fake_service

from everloop.adapters.models.provider import ModelService, ProviderModel
from everloop.adapters.models.text_tool_calls import TextToolCalls
from everloop.completion import read_completion, text_message
from everloop.ports import Params, Prompt, Tool, ToolCall

TOOL = Tool("recall", "Find.", {"type": "object"})
CALL = ToolCall("text-0", "recall", {"query": "plums"})
PLAIN = '{"name": "recall", "arguments": {"query": "plums"}}'


def read(*pieces: str) -> tuple[str, list[ToolCall]]:
    reader = TextToolCalls(["recall"])
    shown = "".join(reader.feed(piece) for piece in pieces)
    rest, calls = reader.end()
    return shown + rest, calls


@pytest.mark.parametrize(
    "text",
    [
        PLAIN,
        f"<tool_call>\n{PLAIN}\n</tool_call>",
        f"```json\n{PLAIN}\n```",
        f"[TOOL_CALLS][{PLAIN}]",
        PLAIN.replace("arguments", "parameters"),
        '{\n  "name": "recall",\n  "arguments": {"query": "plums"}\n}',
    ],
)
@pytest.mark.parametrize("size", [1, 7, 1_000])
def test_a_call_as_text_is_read_as_a_call(text: str, size: int) -> None:
    pieces = [text[at : at + size] for at in range(0, len(text), size)]
    assert read(*pieces) == ("", [CALL])


def test_text_before_a_call_is_shown() -> None:
    assert read("Let me look.\n", PLAIN) == ("Let me look.\n", [CALL])


@pytest.mark.parametrize(
    "text",
    [
        '{"name": "unknown", "arguments": {}}',
        '{"a": 1}',
        "{not json",
        "`code` and <b>",
        "Plain words.\n\nMore.",
        '{"' + "x" * 9_000,
        "",
    ],
)
def test_other_text_is_passed_on_as_it_is(text: str) -> None:
    assert read(*text) == (text, [])


@pytest.mark.parametrize(("model", "calls"), [("qwen2.5", 1), ("claude-like", 0)])
def test_only_models_known_for_it_are_read_so(model: str, calls: int) -> None:
    with fake_service(Reply(pieces=(PLAIN,))) as service:
        served = ProviderModel(ModelService("ollama", f"{service.url}/v1", free=True), model)
        prompt = Prompt((text_message("user", "Plums?"),), tools=(TOOL,))
        answer = read_completion(served.generate(prompt, Params()))
    assert len(answer.calls) == calls
    assert answer.finish.reason == ("tools" if calls else "stop")
    assert answer.text == ("" if calls else PLAIN)
