"""Asking a model: an answer as a whole, and an answer as a value of a type.

A model may say anything. What is not the value that was asked for is told back to it, a few times,
and then it is a failed model. A model that declines is no failure: that is an answer, and a caller
has to look at it. Nothing but an `EverloopError` leaves this module.
"""

from collections.abc import Callable
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
    Stream,
    Text,
    ToolCall,
    Usage,
)

T = TypeVar("T")

TRIES = 3
CHARACTERS_MAX = 2_000_000  # of one answer; a stream that does not end must not fill the memory
TOLD_CHARACTERS = 2_000  # of a bad answer and of what is wrong with it, when told to the model
PARAMS = Params()
JSON_ONLY = (
    "Answer with one JSON value and nothing else: no explanation, no code fence. It must match this"
    ' JSON schema:\n{schema}\nIf you cannot or will not answer, reply {{"error": "the reason"}}.'
)


class Whole(msgspec.Struct, frozen=True):
    """An answer that has come to its end."""

    text: str
    calls: tuple[ToolCall, ...]
    usage: Usage
    finish: Finish


class Declined(msgspec.Struct, frozen=True):
    """The model understood and will not, or cannot: an outcome of its own, not a bad answer."""

    reason: str


def says(role: str, text: str) -> Message:
    """A message of words alone."""
    return Message("assistant" if role == "assistant" else "user", (Text(text),))


def whole(stream: Stream) -> Whole:
    """Read an answer to its end.

    Raises:
        ModelFailed: it has no end, or is too long to be an answer.
    """
    with closing(stream):
        gathered = _Gathered()
        for chunk in stream:
            gathered.take(chunk)
    return gathered.whole()


def structured(
    model: Model,
    prompt: Prompt,
    type_: type[T],
    *,
    tries: int = TRIES,
    params: Params = PARAMS,
    spent: Callable[[Usage], object] = bool,
) -> T | Declined:
    """The answer as a value of a type. `spent` is told what each call took, also of failed ones.

    Raises:
        ModelFailed: no answer was such a value, or the model could not be reached.
    """
    schema = schema_of(type_)
    plain = asked = _with_schema(prompt, schema)
    problem = "it was not asked"
    for _ in range(tries):
        answer = whole(model.generate(asked, params))
        spent(answer.usage)
        if answer.finish.reason == "refused":
            return Declined(answer.text.strip() or "it gave no reason")
        outcome = _read(answer, type_, schema)
        if not isinstance(outcome, _Bad):
            return outcome
        problem = outcome.problem
        asked = _told(plain, answer.text, problem)
    raise ModelFailed(
        f"{model.name} gave no usable answer in {tries} tries: {problem}",
        hint="Try again, or choose a larger model for this.",
    )


def schema_of(type_: type[Any]) -> dict[str, Any]:
    """The JSON schema of a type, with its outermost object in place and not behind a reference."""
    schema = msgspec.json.schema(type_)
    name = str(schema.get("$ref", "")).removeprefix("#/$defs/")
    definitions: dict[str, Any] = schema.get("$defs", {})
    if name not in definitions:
        return schema
    others = {key: value for key, value in definitions.items() if key != name}
    inner = cast("dict[str, Any]", definitions[name])
    recursive = f"#/$defs/{name}" in msgspec.json.encode(definitions).decode()
    kept = definitions if recursive else others
    return {**inner, "$defs": kept} if kept else dict(inner)


class _Bad(msgspec.Struct, frozen=True):
    problem: str


class _Error(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    error: str


class _Gathered:
    """What has come of an answer so far."""

    def __init__(self) -> None:
        self._texts: list[str] = []
        self._calls: list[ToolCall] = []
        self._characters = 0
        self._usage: Usage | None = None
        self._finish: Finish | None = None

    def take(self, chunk: Chunk) -> None:
        """One more chunk."""
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
        if self._characters > CHARACTERS_MAX:
            raise ModelFailed(f"an answer went beyond {CHARACTERS_MAX:,} characters")

    def whole(self) -> Whole:
        """All of it."""
        if self._usage is None or self._finish is None:
            raise ModelFailed("an answer stopped before its end", hint="Ask again.")
        return Whole("".join(self._texts), tuple(self._calls), self._usage, self._finish)


def _with_schema(prompt: Prompt, schema: dict[str, Any]) -> Prompt:
    rule = JSON_ONLY.format(schema=msgspec.json.encode(schema).decode())
    system = f"{prompt.system}\n\n{rule}".strip()
    return msgspec.structs.replace(prompt, system=system, schema=schema)


def _told(prompt: Prompt, answer: str, problem: str) -> Prompt:
    """The prompt again, with an answer and what is wrong with it."""
    again = f"That was not usable: {problem[:TOLD_CHARACTERS]}. Answer again, with the JSON alone."
    said = says("assistant", answer[:TOLD_CHARACTERS].strip() or "(nothing)")
    messages = (*prompt.messages, said, says("user", again))
    return msgspec.structs.replace(prompt, messages=messages)


def _read(answer: Whole, type_: type[T], schema: dict[str, Any]) -> T | Declined | _Bad:
    text = _unfenced(answer.text)
    declined = None if "error" in schema.get("properties", {}) else _declined(text)
    if declined is not None:
        return declined
    try:
        return msgspec.json.decode(text, type=type_)
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        cut = " (it was cut off: it is too long)" if answer.finish.reason == "length" else ""
        return _Bad(f"{str(problem) or type(problem).__name__}{cut}")


def _declined(text: str) -> Declined | None:
    try:
        return Declined(msgspec.json.decode(text, type=_Error).error)
    except (msgspec.MsgspecError, ValueError, RecursionError):
        return None


def _unfenced(text: str) -> str:
    """What stands inside a code fence, if the whole answer is one: many models cannot help it."""
    bare = text.strip()
    if not (bare.startswith("```") and bare.endswith("```") and "\n" in bare):
        return bare
    return bare.partition("\n")[2].removesuffix("```").strip()
