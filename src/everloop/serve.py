"""`everloop serve`: the HTTP door, and inside it the MCP door at `/mcp`, if its extra is there."""

import importlib
from argparse import Namespace
from collections.abc import Callable
from typing import Any

from everloop.interfaces.http import entry


def serve(asked: Namespace) -> int:
    """Serve as the command line asks, and give the exit code."""
    return entry.serve(asked, inner_doors())


def inner_doors() -> list[Callable[..., Any]]:
    """What makes each door that is served inside the HTTP door."""
    try:
        mounted = importlib.import_module("everloop.interfaces.mcp.http_mount")
    except ImportError:
        return []
    return [mounted.Mounted]
