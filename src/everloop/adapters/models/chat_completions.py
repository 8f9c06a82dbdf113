"""Converts prompts and stream chunks to and from the OpenAI chat completions format of any-llm."""

import base64
from collections.abc import Iterator, Sequence
from typing import Any, Literal, NamedTuple, cast

import msgspec

from everloop.errors import ModelFailed
from everloop.memory.token_counts import ESTIMATE
from everloop.ports import (
    Image,
    Message,
    Params,
    Part,
    Prompt,
    Text,
    Tool,
    ToolCall,
    ToolResult,
)

Reason = Literal["stop", "length", "tools", "refused"]

REASONS: dict[str, Reason] = {
    "stop": "stop",
    "length": "length",
    "tool_calls": "tools",
    "function_call": "tools",
    "content_filter": "refused",
}


class TokenUsage(NamedTuple):
    """Input and output tokens; `cached` and `stored` are parts of the input."""

    read: int
    written: int
    cached: int = 0
    stored: int = 0


def estimate_prompt_tokens(prompt: Prompt) -> int:
    """An estimate of the tokens of a prompt."""
    return ESTIMATE(msgspec.json.encode(list(_to_messages(prompt))).decode())


def completion_arguments(
    prompt: Prompt, params: Params, *, dialect: str, free: bool
) -> dict[str, Any]:
    """The keyword arguments of a completion request."""
    messages = list(_to_messages(prompt))
    if dialect == "anthropic":
        _mark_cacheable(messages)
    asked: dict[str, Any] = {
        "messages": messages,
        "stream": True,
        "max_tokens": params.tokens_max,
        "timeout": params.timeout_s,
    }
    if params.temperature is not None:
        asked["temperature"] = params.temperature
    if prompt.tools:
        asked["tools"] = [_to_tool(tool) for tool in prompt.tools]
    if dialect != "anthropic":
        asked["stream_options"] = {"include_usage": True}
        if (
            prompt.schema is not None
        ):  # Claude follows the instructions; a schema would keep it from declining
            shape = {"name": "answer", "schema": prompt.schema}
            asked["response_format"] = {"type": "json_schema", "json_schema": shape}
    if free:  # local servers may only know the older name of this limit
        asked["extra_body"] = {"max_tokens": params.tokens_max}
    return asked


class ChunkAccumulator:
    """Accumulates the chunks of one answer: text, tool calls, usage and finish reason."""

    def __init__(self) -> None:
        self._calls: list[_StreamingCall] = []
        self._written: list[str] = []
        self._finish: str | None = None
        self._usage: TokenUsage | None = None

    def add(self, event: Any) -> tuple[str, str]:
        """Add a chunk and return its reasoning and its text."""
        if event.usage is not None:
            self._usage = _to_tokens(event.usage)
        if not event.choices:
            return "", ""
        choice = event.choices[0]
        self._finish = choice.finish_reason or self._finish
        for piece in choice.delta.tool_calls or ():
            self._add_call_fragment(piece)
        text: str = choice.delta.content or ""
        reasoning = getattr(choice.delta, "reasoning", None)
        thought: str = getattr(reasoning, "content", None) or ""
        self._written += (thought, text)
        return thought, text

    def calls(self) -> Iterator[ToolCall]:
        """The complete tool calls.

        Raises:
            ModelFailed: the arguments of a call are not valid JSON, or the answer was cut off.
        """
        if self._finish is None:
            raise ModelFailed("the answer was cut off", hint="Try again.")
        for call in self._calls:
            yield call.whole()

    def reason(self) -> Reason:
        """Why the answer ended."""
        if self._calls and self._finish in ("stop", "tool_calls"):
            return "tools"
        return REASONS.get(self._finish or "", "stop")

    def tokens(self, prompt: Prompt) -> TokenUsage:
        """The usage that the service reported, or an estimate."""
        if self._usage is not None:
            return self._usage
        return TokenUsage(estimate_prompt_tokens(prompt), ESTIMATE("".join(self._written)))

    def _add_call_fragment(self, piece: Any) -> None:
        """Add a fragment of a tool call. Where all calls have number 0, ids tell them apart."""
        known = next((call for call in self._calls if call.belongs(piece)), None)
        if known is None:
            known = _StreamingCall(piece.index)
            self._calls.append(known)
        known.take(piece)


class _StreamingCall:
    """A tool call that is still streaming."""

    def __init__(self, index: int | None) -> None:
        self._index = index
        self._id = ""
        self._name = ""
        self._arguments: list[str] = []

    def belongs(self, piece: Any) -> bool:
        """Whether a fragment belongs to this call."""
        other = piece.id and self._id and piece.id != self._id
        return piece.index == self._index and not other

    def take(self, piece: Any) -> None:
        """Add a fragment."""
        self._id = self._id or piece.id or ""
        if piece.function is not None:
            self._name = self._name or piece.function.name or ""
            self._arguments.append(piece.function.arguments or "")

    def whole(self) -> ToolCall:
        """The complete call with parsed arguments."""
        arguments = parse_tool_arguments(self._name, "".join(self._arguments))
        return ToolCall(self._id or f"call-{self._index or 0}", self._name, arguments)


def parse_tool_arguments(tool: str, text: str) -> dict[str, Any]:
    """Parse the JSON arguments of a tool call.

    Raises:
        ModelFailed: they are not a JSON object.
    """
    try:
        return msgspec.json.decode(text.strip() or "{}", type=dict[str, Any])
    except (msgspec.MsgspecError, ValueError, RecursionError) as problem:
        raise ModelFailed(
            f"the model called the tool {tool!r} with invalid arguments: {problem}",
            hint="Try again, or choose a model that supports tools.",
        ) from problem


def _to_tokens(usage: Any) -> TokenUsage:
    details = getattr(usage, "prompt_tokens_details", None)
    return TokenUsage(
        usage.prompt_tokens or 0,
        usage.completion_tokens or 0,
        getattr(details, "cached_tokens", None) or 0,
        getattr(details, "cache_write_tokens", None) or 0,
    )


def _to_messages(prompt: Prompt) -> Iterator[dict[str, Any]]:
    if prompt.system:
        yield {"role": "system", "content": prompt.system}
    for message in prompt.messages:
        yield from _tool_messages(message)
        if said := [part for part in message.parts if not isinstance(part, ToolResult)]:
            yield _to_message(message.role, said)


def _mark_cacheable(messages: list[dict[str, Any]]) -> None:
    """Mark where Anthropic is to cache a prompt: after the system text, before the newest message.

    The end is marked too, for the calls of the same turn that follow a tool. Tools come before the
    system text and are cached with it.
    """
    newest = max((n for n, said in enumerate(messages) if said["role"] == "user"), default=0)
    for number in {0, newest - 1, len(messages) - 1}:
        if 0 <= number < len(messages) and messages[number]["role"] != "tool":
            _mark_last_block(messages[number])


def _mark_last_block(said: dict[str, Any]) -> None:
    content: Any = said.get("content")
    if isinstance(content, str) and content and "tool_calls" not in said:
        content = said["content"] = [{"type": "text", "text": content}]
    if isinstance(content, list) and content:
        blocks = cast("list[dict[str, Any]]", content)
        blocks[-1]["cache_control"] = {"type": "ephemeral"}


def _tool_messages(message: Message) -> Iterator[dict[str, Any]]:
    for part in message.parts:
        if isinstance(part, ToolResult):
            text = f"The tool failed: {part.text}" if part.failed else part.text
            yield {"role": "tool", "tool_call_id": part.call_id, "content": text}


def _to_message(role: str, parts: Sequence[Part]) -> dict[str, Any]:
    calls = [_to_call(part) for part in parts if isinstance(part, ToolCall)]
    texts = [part.text for part in parts if isinstance(part, Text)]
    if any(isinstance(part, Image) for part in parts):
        return {"role": role, "content": list(_content_parts(parts))}
    said: dict[str, Any] = {"role": role, "content": "\n".join(texts)}
    if calls:
        said |= {"content": said["content"] or None, "tool_calls": calls}
    return said


def _content_parts(parts: Sequence[Part]) -> Iterator[dict[str, Any]]:
    for part in parts:
        if isinstance(part, Text):
            yield {"type": "text", "text": part.text}
        elif isinstance(part, Image):
            data = base64.b64encode(part.data).decode()
            yield {
                "type": "image_url",
                "image_url": {"url": f"data:{part.media_type};base64,{data}"},
            }


def _to_call(call: ToolCall) -> dict[str, Any]:
    arguments = msgspec.json.encode(call.arguments).decode()
    return {
        "id": call.id,
        "type": "function",
        "function": {"name": call.name, "arguments": arguments},
    }


def _to_tool(tool: Tool) -> dict[str, Any]:
    about = {"name": tool.name, "description": tool.description, "parameters": tool.schema}
    return {"type": "function", "function": about}
