"""Tools that a model may call during a turn."""

import threading
from collections.abc import Sequence
from typing import Any, Protocol

import msgspec

from everloop.errors import ModelFailed
from everloop.ports import Tool, ToolCall


class TurnRef(msgspec.Struct, frozen=True):
    """Which turn calls a tool: its stream, its branch, and the position where it was recorded."""

    stream_id: str
    branch: str
    because: int


class Toolbox(Protocol):
    """The tools of a turn."""

    @property
    def tools(self) -> Sequence[Tool]:
        """Their descriptions, for the prompt."""
        ...

    def run(self, call: ToolCall, turn: TurnRef, stop: threading.Event) -> str:
        """Call a tool; returns its result, unless it is stopped meanwhile.

        Raises:
            EverloopError: it failed; the model is told why.
        """
        ...


def decode_tool_arguments(call: ToolCall, type_: type[Any]) -> Any:
    """The arguments of a call, as a value.

    Raises:
        ModelFailed: they do not fit.
    """
    try:
        return msgspec.convert(call.arguments, type_)
    except msgspec.ValidationError as problem:
        raise ModelFailed(f"{call.name}: {problem}", hint="Call it again.") from problem
