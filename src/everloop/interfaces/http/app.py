"""The FastAPI application: routes, security middleware, error handlers and lifespan."""

import shutil
from collections.abc import AsyncGenerator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager

import msgspec
from fastapi import FastAPI
from pydantic import BaseModel

from everloop import __version__
from everloop.interfaces.http.dependencies import Dependencies
from everloop.interfaces.http.errors import register_error_handlers
from everloop.interfaces.http.metrics import open_metrics, with_metrics
from everloop.interfaces.http.mounts import MountedApp, mount_route
from everloop.interfaces.http.routes import (
    automation,
    background,
    crew,
    lessons,
    machine,
    memories,
    models,
    notes,
    passkeys,
    session,
    tasks,
    threads,
    timeline,
    transfer,
)
from everloop.interfaces.http.routes.inbox import callbacks, push, requests
from everloop.interfaces.http.routes.webhooks import github
from everloop.interfaces.http.routes.worlds import (
    browse,
    files,
    library,
    manual_changes,
    play,
    scenes,
    story,
    world_memories,
)
from everloop.interfaces.http.security.middleware import (
    AsgiApp,
    SecurityMiddleware,
    SecurityRules,
    instance_of,
)
from everloop.interfaces.http.static_files import add_page_route, find_build
from everloop.interfaces.http.streaming.broadcast import Broadcast
from everloop.interfaces.http.tracing import watching, with_tracing
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
    models.router,
    background.router,
    requests.router,
    push.router,
    callbacks.router,
    tasks.router,
    automation.router,
    github.router,
    library.router,
    files.router,
    scenes.router,
    play.router,
    story.router,
    manual_changes.router,
    browse.router,
    world_memories.router,
)


DISK_FREE_MIN = 16 * 1024 * 1024  # bytes, below which nothing can be relied on to be written


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
    chosen = msgspec.structs.replace(
        rules or SecurityRules(), instance=instance_of(running.engine.log.file.path)
    )
    broadcast = broadcast or Broadcast(running.engine.log, running.turns.live)
    deps = Dependencies(running, chosen, broadcast)
    metrics = open_metrics(running)

    @asynccontextmanager
    async def lifespan(_: FastAPI) -> AsyncGenerator[None]:
        async with AsyncExitStack() as stack:
            for annex in annexes:
                await stack.enter_async_context(annex.lifespan())
            stack.enter_context(watching(running, *([metrics] if metrics else [])))
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
        log = running.engine.log
        room = shutil.disk_usage(log.file.path.parent).free >= DISK_FREE_MIN
        return Health(ok=room and not log.problems, version=__version__)

    for router in ROUTERS:
        app.router.routes.extend(router.routes)  # `include_router` would add cost to every request
    for annex in annexes:
        app.router.routes.append(mount_route(annex, broadcast))
    add_page_route(app, find_build())
    guarded = SecurityMiddleware(app, chosen, deps)
    measured = with_metrics(guarded, metrics, running.settings.observe.metrics_key)
    return with_tracing(measured, running)
