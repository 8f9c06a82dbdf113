"""`everloop serve`: the HTTP server, with the MCP server mounted at `/mcp` if it is installed."""

from argparse import Namespace
from typing import TYPE_CHECKING

from everloop.interfaces.http import entry

if TYPE_CHECKING:
    from everloop.interfaces.http.server import MountFactory


def serve(asked: Namespace) -> int:
    """Serve with the command line's options, and return the exit code."""
    return entry.serve(asked, mount_factories())


def mount_factories() -> "list[MountFactory]":
    """The constructors of the applications that are mounted inside the HTTP server."""
    try:
        from everloop.interfaces.mcp.http_mount import McpMount  # noqa: PLC0415 - the `mcp` extra
    except ImportError:
        return []
    return [McpMount]
