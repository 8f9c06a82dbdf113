"""The FastAPI application: routes, security middleware, error handlers and lifespan."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from pydantic import BaseModel

from everloop import __version__
from everloop.access import credentials
from everloop.interfaces.http.dependencies import House
from everloop.interfaces.http.errors import teach_errors
from everloop.interfaces.http.mounts import Annex, route
from everloop.interfaces.http.routes import (
    crew,
    lessons,
    machine,
    memories,
    notes,
    passkeys,
    session,
    threads,
    timeline,
    transfer,
)
from everloop.interfaces.http.security.middleware import App, Rules, Shield
from everloop.interfaces.http.static_files import built, serve_pages
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.running import Running

ROUTERS = (
    threads.router,  # first: routes are matched in this order, and these get most requests
    session.router,
    passkeys.router,
    timeline.router,
    memories.router,
    lessons.router,
    crew.router,
    notes.router,
    transfer.router,
    machine.router,
)


class Health(BaseModel):
    """Whether the server is healthy, and its version."""

    ok: bool
    version: str


def application(
    running: Running,
    rules: Rules | None = None,
    broadcast: Broadcast | None = None,
    annexes: Sequence[Annex] = (),
) -> App:
    """Build the application behind its security middleware.

    A caller that passes its own broadcast can close it before the server shuts down.
    """
    chosen = rules or Rules()
    broadcast = broadcast or Broadcast(running.engine.log, running.turns.live)
    deps = House(running, chosen, broadcast)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for annex in annexes:
                await stack.enter_async_context(annex.running())
            broadcast.start(deps.lets_in)
            stack.callback(broadcast.close)
            yield

    app = FastAPI(
        title="Everloop",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.dependencies = deps
    teach_errors(app)

    @app.get("/api/health", tags=["health"])
    def health() -> Health:
        """Health check. The only read that needs no credential."""
        # No details of background failures: this route is public. `everloop doctor` shows them.
        return Health(ok=not running.engine.log.troubles, version=__version__)

    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` would add cost to every request
    for annex in annexes:
        app.router.routes.append(route(annex, broadcast))
    serve_pages(app, built())
    log = running.engine.log
    return Shield(
        app, chosen, lambda text: credentials.device_of(log, text, since_us=deps.paired_since_us)
    )
