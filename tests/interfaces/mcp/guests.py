"""Clients of the MCP server, each as plain calls: the event loop they need runs beside the test."""

from collections.abc import Generator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from anyio.from_thread import BlockingPortal, start_blocking_portal
from mcp import Client
from mcp_types import CallToolResult, Implementation, TextContent

from everloop.interfaces.mcp.server import build
from everloop.interfaces.mcp.tool_context import Room


@dataclass
class Guest:
    """A real client of the official SDK."""

    portal: BlockingPortal
    client: Client

    def ask(self, method: str, *arguments: Any, **more: Any) -> Any:
        """Whatever the client can ask."""

        async def asked() -> Any:
            return await getattr(self.client, method)(*arguments, **more)

        return self.portal.call(asked)

    def result(self, tool: str, **arguments: Any) -> CallToolResult:
        """What a tool gave back."""
        found = self.ask("call_tool", tool, arguments)
        assert isinstance(found, CallToolResult)
        return found

    def call(self, tool: str, **arguments: Any) -> dict[str, Any]:
        """The answer of a tool that answers."""
        found = self.result(tool, **arguments)
        assert not found.is_error, text_of(found)
        answer: dict[str, Any] | None = found.structured_content
        assert answer is not None
        return answer

    def refused(self, tool: str, **arguments: Any) -> str:
        """What a tool says that does not."""
        found = self.result(tool, **arguments)
        assert found.is_error, text_of(found)
        return text_of(found)


@contextmanager
def visiting(
    target: Any, *, mode: str = "auto", name: str = "test-host", **more: Any
) -> Generator[Guest]:
    """A guest of a server: a server object, an address, or a transport."""
    with start_blocking_portal() as portal:
        info = Implementation(name=name, version="1")
        client = Client(target, mode=mode, client_info=info, **more)
        with portal.wrap_async_context_manager(client) as connected:
            yield Guest(portal, connected)


@contextmanager
def at(room: Room, *, mode: str = "auto", name: str = "test-host") -> Generator[Guest]:
    """A guest in a room."""
    with visiting(build(room), mode=mode, name=name) as guest:
        yield guest


def text_of(result: CallToolResult) -> str:
    """The words of a result."""
    return "\n".join(block.text for block in result.content if isinstance(block, TextContent))
