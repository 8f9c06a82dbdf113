"""Identifies the caller of an MCP request: the actor (a host) and the session.

The host is named by `--as`, else by the client's own name; it is never the user. Over HTTP with a
host's token, the token decides, whatever the client says. The session is this process; over HTTP,
it is the session id that the server issued, else the credential.
"""

import re
import sys
import threading
from typing import Any, Final

from mcp.server.mcpserver import Context as Request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from everloop.access import HOST_NAME_PATTERN, Device
from everloop.app import Engine
from everloop.host_admission import admit_host, host_actor, no_access_hint
from everloop.log import Context
from everloop.settings import DoorSettings

DEFAULT_HOST_NAME: Final = "mcp"
NAME_MAX: Final = 64
SESSION_HEADER: Final = "mcp-session-id"
_NOT_ALLOWED = re.compile(r"[^a-z0-9._-]+")

McpContext = Request[Any, Any]


class CallerResolver:
    """Identifies callers, and grants each new host access once."""

    def __init__(
        self,
        engine: Engine,
        doors: DoorSettings,
        *,
        run: str,
        name: str = "",
        tenant: str = "local",
    ) -> None:
        self._engine = engine
        self._doors = doors
        self._run = run
        self._fixed_actor = host_actor(name) if name else ""
        self._tenant = tenant
        self._admitted: set[str] = set()
        self._lock = threading.Lock()

    def caller_context(self, request: McpContext) -> Context:
        """The actor and session of a request."""
        device = request_device(request)
        known_actor = host_actor(device.host) if device and device.host else self._fixed_actor
        actor = known_actor or host_actor(normalise_host_name(client_name(request)))
        self._admit_once(actor, by_command=device is None)
        return Context(actor=actor, tenant=self._tenant, session=self._session(request))

    def _admit_once(self, actor: str, *, by_command: bool) -> None:
        with self._lock:
            if actor in self._admitted:
                return
            if admit_host(self._engine, actor, self._doors, by_command=by_command):
                sys.stderr.write(
                    f"everloop: gave {actor} access to every scope;"
                    f" `everloop grants revoke {actor}` takes it away\n"
                )
            elif hint := no_access_hint(self._engine, actor):
                sys.stderr.write(f"everloop: {hint}\n")
            self._admitted.add(actor)

    def _session(self, request: McpContext) -> str:
        """The session. A session id counts only in protocol versions where the server issues it."""
        device = request_device(request)
        run = f"mcp-{device.device_id}" if device else self._run
        headers = request.headers
        if headers is None or request.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return run
        session_id = headers.get(SESSION_HEADER, "")
        return f"mcp-{session_id}" if session_id else run


def request_device(request: McpContext) -> Device | None:
    """The device that the HTTP server authenticated; None over standard input and output."""
    scope: dict[str, Any] = getattr(request.request_context.request, "scope", None) or {}
    state: dict[str, Any] = scope.get("state") or {}
    found = state.get("device")
    return found if isinstance(found, Device) else None


def client_name(request: McpContext) -> str:
    """The client's own name; empty if it does not send one."""
    params = request.session.client_params
    return params.client_info.name if params is not None else ""


def normalise_host_name(said: str) -> str:
    """Normalise a client's own name to a host name: lower case, digits, dots and hyphens."""
    cleaned = _NOT_ALLOWED.sub("-", said.lower()).strip("-._")[:NAME_MAX].rstrip("-._")
    return cleaned if HOST_NAME_PATTERN.fullmatch(cleaned) else DEFAULT_HOST_NAME
