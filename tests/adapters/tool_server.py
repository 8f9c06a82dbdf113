"""A small MCP server with the official SDK, for the tests of our client: `python … [port]`."""

import os
import sys
import time
from pathlib import Path

from mcp.server import MCPServer
from mcp_types import TextContent

server: MCPServer[None] = MCPServer("small", log_level="ERROR")


@server.tool()
def add(left: int, right: int) -> int:
    """Add two numbers."""
    return left + right


@server.tool()
def complain() -> str:
    """Fail."""
    raise ValueError("not today")


@server.tool(name="say.hello")
def say_hello() -> list[TextContent]:
    """Say hello, in a tool whose name services do not allow."""
    return [TextContent(type="text", text="hello")]


@server.tool()
def leave() -> str:
    """End the server in the middle of a call."""
    os._exit(3)


@server.tool()
def dawdle(sign: str = "") -> str:
    """Take long; a file is the sign that it has begun."""
    if sign:
        Path(sign).touch()
    time.sleep(30)
    return "at last"


if __name__ == "__main__":
    if len(sys.argv) > 1:
        server.run("streamable-http", host="127.0.0.1", port=int(sys.argv[1]))
    else:
        server.run("stdio")
