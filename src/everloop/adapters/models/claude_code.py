"""Claude Code as a model, with the user's own login, through claude-agent-sdk.

Each call is a separate, stateless run: no built-in tools, no settings, hooks or memory of the
machine, no session on disk. Earlier messages are sent along as one JSON text, because a run accepts
only a user message. Our tools are offered through an MCP server inside this process; when the model
calls one, the run ends, and the result goes into the next run.

The CLI has no temperature setting. The cost is the CLI's own estimate, at list prices; where a run
ends before it gives one, at a tool call or when it is stopped, we estimate it in the same way.
"""

import asyncio
import base64
import importlib
import tempfile
from collections.abc import AsyncGenerator, AsyncIterator, Mapping
from contextlib import aclosing
from types import MappingProxyType
from typing import Any

import msgspec

from everloop.adapters.models.chat_completions import TokenUsage, parse_tool_arguments
from everloop.adapters.models.errors import TransientModelError, redact
from everloop.adapters.models.prices import estimate_tokens, price_usd
from everloop.adapters.models.stream import BackgroundStream, iterate_with_timeout
from everloop.errors import ModelFailed
from everloop.ports import (
    Chunk,
    Delta,
    Finish,
    Image,
    Message,
    Params,
    Prompt,
    Stream,
    Text,
    Tool,
    ToolCall,
    ToolResult,
    Usage,
)

PREFIX = "mcp__everloop__"
SERVICE = "anthropic"  # in the price list
BUFFER_BYTES = 16_777_216  # maximum size of one line from the CLI
NO_SYSTEM = "You are a helpful assistant."
BEFORE = "What was said so far, as JSON:\n"
GO_ON = "Go on from there."
QUIET = {
    "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
    "CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1",
    "DISABLE_AUTOUPDATER": "1",
    "ENABLE_TOOL_SEARCH": "false",
    "CLAUDE_CODE_MAX_RETRIES": "0",  # we retry ourselves, before the first text only
}
LOG_IN = "Run `claude` once and log in, or set another model: docs/models.md."
NOTHING: Mapping[str, str] = MappingProxyType({})


class ClaudeCodeModel:
    """Claude Code with the user's login. `environment` extends the inherited environment."""

    def __init__(self, model: str = "", environment: Mapping[str, str] = NOTHING) -> None:
        self._model = model
        self._environment = dict(environment)
        self._answering = model  # the full name, once an answer has told it

    @property
    def name(self) -> str:
        """`claude`, or `claude:MODEL` if a model was chosen."""
        return f"claude:{self._model}" if self._model else "claude"

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """Stream the answer of the CLI."""
        return BackgroundStream(self._answer(prompt, params))

    def preload(self) -> None:
        """Import the SDK, which takes a second or two.

        Raises:
            ModelFailed: it is not installed.
        """
        _library()

    def estimate_usage(self, prompt: Prompt, text: str) -> Usage:
        """An estimate of what a call cost that was broken off after this text."""
        tokens = estimate_tokens(prompt, text)
        cost = price_usd(SERVICE, self._answering, tokens)
        return Usage(self.name, tokens.read, tokens.written, cost)

    async def _answer(self, prompt: Prompt, params: Params) -> AsyncGenerator[Chunk]:
        sdk = await asyncio.to_thread(_library)
        with tempfile.TemporaryDirectory(prefix="everloop-claude-") as folder:
            options = self._options(sdk, prompt, params, folder)
            run = sdk.query(prompt=_user_message(prompt), options=options)
            try:
                async with aclosing(run):
                    async for chunk in self._chunks(sdk, iterate_with_timeout(run, params)):
                        yield chunk
            except sdk.ClaudeSDKError as problem:
                raise _to_error(self.name, problem) from None

    async def _chunks(self, sdk: Any, messages: AsyncIterator[Any]) -> AsyncGenerator[Chunk]:
        heeded = _Accumulator()
        async for message in messages:
            if isinstance(message, sdk.StreamEvent) and message.parent_tool_use_id is None:
                text = heeded.take(message.event)
                self._answering = heeded.model or self._answering
                if text:
                    yield Delta(text)
                if heeded.calls and heeded.stop:
                    for call in heeded.calls:
                        yield call.whole()
                    yield heeded.usage(self.name, None)
                    yield Finish("tools")
                    return
            if isinstance(message, sdk.ResultMessage):
                if message.is_error:
                    raise _to_error(self.name, message)
                yield heeded.usage(self.name, message.total_cost_usd)
                yield Finish(heeded.reason())
                return
        raise ModelFailed(f"{self.name} ended without a complete answer", hint="Try again.")

    def _options(self, sdk: Any, prompt: Prompt, params: Params, folder: str) -> Any:
        limit = {"CLAUDE_CODE_MAX_OUTPUT_TOKENS": str(params.tokens_max)}
        return sdk.ClaudeAgentOptions(
            tools=[],
            system_prompt=prompt.system or NO_SYSTEM,
            mcp_servers=_tool_server(sdk, prompt.tools),
            strict_mcp_config=True,
            permission_mode="dontAsk",
            max_turns=1,
            model=self._model or None,
            cwd=folder,
            env={**QUIET, **limit, **self._environment},
            extra_args={"no-session-persistence": None},
            setting_sources=[],
            include_partial_messages=True,
            verbatim_prompts=True,
            max_buffer_size=BUFFER_BYTES,
            stderr=_discard,
        )


class _StreamingCall:
    """A tool call that is still streaming."""

    def __init__(self, call_id: str, name: str) -> None:
        self._id = call_id
        self._name = name.removeprefix(PREFIX)
        self.arguments = ""

    def whole(self) -> ToolCall:
        """The complete call with parsed arguments."""
        return ToolCall(self._id, self._name, parse_tool_arguments(self._name, self.arguments))


class _Accumulator:
    """Accumulates the Messages API events of one answer."""

    def __init__(self) -> None:
        self.calls: list[_StreamingCall] = []
        self.stop = ""
        self.model = ""
        self._tokens = TokenUsage(0, 0)

    def take(self, event: dict[str, Any]) -> str:
        """Add an event and return its text."""
        block: dict[str, Any] = event.get("content_block") or {}
        delta: dict[str, Any] = event.get("delta") or {}
        start: dict[str, Any] = event.get("message") or {}
        self.model = start.get("model") or self.model
        self._count(event.get("usage") or start.get("usage") or {})
        if block.get("type") == "tool_use":
            self.calls.append(_StreamingCall(block.get("id", ""), block.get("name", "")))
        if self.calls:
            self.calls[-1].arguments += delta.get("partial_json", "")
        self.stop = delta.get("stop_reason") or self.stop
        return str(delta.get("text", "")) if delta.get("type") == "text_delta" else ""

    def usage(self, name: str, cost: float | None) -> Usage:
        """The token usage and cost of the call; the cost is estimated if the CLI gave none."""
        if cost is None:
            cost = price_usd(SERVICE, self.model, self._tokens)
        return Usage(name, self._tokens.read, self._tokens.written, cost, self._tokens.cached)

    def reason(self) -> Any:
        """Why the answer ended."""
        return {"max_tokens": "length", "refusal": "refused"}.get(self.stop, "stop")

    def _count(self, usage: Mapping[str, Any]) -> None:
        kinds = ("input_tokens", "cache_read_input_tokens", "cache_creation_input_tokens")
        new, cached, stored = (usage.get(kind) or 0 for kind in kinds)
        before = self._tokens
        self._tokens = TokenUsage(
            max(before.read, new + cached + stored),
            max(before.written, usage.get("output_tokens") or 0),
            max(before.cached, cached),
            max(before.stored, stored),
        )


def _discard(_: str) -> None:
    """Discard the CLI's standard error."""


def _tool_server(sdk: Any, tools: tuple[Tool, ...]) -> dict[str, Any]:
    async def never_run(_: Any) -> dict[str, Any]:
        return {"content": [{"type": "text", "text": "This tool is run elsewhere."}]}

    if not tools:
        return {}
    listed = [sdk.SdkMcpTool(one.name, one.description, one.schema, never_run) for one in tools]
    return {"everloop": sdk.create_sdk_mcp_server("everloop", tools=listed)}


async def _user_message(prompt: Prompt) -> AsyncIterator[dict[str, Any]]:
    """The whole prompt as one user message, because a run accepts nothing else."""
    *before, last = prompt.messages
    answers = any(isinstance(part, ToolResult) for part in last.parts)
    told = prompt.messages if answers or last.role == "assistant" else tuple(before)
    blocks = [_picture(part) for said in prompt.messages for part in said.parts if _is_image(part)]
    if told:
        lines = msgspec.json.encode([_to_json(message) for message in told]).decode()
        blocks.append({"type": "text", "text": f"{BEFORE}{lines}"})
    texts = [part.text for part in last.parts if isinstance(part, Text)]
    words = GO_ON if told == prompt.messages else "\n".join(texts)
    blocks.append({"type": "text", "text": words or GO_ON})
    yield {"type": "user", "message": {"role": "user", "content": blocks}}


def _is_image(part: object) -> bool:
    return isinstance(part, Image)


def _to_json(message: Message) -> dict[str, Any]:
    parts = [part for part in message.parts if not isinstance(part, Image)]
    return {"role": message.role, "parts": parts}


def _picture(part: Any) -> dict[str, Any]:
    data = base64.b64encode(part.data).decode()
    source = {"type": "base64", "media_type": part.media_type, "data": data}
    return {"type": "image", "source": source}


def _to_error(name: str, problem: Any) -> ModelFailed:
    words = redact(getattr(problem, "result", None) or problem)
    status = getattr(problem, "api_error_status", None)
    lost = status is None and getattr(problem, "terminal_reason", None) == "api_error"
    if lost or status == 429 or (status or 0) >= 500:
        return TransientModelError(f"{name}: {words}", hint="Try again in a moment.")
    return ModelFailed(f"{name}: {words}", hint=LOG_IN)


def _library() -> Any:
    try:
        return importlib.import_module("claude_agent_sdk")
    except ImportError as problem:
        raise ModelFailed(
            "Claude Code needs claude-agent-sdk", hint="Install it: pip install 'everloop[claude]'"
        ) from problem
