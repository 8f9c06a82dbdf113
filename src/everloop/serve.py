"""`everloop serve`: the HTTP server, with the MCP server mounted at `/mcp` if it is installed."""

from argparse import Namespace
from typing import TYPE_CHECKING

from everloop.interfaces.http import entry

if TYPE_CHECKING:
    from everloop.interfaces.http.server import MakeAnnex


def serve(asked: Namespace) -> int:
    """Serve with the command line's options, and return the exit code."""
    return entry.serve(asked, inner_doors())


def inner_doors() -> "list[MakeAnnex]":
    """The constructors of the applications that are mounted inside the HTTP server."""
    try:
        from everloop.interfaces.mcp.http_mount import Mounted  # noqa: PLC0415 - the `mcp` extra
    except ImportError:
        return []
    return [Mounted]
