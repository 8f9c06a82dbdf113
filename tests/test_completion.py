"""Completions: a whole answer of a model, and structured output."""

import itertools
from contextlib import suppress
from typing import Literal

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from everloop.completion import (
    CHARACTERS_MAX,
    Declined,
    generate_structured,
    inline_schema,
    read_completion,
    text_message,
)
from everloop.errors import EverloopError, ModelFailed
from everloop.memory.summaries.compress import SummaryText
from everloop.ports import Finish, Params, Prompt, Text, ToolCall, Usage
from everloop.testing.model import ScriptedModel, Step

ASK = Prompt((text_message("user", "How is she?"),), system="You judge moods.")


class Mood(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The structured output of these tests."""

    name: Literal["glad", "sad"]
    strength: int = 1


class Empty(msgspec.Struct, frozen=True):
    """A type that accepts any object."""

    name: str = ""


class Tree(msgspec.Struct, frozen=True):
    """A recursive type."""

    name: str
    below: "list[Tree]" = []


GLAD = '{"name": "glad", "strength": 2}'


def test_an_answer_is_read_to_its_end() -> None:
    call = ToolCall("t1", "recall", {})
    answer = read_completion(ScriptedModel([["A ", "dog.", call]]).generate(ASK, Params()))
    assert (answer.text, answer.calls, answer.finish) == ("A dog.", (call,), Finish("tools"))


def test_an_answer_that_does_not_end_is_a_failure_and_is_closed() -> None:
    endless = ScriptedModel([["x" * (CHARACTERS_MAX // 2)] * 3]).generate(ASK, Params())
    with pytest.raises(ModelFailed, match="is longer than"):
        read_completion(endless)
    assert list(endless) == []


@pytest.mark.parametrize(
    "text", [GLAD, f"\n{GLAD} \n", f"```json\n{GLAD}\n```", f"```\n{GLAD}\n```"]
)
def test_a_value_is_parsed_with_and_without_a_code_fence(text: str) -> None:
    assert generate_structured(ScriptedModel([text]), ASK, Mood) == Mood("glad", 2)


def test_the_schema_is_in_the_system_prompt_and_in_the_request() -> None:
    model = ScriptedModel([GLAD])
    generate_structured(model, ASK, Mood)
    prompt, _ = model.calls[0]
    assert prompt.schema == inline_schema(Mood)
    assert prompt.system.startswith("You judge moods.")
    assert '"glad","sad"' in prompt.system


@pytest.mark.parametrize(
    ("bad", "told"),
    [
        ("Glad, I think.", "malformed"),
        ('{"name": "furious"}', "furious"),
        ('{"strength": 1}', "name"),
        ('{"name": "glad", "more": 1}', "more"),
        ("[]", "array"),
        ("", "truncated"),
    ],
    ids=["prose", "wrong value", "missing field", "unknown field", "list", "empty"],
)
def test_a_bad_answer_is_sent_back_to_the_model_with_its_error(bad: str, told: str) -> None:
    model = ScriptedModel([bad, GLAD])
    assert generate_structured(model, ASK, Mood) == Mood("glad", 2)
    *_, answer, complaint = model.calls[1][0].messages
    assert (answer.role, complaint.role) == ("assistant", "user")
    part = complaint.parts[0]
    assert isinstance(part, Text)
    assert told in part.text.lower()


def test_a_retry_differs_it_is_warmer_and_says_what_was_wrong_and_repeated() -> None:
    model = ScriptedModel(["one", "one", GLAD])
    generate_structured(model, ASK, Mood, params=Params(temperature=0.1))
    assert [round(params.temperature or 0, 1) for _, params in model.calls] == [0.1, 0.4, 0.7]
    assert "the same answer again" in str(model.calls[2][0].messages[-1])


def test_the_schema_has_lengths_and_enums_and_no_name_of_a_type() -> None:
    model = ScriptedModel(['{"title": "T", "text": "Words."}'])
    generate_structured(model, ASK, SummaryText, lengths={"title": 120})
    schema = model.calls[0][0].schema
    assert schema is not None
    assert schema["properties"]["title"]["maxLength"] == 120
    assert "SummaryText" not in str(schema)
    assert "enum" in str(inline_schema(Mood))


def test_an_endlessly_nested_answer_is_a_bad_answer() -> None:
    with pytest.raises(ModelFailed, match="recursion"):
        generate_structured(
            ScriptedModel(['{"name": "a", "below": [' * 10_000]), ASK, Tree, tries=1
        )


def test_only_the_last_bad_answer_is_sent_back() -> None:
    model = ScriptedModel(["one", "two", GLAD])
    generate_structured(model, ASK, Mood)
    assert [len(prompt.messages) for prompt, _ in model.calls] == [1, 3, 3]
    assert "two" in str(model.calls[2][0].messages)


def test_after_all_tries_the_model_has_failed() -> None:
    model = ScriptedModel(itertools.repeat("no idea"), name="small")
    with pytest.raises(ModelFailed, match=r"small gave no usable answer in 2 tries") as caught:
        generate_structured(model, ASK, Mood, tries=2)
    assert caught.value.hint
    assert len(model.calls) == 2


def test_the_error_of_a_truncated_answer_says_that_it_was_truncated() -> None:
    cut: list[Step] = ['{"name": ', Finish("length")]
    with pytest.raises(ModelFailed, match="too long"):
        generate_structured(ScriptedModel([cut]), ASK, Mood, tries=1)


@pytest.mark.parametrize("type_", [Mood, Empty])
def test_a_model_that_declines_is_not_called_again(type_: type[Mood] | type[Empty]) -> None:
    model = ScriptedModel(['{"error": "I do not judge people."}'])
    assert generate_structured(model, ASK, type_) == Declined("I do not judge people.")
    assert len(model.calls) == 1


def test_a_refusal_by_the_service_counts_as_declined_too() -> None:
    model = ScriptedModel([["No.", Finish("refused")], [Finish("refused")]])
    assert generate_structured(model, ASK, Mood) == Declined("No.")
    assert generate_structured(model, ASK, Mood) == Declined("it gave no reason")


def test_the_usage_of_every_call_is_reported_including_failed_ones() -> None:
    spent: list[Usage] = []
    model = ScriptedModel([["bad", Usage("m", 5, 1)], [GLAD, Usage("m", 9, 4)]])
    generate_structured(model, ASK, Mood, spent=spent.append)
    assert [usage.tokens_in for usage in spent] == [5, 9]


def test_a_model_failure_is_raised() -> None:
    with pytest.raises(ModelFailed, match="gone"):
        generate_structured(ScriptedModel([ModelFailed("gone")]), ASK, Mood)


def test_a_schema_has_its_object_inline_even_if_it_is_recursive() -> None:
    assert inline_schema(Mood)["properties"]["strength"]["default"] == 1
    assert "$defs" not in inline_schema(Mood)
    assert inline_schema(Tree)["type"] == "object"
    assert "Tree" in inline_schema(Tree)["$defs"]
    assert generate_structured(
        ScriptedModel(['{"name": "a", "below": [{"name": "b"}]}']), ASK, Tree
    ) == Tree("a", [Tree("b")])


@given(st.text() | st.sampled_from(["null", "[]", "{}", '"', "```", "```\n```", "\ud800"]))
def test_no_model_answer_raises_an_unexpected_error(text: str) -> None:
    with suppress(EverloopError):
        generate_structured(ScriptedModel(itertools.repeat(text)), ASK, Mood, tries=2)
