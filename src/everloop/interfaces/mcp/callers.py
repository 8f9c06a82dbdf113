"""Who is at the other end: the host that speaks, and the run that its words come from.

A host is named by `--as`, else by what the client calls itself. Either is a host's name and never
the user's. Where a server around this one has let a credential in, the host of a token is the host,
whatever the client says. The run is this process; over HTTP, it is the session that the server gave
out, else the credential.
"""

import re
import sys
import threading
from typing import Any, Final

from mcp.server.mcpserver import Context as Request
from mcp_types.version import HANDSHAKE_PROTOCOL_VERSIONS

from everloop.access.decide import HOST_NAME
from everloop.access.state import Device
from everloop.app import Engine
from everloop.host_admission import admit, host_of
from everloop.log import Context
from everloop.settings import DoorSettings

NAMELESS: Final = "mcp"
NAME_MAX: Final = 64
SESSION_HEADER: Final = "mcp-session-id"
_STRANGE = re.compile(r"[^a-z0-9._-]+")

Ctx = Request[Any, Any]


class Callers:
    """Tells who asks, and lets a new host in once."""

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
        self._named = host_of(name) if name else ""
        self._tenant = tenant
        self._met: set[str] = set()
        self._lock = threading.Lock()

    def by(self, request: Ctx) -> Context:
        """Who speaks in this request."""
        device = device_of(request)
        named = host_of(device.host) if device and device.host else self._named
        actor = named or host_of(host_name(client_name(request)))
        self._meet(actor)
        return Context(actor=actor, tenant=self._tenant, session=self._session(request))

    def _meet(self, actor: str) -> None:
        with self._lock:
            if actor in self._met:
                return
            if admit(self._engine, actor, self._doors):
                sys.stderr.write(
                    f"everloop: admitted {actor} to every scope;"
                    f" `everloop grants revoke {actor}` shuts it out\n"
                )
            self._met.add(actor)

    def _session(self, request: Ctx) -> str:
        """The run. A session id is believed only in the era in which the server gives it out."""
        device = device_of(request)
        run = f"mcp-{device.device_id}" if device else self._run
        headers = request.headers
        if headers is None or request.protocol_version not in HANDSHAKE_PROTOCOL_VERSIONS:
            return run
        given = headers.get(SESSION_HEADER, "")
        return f"mcp-{given}" if given else run


def device_of(request: Ctx) -> Device | None:
    """Whose credential came with a request, if a server around this one has looked at it."""
    scope: dict[str, Any] = getattr(request.request_context.request, "scope", None) or {}
    state: dict[str, Any] = scope.get("state") or {}
    found = state.get("device")
    return found if isinstance(found, Device) else None


def client_name(request: Ctx) -> str:
    """What the client calls itself; empty if it does not say."""
    said = request.session.client_params
    return said.client_info.name if said is not None else ""


def host_name(said: str) -> str:
    """A client's own name as a host's name: small letters, digits, dots and hyphens."""
    tame = _STRANGE.sub("-", said.lower()).strip("-._")[:NAME_MAX].rstrip("-._")
    return tame if HOST_NAME.fullmatch(tame) else NAMELESS
