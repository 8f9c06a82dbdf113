"""`everloop serve`: the HTTP server, with MCP at `/mcp` and the telephone at `/voice` inside.

Each is mounted only if its extra is installed, and the telephone only if it is configured.
"""

from argparse import Namespace
from collections.abc import Sequence
from typing import TYPE_CHECKING

from everloop.interfaces.http import entry

if TYPE_CHECKING:
    from everloop.interfaces.http.server import MountFactory
    from everloop.interfaces.mcp.http_mount import McpMount
    from everloop.interfaces.voice.mount import VoiceMount
    from everloop.services import Services


def serve(asked: Namespace) -> int:
    """Serve with the command line's options, and return the exit code."""
    return entry.serve(asked, mount_factories())


def mount_factories() -> "list[MountFactory]":
    """The constructors of the applications that are mounted inside the HTTP server."""
    return [_mount_mcp, _mount_voice]


def _mount_mcp(running: "Services", hosts: Sequence[str]) -> "McpMount | None":
    try:
        from everloop.interfaces.mcp.http_mount import McpMount  # noqa: PLC0415 - the `mcp` extra
    except ImportError:
        return None
    return McpMount(running.engine, running.settings, hosts)


def _mount_voice(running: "Services", hosts: Sequence[str]) -> "VoiceMount | None":
    from everloop.interfaces.voice.mount import VoiceMount  # noqa: PLC0415 - loaded if it serves

    try:
        return VoiceMount.from_settings(running, hosts)
    except ImportError:  # the `voice` extra; `everloop doctor` says so
        return None
