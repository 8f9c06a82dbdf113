"""The composition root: an engine is a log with the views and deciders of every domain.

Every door is built on four calls: `do` a command, `ask` a query, `follow` the facts, `close`.
"""

import hashlib
import importlib
from collections.abc import Iterator
from contextlib import AbstractContextManager
from datetime import datetime
from pathlib import Path
from threading import Event as Signal
from types import TracebackType
from typing import Any, Self, TypeVar

from everloop.adapters.system import system_world
from everloop.errors import Invalid, Unavailable
from everloop.log import (
    Command,
    Context,
    Decider,
    Fact,
    Log,
    Projection,
    Query,
    Reader,
    Receipt,
    open_log,
)
from everloop.log.work import Work
from everloop.ports import World
from everloop.settings import Settings

T = TypeVar("T")

USER = Context()
FILE = "everloop.db"

DECIDERS: tuple[Decider[Any, Any], ...] = ()  # every command of every domain, one row each
PROJECTIONS: tuple[type[Projection], ...] = ()  # every view of every domain


class Engine:
    """An open engine. Safe from several threads; close it, or use it in a `with`."""

    def __init__(self, log: Log, deciders: tuple[Decider[Any, Any], ...] = DECIDERS) -> None:
        self.log = log
        self._deciders = {decider.command: decider for decider in deciders}

    @classmethod
    def open(
        cls,
        path_or_url: str | Path | None = None,
        *,
        settings: Settings | None = None,
        tenant: str = "local",
        world: World | None = None,
        deciders: tuple[Decider[Any, Any], ...] = DECIDERS,
        projections: tuple[type[Projection], ...] = PROJECTIONS,
    ) -> Self:
        """Open an engine on a folder, a file or a PostgreSQL address; by default, the data home."""
        chosen = settings or Settings()
        target = str(path_or_url or chosen.store or chosen.folder)
        views = [projection() for projection in projections]
        outside = world or system_world(chosen.log.lock_wait_s)
        if target.startswith(("postgresql://", "postgres://")):
            return cls(_open_postgres(target, chosen, tenant, views, outside), deciders)
        path = log_file(Path(target).expanduser(), tenant)
        return cls(_open_file(path, chosen, views, outside), deciders)

    def do(
        self,
        command: Command,
        *,
        by: Context = USER,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Carry out a command and return when what it led to is durable."""
        return self.log.writer.write(self._work(command, by, branch, request_id))

    async def do_soon(
        self,
        command: Command,
        *,
        by: Context = USER,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """As `do`, for event loops: it never blocks the loop."""
        return await self.log.writer.write_soon(self._work(command, by, branch, request_id))

    def ask(
        self, query: Query[T], *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> T:
        """Answer a query from the views, as things stand or as they stood."""
        with self.reading(branch=branch, as_of=as_of) as reader:
            return query.answer(reader)

    def reading(
        self, *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> AbstractContextManager[Reader]:
        """A reader on one consistent state, for several questions."""
        return self.log.reading(branch=branch, as_of=as_of)

    def follow(self, *, after: int = 0, stop: Signal | None = None) -> Iterator[Fact]:
        """Every fact after a position, then each new one as it comes."""
        return self.log.follow(after=after, stop=stop)

    def close(self) -> None:
        """Finish what is waiting and close."""
        self.log.close()

    def __enter__(self) -> Self:
        """Use the engine in a `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close it."""
        self.close()

    def _work(
        self, command: Command, by: Context, branch: str | None, request_id: str | None
    ) -> Work:
        decider = self._deciders.get(type(command))
        if decider is None:
            raise Invalid(f"nothing decides {type(command).__name__}")
        return self.log.work(
            decider.stream(command),
            lambda desk: decider.drafts(command, by, desk),
            actor=by.actor,
            branch=branch,
            request_id=request_id,
        )


def log_file(target: Path, tenant: str) -> Path:
    """The log file that a path means. Each tenant has its own."""
    if target.suffix == ".db" and tenant == "local":
        return target
    if not tenant.replace("-", "").replace("_", "").isalnum():
        raise Invalid(f"{tenant!r} is not a tenant name", hint="Use letters, digits and hyphens.")
    return target / FILE if tenant == "local" else target / "tenants" / tenant / FILE


def _open_file(path: Path, settings: Settings, views: list[Projection], world: World) -> Log:
    _private_folder(path.parent)
    return open_log(
        path,
        views,
        world=world,
        limits=settings.log,
        backups=settings.backups,
    )


def _open_postgres(
    url: str, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    try:
        postgres = importlib.import_module("everloop.log.postgres")
    except ImportError as problem:
        raise Unavailable(
            "the PostgreSQL store is not installed",
            hint="Install it: pip install 'everloop[postgres]'",
        ) from problem
    name = hashlib.sha256(f"{url} {tenant}".encode()).hexdigest()[:16]
    path = settings.folder / "nodes" / f"{name}.db"
    _private_folder(path.parent)
    log: Log = postgres.open_postgres_log(
        url,
        path,
        views,
        tenant=tenant,
        world=world,
        limits=settings.log,
    )
    return log


def _private_folder(folder: Path) -> None:
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise Unavailable(
            f"the folder {folder} cannot be made: {problem.strerror}",
            hint="Choose another with EVERLOOP_HOME.",
        ) from problem
