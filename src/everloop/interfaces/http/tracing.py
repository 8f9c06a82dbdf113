"""A span and an id for every request, and the watchers that the settings switch on."""

import secrets
from collections.abc import Generator, MutableMapping
from contextlib import contextmanager
from typing import Any

from everloop.adapters import REQUEST_ID, JsonLogs
from everloop.interfaces.http.metrics import METHODS, UNKNOWN_ROUTE
from everloop.interfaces.http.security.middleware import AsgiApp, Receive, Scope, Send
from everloop.services import Services
from everloop.tracing import Watcher, add_watcher, remove_watcher, span

REQUEST_ID_BYTES = 8
HEADER = b"x-request-id"


class TracedApp:
    """ASGI application around another: each request gets an id of ours and a span.

    The id is in the answer's header `X-Request-Id`. One that a client sends is not taken over: it
    could hold anything.
    """

    def __init__(self, app: AsgiApp) -> None:
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Pass a request on inside a span."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        request_id = secrets.token_hex(REQUEST_ID_BYTES)
        status = 500

        async def note_status(message: MutableMapping[str, Any]) -> None:
            nonlocal status
            if message["type"] == "http.response.start":
                status = message["status"]
                message["headers"] = [*message["headers"], (HEADER, request_id.encode())]
            await send(message)

        token = REQUEST_ID.set(request_id)
        method = scope["method"] if scope["method"] in METHODS else "other"
        try:
            with span("http.request", method=method, request_id=request_id) as watched:
                try:
                    await self._app(scope, receive, note_status)
                finally:
                    route = getattr(scope.get("route"), "path", UNKNOWN_ROUTE)
                    watched.set(route=route, status=status)
        finally:
            REQUEST_ID.reset(token)


def with_tracing(app: AsgiApp, running: Services) -> AsgiApp:
    """The application with spans, if the settings want logs or traces."""
    observe = running.settings.observe
    return TracedApp(app) if observe.otlp_endpoint or observe.logs != "off" else app


@contextmanager
def watching(running: Services, *others: Watcher) -> Generator[None]:
    """Watch spans as the settings say; what is not installed, `everloop doctor` names."""
    observe, watchers = running.settings.observe, [*others]
    logs = JsonLogs() if observe.logs == "json" else None
    telemetry = None
    if logs:
        watchers.append(logs)
    if observe.otlp_endpoint:
        try:
            from everloop.adapters import Telemetry  # noqa: PLC0415 - the `observe` extra
        except ModuleNotFoundError:
            pass
        else:
            telemetry = Telemetry(
                running.engine.log,
                running.supervisor.health,
                observe.otlp_endpoint,
                key=observe.otlp_key,
                every_s=observe.export_every_s,
            )
            watchers.append(telemetry)
    for watcher in watchers:
        add_watcher(watcher)
    try:
        yield
    finally:
        for watcher in watchers:
            remove_watcher(watcher)
        if telemetry:
            telemetry.close()
        if logs:
            logs.close()
