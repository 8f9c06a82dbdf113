"""The application: routes, shield, errors, and what starts and ends with it."""

from collections.abc import AsyncGenerator
from contextlib import asynccontextmanager

from fastapi import FastAPI
from pydantic import BaseModel

from everloop import __version__
from everloop.access import keys
from everloop.interfaces.http import (
    crew,
    lessons,
    machine,
    memories,
    moving,
    notes,
    passkeys,
    past,
    session,
    threads,
)
from everloop.interfaces.http.answers import teach_errors
from everloop.interfaces.http.broadcast import Broadcast
from everloop.interfaces.http.house import House
from everloop.interfaces.http.pages import built, serve_pages
from everloop.interfaces.http.shield import App, Rules, Shield
from everloop.running import Running

ROUTERS = (
    session.router,
    passkeys.router,
    threads.router,
    past.router,
    memories.router,
    lessons.router,
    crew.router,
    notes.router,
    moving.router,
    machine.router,
)


class Health(BaseModel):
    """That it runs, and what it is."""

    ok: bool
    version: str


def application(
    running: Running, rules: Rules | None = None, broadcast: Broadcast | None = None
) -> App:
    """Everything that is served, behind its shield. Whoever gives a broadcast can end it early."""
    chosen = rules or Rules()
    broadcast = broadcast or Broadcast(running.engine.log, running.conductor.live)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        broadcast.start()
        yield
        broadcast.close()

    app = FastAPI(
        title="Everloop",
        version=__version__,
        lifespan=lifespan,
        docs_url=None,
        redoc_url=None,
        openapi_url="/openapi.json",
    )
    app.state.house = House(running, chosen, broadcast)
    teach_errors(app)

    @app.get("/api/health", tags=["health"])
    async def health() -> Health:
        """Whether it runs. The only thing that anybody may ask."""
        return Health(ok=True, version=__version__)

    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # not included: that costs at every request
    serve_pages(app, built())
    log = running.engine.log
    return Shield(app, chosen, lambda text: keys.device_of(log, text))
