"""The FastAPI application: routes, security middleware, error handlers and lifespan."""

from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

from fastapi import FastAPI
from pydantic import BaseModel

from everloop import __version__
from everloop.access import credentials
from everloop.interfaces.http.dependencies import Dependencies
from everloop.interfaces.http.errors import register_error_handlers
from everloop.interfaces.http.mounts import MountedApp, mount_route
from everloop.interfaces.http.routes import (
    background,
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
from everloop.interfaces.http.security.middleware import AsgiApp, SecurityMiddleware, SecurityRules
from everloop.interfaces.http.static_files import add_page_route, find_build
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.services import Services

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
    background.router,
)


class Health(BaseModel):
    """Whether the server is healthy, and its version."""

    ok: bool
    version: str


def build_application(
    running: Services,
    rules: SecurityRules | None = None,
    broadcast: Broadcast | None = None,
    annexes: Sequence[MountedApp] = (),
) -> AsgiApp:
    """Build the application behind its security middleware.

    A caller that passes its own broadcast can close it before the server shuts down.
    """
    chosen = rules or SecurityRules()
    broadcast = broadcast or Broadcast(running.engine.log, running.turns.live)
    deps = Dependencies(running, chosen, broadcast)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for annex in annexes:
                await stack.enter_async_context(annex.lifespan())
            broadcast.start(deps.is_authorised)
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
    register_error_handlers(app)

    @app.get("/api/health", tags=["health"])
    def health() -> Health:
        """Health check. The only read that needs no credential."""
        # No details of background failures: this route is public. `everloop doctor` shows them.
        return Health(ok=not running.engine.log.problems, version=__version__)

    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` would add cost to every request
    for annex in annexes:
        app.router.routes.append(mount_route(annex, broadcast))
    add_page_route(app, find_build())
    log = running.engine.log
    return SecurityMiddleware(
        app,
        chosen,
        lambda text: credentials.authenticate_device(
            log, text, since_us=deps.oldest_valid_pairing_us
        ),
    )
