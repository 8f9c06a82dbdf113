"""Limits on connections before a request: how long and how much one may send, and how many wait.

Whoever connects is unknown until a request was read. A connection that sends no request in time is
closed, and of those that are still silent only so many are kept: the oldest goes first. So silent
connections cannot keep others out, and an endless header cannot fill the memory.
"""

import asyncio
from typing import Any, ClassVar

import uvicorn
from uvicorn.config import LOGGING_CONFIG
from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from everloop.settings import ServeSettings


class HeadLimitProtocol(HttpToolsProtocol):
    """HTTP/1.1 with limits on the head of a request. `limits` and `silent` are set per server."""

    limits: ClassVar[ServeSettings] = ServeSettings()
    silent: ClassVar[dict[Any, None]] = {}  # oldest first

    def connection_made(self, transport: asyncio.Transport) -> None:  # type: ignore[override]
        """Begin to wait for a request."""
        super().connection_made(transport)
        self._deadline: asyncio.TimerHandle | None = None
        self._await_head()

    def on_message_begin(self) -> None:
        """Wait for the rest of the head, also of a later request."""
        self._await_head()
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """The head is complete: the middleware decides from here on."""
        self._stop_waiting()
        super().on_headers_complete()

    def data_received(self, data: bytes) -> None:
        """Read, and close the connection if its head is too large."""
        super().data_received(data)
        if self._deadline is not None:
            self._head_bytes += len(data)
            if self._head_bytes > self.limits.head_bytes_max:
                self.transport.close()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the connection."""
        self._stop_waiting()
        super().connection_lost(exc)

    def _await_head(self) -> None:
        if self._deadline is not None:
            return
        self._head_bytes = 0
        self._deadline = self.loop.call_later(self.limits.head_wait_s, self._close)
        self.silent[self] = None
        if len(self.silent) > self.limits.silent_max:
            next(iter(self.silent))._close()  # noqa: SLF001 - one of our own kind

    def _stop_waiting(self) -> None:
        if self._deadline is not None:
            self._deadline.cancel()
            self._deadline = None
        self.silent.pop(self, None)

    def _close(self) -> None:
        self._stop_waiting()
        self.transport.close()


def server_config(
    app: Any, place: ServeSettings, *, own_logs: bool = False, **options: Any
) -> uvicorn.Config:
    """The configuration of a server with these limits.

    Forwarded headers are ignored: any process of this machine can send them, and a new address in
    each would defeat the rate limit of signing in. `own_logs`: uvicorn logs as the process does.
    """
    protocol = type("LimitedProtocol", (HeadLimitProtocol,), {"limits": place, "silent": {}})
    return uvicorn.Config(
        app,
        http=protocol,
        log_level="warning",
        access_log=False,
        log_config=None if own_logs else LOGGING_CONFIG,
        server_header=False,
        ws_max_size=place.head_bytes_max,
        proxy_headers=False,
        **options,
    )
