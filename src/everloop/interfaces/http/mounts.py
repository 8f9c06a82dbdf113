"""Mounts other ASGI applications (MCP, the telephone), behind the same security middleware.

Its open responses end when their device is revoked, and when the server shuts down.
"""

import asyncio
from collections.abc import MutableMapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

from starlette.routing import BaseRoute, Mount, Route

from everloop.interfaces.http.security.middleware import Receive, Scope, Send
from everloop.interfaces.http.streaming.broadcast import Broadcast


class MountedApp(Protocol):
    """An ASGI application to mount.

    The security middleware has authenticated its requests, unless it is `signed`: then it checks a
    signature on each of them by itself.
    """

    @property
    def signed(self) -> bool:
        """Whether it checks its requests by itself; its path is then in `SIGNED_PATHS`."""
        ...

    @property
    def path(self) -> str:
        """The path it is mounted at."""
        ...

    def lifespan(self) -> AbstractAsyncContextManager[None]:
        """A context that must be open while it serves: its lifespan."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        ...


class RevocableMount:
    """A mounted application whose responses are cancelled when their device is revoked."""

    def __init__(self, annex: MountedApp, broadcast: Broadcast) -> None:
        self._annex, self._broadcast = annex, broadcast

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request until it is complete or its device is revoked."""
        response = _Response(send)
        handling = asyncio.ensure_future(self._annex(scope, receive, response.send))
        with self._broadcast.call_on_revocation(
            scope["state"]["device"].device_id, handling.cancel
        ):
            try:
                await asyncio.wait((handling,))
            finally:
                handling.cancel()
        with suppress(asyncio.CancelledError):
            await handling
        await response.end()


class _FullPath:
    """Gives a mounted application the path as it was called, which a signature covers."""

    def __init__(self, annex: MountedApp) -> None:
        self._annex = annex

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a request."""
        await self._annex({**scope, "root_path": ""}, receive, send)


class _Response:
    """Forwards ASGI messages and tracks whether the response has begun and ended."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._started = self._ended = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._started = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def end(self) -> None:
        """Complete a response that was left open."""
        if not self._started:
            await self._send({"type": "http.response.start", "status": 401, "headers": []})
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b""})


def mount_route(annex: MountedApp, broadcast: Broadcast) -> BaseRoute:
    """The route that serves a mounted application; a signed one has all below its path."""
    if annex.signed:
        return Mount(annex.path, app=_FullPath(annex))
    return Route(annex.path, endpoint=RevocableMount(annex, broadcast), include_in_schema=False)
