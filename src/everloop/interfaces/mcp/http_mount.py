"""The MCP server over streamable HTTP, to be mounted in the HTTP server.

Every request is already authenticated. A host's token decides which host is the caller; with a
device's credential, the client's own name does. A session belongs to the credential that opened it.
"""

from collections.abc import Awaitable, Callable, MutableMapping, Sequence
from contextlib import AbstractAsyncContextManager
from typing import Any

from mcp.server.auth.middleware.bearer_auth import AuthenticatedUser
from mcp.server.auth.provider import AccessToken
from mcp.server.transport_security import TransportSecuritySettings

from everloop.app import Engine
from everloop.interfaces.mcp.server import build_server, make_tool_context
from everloop.settings import Settings

PATH = "/mcp"

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]


class McpMount:
    """An ASGI application that serves MCP for one engine at one path."""

    path = PATH
    signed = False

    def __init__(self, engine: Engine, settings: Settings, hosts: Sequence[str]) -> None:
        run = engine.log.ids.new("mcp")
        server = build_server(make_tool_context(engine, settings, run=run, embeds=False))
        server.streamable_http_app(
            streamable_http_path=PATH,
            session_idle_timeout=settings.doors.session_idle_s,
            max_sessions=settings.doors.sessions_max,
            transport_security=_transport_security(hosts),
        )
        self.sessions = server.session_manager

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """The session manager's lifespan, which must be open while it serves."""
        return self.sessions.run()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request of an authenticated device."""
        device_id = scope["state"]["device"].device_id
        token = AccessToken(token="", client_id=device_id, scopes=[])
        authenticated = {**scope, "user": AuthenticatedUser(token)}
        await self.sessions.handle_request(authenticated, receive, send)


def _transport_security(hosts: Sequence[str]) -> TransportSecuritySettings:
    """DNS rebinding protection for the HTTP server's host names, with and without a port."""
    named = [form for host in hosts for form in (host, f"{host}:*")]
    origins = [f"{scheme}://{name}" for scheme in ("http", "https") for name in named]
    return TransportSecuritySettings(
        enable_dns_rebinding_protection=True, allowed_hosts=named, allowed_origins=origins
    )
