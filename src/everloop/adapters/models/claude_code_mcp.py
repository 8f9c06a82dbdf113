"""A `claude-code-mcp` server as a model: its one tool, `claude_code`, answers the prompt.

The tool knows a text and a folder: no session, no stream, no tools of ours, no cost. So the answer
comes in one piece. It is given an empty folder, because without one it would work in your home.
"""

import asyncio
import shlex
import tempfile
from collections.abc import AsyncGenerator
from typing import Any

from everloop.adapters.mcp_client import call_tool_once
from everloop.adapters.models.errors import redact
from everloop.adapters.models.prices import estimate_tokens
from everloop.adapters.models.stream import BackgroundStream
from everloop.errors import EverloopError, ModelFailed
from everloop.ports import Chunk, Delta, Finish, Params, Prompt, Stream, Text, Usage
from everloop.turns.tool_servers import ToolServer

NAME = "claude-code-mcp"
TOOL = "claude_code"
CONNECT_S = 30.0
SET = "Set models.claude_mcp_command to the command of the server; docs/models.md shows how."


class ClaudeCodeMcpModel:
    """Claude Code behind an MCP server, started by a command."""

    def __init__(self, command: str) -> None:
        words = shlex.split(command)
        self._server = ToolServer(
            command=words[0] if words else "", args=tuple(words[1:]), connect_s=CONNECT_S
        )

    @property
    def name(self) -> str:
        """Always `claude-code-mcp`."""
        return NAME

    def generate(self, prompt: Prompt, params: Params) -> Stream:
        """The answer of the tool, in one piece."""
        return BackgroundStream(self._answer(prompt, params))

    async def _answer(self, prompt: Prompt, params: Params) -> AsyncGenerator[Chunk]:
        if not self._server.command:
            raise ModelFailed(f"{NAME} has no command", hint=SET)
        with tempfile.TemporaryDirectory(prefix="everloop-claude-") as folder:
            text = await self._call({"prompt": _as_text(prompt), "workFolder": folder}, params)
        yield Delta(text)
        tokens = estimate_tokens(prompt, text)
        yield Usage(NAME, tokens.read, tokens.written)
        yield Finish("stop")

    async def _call(self, arguments: dict[str, Any], params: Params) -> str:
        try:
            async with asyncio.timeout(params.timeout_s):
                return await call_tool_once(self._server, TOOL, arguments)
        except TimeoutError:
            raise ModelFailed(
                f"{NAME} did not answer within {params.timeout_s:g} s",
                hint="Raise models.timeout_s: it answers only when it is done.",
            ) from None
        except EverloopError as problem:
            raise ModelFailed(f"{NAME}: {redact(problem)}", hint=SET) from problem
        except Exception as problem:  # the SDK has many errors for a server that is not there
            raise ModelFailed(f"{NAME} cannot be reached: {redact(problem)}", hint=SET) from problem


def _as_text(prompt: Prompt) -> str:
    """The prompt as one text, with who said what."""
    parts = [prompt.system] if prompt.system else []
    for message in prompt.messages:
        said = "\n".join(part.text for part in message.parts if isinstance(part, Text))
        who = "User" if message.role == "user" else "You"
        parts.append(f"{who}: {said}")
    if prompt.schema is not None:
        parts.append(f"Answer with JSON of this shape, and nothing else: {prompt.schema}")
    return "\n\n".join(parts)
