"""Another door inside this one, at a path of its own: it is behind the same shield.

What it has open for a device ends when that device is revoked, and when the server ends.
"""

import asyncio
from collections.abc import MutableMapping
from contextlib import AbstractAsyncContextManager, suppress
from typing import Any, Protocol

from starlette.routing import Route

from everloop.interfaces.http.security.middleware import Receive, Scope, Send
from everloop.interfaces.http.streaming.broadcast import Broadcast


class Annex(Protocol):
    """An application that another door gives. The shield has let nobody in who was not let in."""

    @property
    def path(self) -> str:
        """Where it is served."""
        ...

    def running(self) -> AbstractAsyncContextManager[None]:
        """What it needs while it is served."""
        ...

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request."""
        ...


class Severable:
    """An annex whose answers end with the device that asked."""

    def __init__(self, annex: Annex, broadcast: Broadcast) -> None:
        self._annex, self._broadcast = annex, broadcast

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a request, to its end or to that of its device."""
        answer = _Answer(send)
        answering = asyncio.ensure_future(self._annex(scope, receive, answer.send))
        with self._broadcast.ending(scope["state"]["device"].device_id, answering.cancel):
            try:
                await asyncio.wait((answering,))
            finally:
                answering.cancel()
        with suppress(asyncio.CancelledError):
            await answering
        await answer.end()


class _Answer:
    """What is sent, and how far it is."""

    def __init__(self, send: Send) -> None:
        self._send = send
        self._begun = self._ended = False

    async def send(self, message: MutableMapping[str, Any]) -> None:
        self._begun = True
        self._ended = message["type"] == "http.response.body" and not message.get("more_body")
        await self._send(message)

    async def end(self) -> None:
        """Close what was left open."""
        if not self._begun:
            await self._send({"type": "http.response.start", "status": 401, "headers": []})
        if not self._ended:
            await self._send({"type": "http.response.body", "body": b""})


def route(annex: Annex, broadcast: Broadcast) -> Route:
    """The route of an annex."""
    return Route(annex.path, endpoint=Severable(annex, broadcast), include_in_schema=False)
