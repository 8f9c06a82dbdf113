"""Synchronous test clients of the MCP server, with their event loop in a background thread."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import CallToolResult, Implementation, TextContent

from everloop.interfaces.mcp.server import build_server
from everloop.interfaces.mcp.tool_context import ToolContext


@dataclass
class McpClient:
    """A client of the official SDK."""

    portal: BlockingPortal
    client: Client

    def ask(self, method: str, *arguments: Any, **more: Any) -> Any:
        """Call a method of the SDK client."""

        async def call() -> Any:
            return await getattr(self.client, method)(*arguments, **more)

        return self.portal.call(call)

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """The result of a tool call."""
        found = self.ask("call_tool", tool, arguments)
        assert isinstance(found, CallToolResult)
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The structured output of a tool call that succeeds."""
        found = self.result(tool, **arguments)
        assert not found.is_error, text_of(found)
        answer: dict[str, Any] | None = found.structured_content
        assert answer is not None
        return answer

    def error(self, tool: str, **arguments: Any) -> str:
        """The error text of a tool call that fails."""
        found = self.result(tool, **arguments)
        assert found.is_error, text_of(found)
        return text_of(found)


@contextmanager
def open_client(
    target: Any, *, mode: str = "auto", name: str = "test-host", **more: Any
) -> Generator[McpClient]:
    """A client of a server object, an address or a transport."""
    with start_blocking_portal() as portal:
        info = Implementation(name=name, version="1")
        client = Client(target, mode=mode, client_info=info, **more)
        with portal.wrap_async_context_manager(client) as connected:
            yield McpClient(portal, connected)


@contextmanager
def connect_to(
    room: ToolContext, *, mode: str = "auto", name: str = "test-host"
) -> Generator[McpClient]:
    """A client of a server on this tool context, in memory."""
    with open_client(build_server(room), mode=mode, name=name) as mcp_client:
        yield mcp_client


def text_of(result: CallToolResult) -> str:
    """The text of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
