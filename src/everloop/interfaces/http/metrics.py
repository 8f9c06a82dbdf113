"""`/metrics` for Prometheus, behind a token of its own, and the duration of every request."""

import asyncio
import hmac
from collections.abc import MutableMapping
from typing import Any, Protocol

from everloop.interfaces.http.security.middleware import AsgiApp, Receive, Scope, Send
from everloop.services import Services
from everloop.tracing import Watcher

METRICS_PATH = "/metrics"
UNKNOWN_ROUTE = "other"  # pages, files and refusals; a path could have anything in it
METHODS = frozenset({"GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "OPTIONS"})
TEXT = b"text/plain; version=0.0.4; charset=utf-8"


class EndMeasurement(Protocol):
    """Ends the measurement of a request."""

    def __call__(self, method: str, route: str, status: int, /) -> None:
        """Record it."""
        ...


class ServerMetrics(Watcher, Protocol):
    """What measures requests and spans, and writes the metrics."""

    def begin_request(self) -> EndMeasurement:
        """Start measuring a request."""
        ...

    def exposition(self) -> bytes:
        """All metrics as text."""
        ...


class MetricsApp:
    """ASGI application around another: measures its requests, and serves the metrics.

    The token is the only credential: a scraper calls a pod by an address that is no host name of
    ours, so the rules for browsers do not apply to this path.
    """

    def __init__(self, app: AsgiApp, metrics: ServerMetrics, token: str) -> None:
        self._app, self._metrics = app, metrics
        self._expected = f"Bearer {token}".encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Serve the metrics, or pass the request on and measure it."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
        elif scope["path"] == METRICS_PATH:
            await self._serve(scope, send)
        else:
            await self._measure(scope, receive, send)

    async def _serve(self, scope: Scope, send: Send) -> None:
        given = [value for name, value in scope["headers"] if name == b"authorization"]
        if len(given) != 1 or not hmac.compare_digest(given[0], self._expected):
            await _send(send, 401, b"a token is needed\n", (b"www-authenticate", b"Bearer"))
        elif scope["method"] != "GET":
            await _send(send, 405, b"only GET\n", (b"allow", b"GET"))
        else:
            text = await asyncio.to_thread(self._metrics.exposition)
            await _send(send, 200, text, (b"x-content-type-options", b"nosniff"))

    async def _measure(self, scope: Scope, receive: Receive, send: Send) -> None:
        finish, status = self._metrics.begin_request(), 500

        async def note_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
            await send(message)

        try:
            await self._app(scope, receive, note_status)
        finally:
            method = scope["method"] if scope["method"] in METHODS else "other"
            finish(method, getattr(scope.get("route"), "path", UNKNOWN_ROUTE), status)


def open_metrics(running: Services) -> ServerMetrics | None:
    """The metrics, if the settings have a token and the extra is installed."""
    if not running.settings.observe.metrics_key:
        return None
    try:
        from everloop.adapters import Metrics  # noqa: PLC0415 - the `observe` extra
    except ModuleNotFoundError:  # `everloop doctor` says so
        return None
    return Metrics(running.engine.log, running.supervisor.health)


def with_metrics(app: AsgiApp, metrics: ServerMetrics | None, token: str) -> AsgiApp:
    """The application with `/metrics`, if there are any."""
    return MetricsApp(app, metrics, token) if metrics else app


async def _send(send: Send, status: int, body: bytes, header: tuple[bytes, bytes]) -> None:
    headers = [
        (b"content-type", TEXT),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
        header,
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
