"""Completions: read a model's whole answer, or an answer as a value of a type (structured output).

If an answer does not match the type, the error is sent back to the model, a few times; then the
call fails with `ModelFailed`. A model that declines has not failed: `Declined` is a result that
callers must handle. Only an `EverloopError` leaves this module.
"""

from collections.abc import Callable, Mapping, Sequence
from contextlib import closing
from typing import Any, TypeVar, cast

import msgspec

from everloop.errors import ModelFailed
from everloop.ports import (
    Chunk,
    Delta,
    Finish,
    Message,
    Model,
    Params,
    Prompt,
    Reasoning,
    Stream,
    Text,
    ToolCall,
    Usage,
)

T = TypeVar("T")

TRIES = 3
WARMER = 0.3  # added to the temperature of each further try, so that it is not the same answer
CHARACTERS_MAX = 2_000_000  # of one answer, so that an endless stream cannot fill the memory
CORRECTION_MAX = 2_000  # of a bad answer and of its error, when sent back
PARAMS = Params()
JSON_ONLY = (
    "Answer with one JSON value and nothing else: no explanation, no code fence. It must match this"
    ' JSON schema:\n{schema}\nIf you cannot or will not answer, reply {{"error": "the reason"}}.'
)


class Completion(msgspec.Struct, frozen=True):
    """A complete answer of a model."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    finish: Finish


class Declined(msgspec.Struct, frozen=True):
    """The model declined to answer, which is a result and not a bad answer."""

    reason: str


def text_message(role: str, text: str) -> Message:
    """A message with only text."""
    return Message("assistant" if role == "assistant" else "user", (Text(text),))


def read_completion(stream: Stream) -> Completion:
    """Read a streamed answer to its end.

    Raises:
        ModelFailed: the answer broke off, or is too long.
    """
    with closing(stream):
        builder = _AnswerBuilder()
        for chunk in stream:
            builder.take(chunk)
    return builder.whole()


def generate_structured(  # noqa: PLR0913 - all but three are named and optional
    model: Model,
    prompt: Prompt,
    type_: type[T],
    *,
    tries: int = TRIES,
    params: Params = PARAMS,
    spent: Callable[[Usage], object] = bool,
    lengths: Mapping[str, int] | None = None,
) -> T | Declined:
    """Ask for an answer as a value of a type. `spent` gets the usage of every call.

    `lengths` are the most characters of fields, where a type cannot know them. The schema tells
    them; an answer that is longer is still accepted.

    Raises:
        ModelFailed: no answer matched the type, or the model could not be reached.
    """
    schema = _with_lengths(inline_schema(type_), lengths or {})
    plain = asked = _with_schema(prompt, schema)
    problem, last = "it was not called", ""
    for number in range(tries):
        answer = read_completion(model.generate(asked, _for_try(params, number)))
        spent(answer.usage)
        if answer.finish.reason == "refused":
            return Declined(answer.text.strip() or "it gave no reason")
        outcome = _parse(answer, type_, schema)
        if not isinstance(outcome, _BadAnswer):
            return outcome
        again = ", and it is the same answer again" if answer.text == last else ""
        problem, last = outcome.problem, answer.text
        asked = _with_correction(plain, answer.text, f"{problem}{again}")
    count = f"{tries} {'try' if tries == 1 else 'tries'}"
    raise ModelFailed(
        f"{model.name} gave no usable answer in {count}: {problem}",
        hint="Try again, or choose a larger model for this task.",
    )


def inline_schema(type_: type[Any]) -> dict[str, Any]:
    """The JSON schema of a type, with the outermost object inline and not as a `$ref`.

    Names of types are left out: a model would take them for values.
    """
    schema = _without_titles(msgspec.json.schema(type_))
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions: dict[str, Any] = schema.get("$defs", {})
    if name not in definitions:
        return schema
    others = {key: value for key, value in definitions.items() if key != name}
    inner = cast("dict[str, Any]", definitions[name])
    recursive = f"#/$defs/{name}" in msgspec.json.encode(definitions).decode()
    kept = definitions if recursive else others
    return {**inner, "$defs": kept} if kept else dict(inner)


def _without_titles(schema: dict[str, Any]) -> dict[str, Any]:
    """A schema without the titles of types; a property may still be called `title`."""
    named = ("properties", "$defs")
    return {
        key: {name: _without_titles(one) for name, one in value.items()}
        if key in named
        else _each_without_titles(value)
        for key, value in schema.items()
        if key != "title"
    }


def _each_without_titles(value: Any) -> Any:
    if isinstance(value, dict):
        return _without_titles(cast("dict[str, Any]", value))
    if isinstance(value, list):
        return [_each_without_titles(one) for one in cast("Sequence[Any]", value)]
    return value


def _with_lengths(schema: dict[str, Any], lengths: Mapping[str, int]) -> dict[str, Any]:
    known: dict[str, Any] = schema.get("properties", {})
    longer = {name: {**known[name], "maxLength": most} for name, most in lengths.items()}
    return {**schema, "properties": {**known, **longer}} if lengths else schema


def _for_try(params: Params, number: int) -> Params:
    if params.temperature is None or not number:
        return params
    warmer = min(1.0, params.temperature + WARMER * number)
    return msgspec.structs.replace(params, temperature=warmer)


class _BadAnswer(msgspec.Struct, frozen=True):
    problem: str


class _Error(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    error: str


class _AnswerBuilder:
    """Collects the chunks of an answer."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._characters = 0
        self._usage: Usage | None = None
        self._finish: Finish | None = None

    def take(self, chunk: Chunk) -> None:
        """Add a chunk."""
        match chunk:
            case Delta(text=text):
                self._texts.append(text)
                self._characters += len(text)
            case ToolCall():
                self._calls.append(chunk)
            case Usage():
                self._usage = chunk
            case Finish():
                self._finish = chunk
            case Reasoning():
                pass  # it is no part of the answer
        if self._characters > CHARACTERS_MAX:
            raise ModelFailed(f"the model's answer is longer than {CHARACTERS_MAX:,} characters")

    def whole(self) -> Completion:
        """The complete answer."""
        if self._usage is None or self._finish is None:
            raise ModelFailed("the model's answer broke off", hint="Try again.")
        return Completion("".join(self._texts), tuple(self._calls), self._usage, self._finish)


def _with_schema(prompt: Prompt, schema: dict[str, Any]) -> Prompt:
    rule = JSON_ONLY.format(schema=msgspec.json.encode(schema).decode())
    system = f"{prompt.system}\n\n{rule}".strip()
    return msgspec.structs.replace(prompt, system=system, schema=schema)


def _with_correction(prompt: Prompt, answer: str, problem: str) -> Prompt:
    """The prompt with a bad answer and its error appended, to try again."""
    correction = (
        f"That was not usable: {problem[:CORRECTION_MAX]}. Mend exactly that, keep the rest, and"
        " answer with the JSON alone."
    )
    bad_answer = text_message("assistant", answer[:CORRECTION_MAX].strip() or "(nothing)")
    messages = (*prompt.messages, bad_answer, text_message("user", correction))
    return msgspec.structs.replace(prompt, messages=messages)


def _parse(answer: Completion, type_: type[T], schema: dict[str, Any]) -> T | Declined | _BadAnswer:
    text = _strip_fence(answer.text)
    declined = None if "error" in schema.get("properties", {}) else _parse_declined(text)
    if declined is not None:
        return declined
    try:
        return msgspec.json.decode(text, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        cut = " (it was cut off: it is too long)" if answer.finish.reason == "length" else ""
        return _BadAnswer(f"{str(problem) or type(problem).__name__}{cut}")


def _parse_declined(text: str) -> Declined | None:
    try:
        return Declined(msgspec.json.decode(text, type=_Error).error)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _strip_fence(text: str) -> str:
    """The content of a code fence, if the whole answer is one: many models add it anyway."""
    bare = text.strip()
    if not (bare.startswith("```") and bare.endswith("```") and "\n" in bare):
        return bare
    return bare.partition("\n")[2].removesuffix("```").strip()
