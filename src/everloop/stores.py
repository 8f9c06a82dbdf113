"""Where a tenant's log is: in a file, or at a PostgreSQL server with this node's copy in a file.

It knows which file a path or an address means, and opens the log there. What views a log has is
the caller's business.
"""

import hashlib
import importlib
from pathlib import Path

from everloop.errors import Invalid, Unavailable
from everloop.log import Log, Projection, open_log
from everloop.log.maintenance.backup import Backups
from everloop.log.opening import node_backups, open_copy
from everloop.ports import World
from everloop.settings import Settings, hide_password

FILE = "everloop.db"
VECTORS = "vectors.db"


def is_address(target: str) -> bool:
    """Whether this names a PostgreSQL server, and not a place on this machine's disk."""
    return target.startswith(("postgresql://", "postgres://"))


def log_file(target: Path, tenant: str) -> Path:
    """The log file that a path means. Each tenant has its own."""
    if target.suffix == ".db" and tenant == "local":
        return target
    return tenant_folder(target, tenant) / FILE


def tenant_folder(home: Path, tenant: str) -> Path:
    """Where a tenant's things are in a folder that several may share."""
    if not tenant.replace("-", "").replace("_", "").isalnum():
        raise Invalid(f"{tenant!r} is not a tenant name", hint="Use letters, digits and hyphens.")
    return home if tenant == "local" else home / "tenants" / tenant


def beside(log: Path, name: str) -> Path:
    """Where something of a log is kept: each has its own, also where several lie in one folder.

    As the copies of a machine do, of several tenants or servers.
    """
    return log.with_name(name if log.name == FILE else f"{log.stem}.{name}")


def copy_file(url: str, home: Path, tenant: str) -> Path:
    """The file of this node's copy of a log at a server."""
    name = hashlib.sha256(f"{hide_password(url)} {tenant}".encode()).hexdigest()[:16]
    return home / "nodes" / f"{name}.db"


def open_store(
    target: str, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    """Open the log that a path or an address means."""
    if is_address(target):
        return _open_server(target, settings, tenant, views, world)
    path = log_file(Path(target).expanduser(), tenant)
    _private_folder(path.parent)
    return open_log(path, views, world=world, limits=settings.log, backups=settings.backups)


def open_node_copy(
    reason: Unavailable, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    """Open this node's copy, to be read, because its server could not be reached.

    Raises:
        Unavailable: the reason; there is no copy that could be read.
    """
    if not is_address(settings.store):
        raise reason
    path = copy_file(settings.store, settings.folder, tenant)
    return open_copy(path, views, world=world, limits=settings.log, reason=reason)


def _open_server(
    url: str, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    try:
        postgres = importlib.import_module("everloop.log.postgres.sequencer")
    except ImportError as problem:
        raise Unavailable(
            "the PostgreSQL store is not installed",
            hint="Install it: pip install 'everloop[postgres]'",
        ) from problem
    path = copy_file(url, settings.folder, tenant)
    _private_folder(path.parent)
    log: Log = postgres.open_postgres_log(
        url,
        path,
        views,
        tenant=tenant,
        world=world,
        limits=settings.log,
    )
    # Only before a purge and an import, and none by time: the server has its own, and a purge at
    # one node would not reach those that others made.
    log.backups = Backups(log.file, node_backups(path), settings.backups, world.clock)
    return log


def _private_folder(folder: Path) -> None:
    try:
        for part in (*reversed(folder.parents), folder):  # `parents=True` would leave them open
            part.mkdir(exist_ok=True, mode=0o700)
    except OSError as problem:
        raise Unavailable(
            f"the folder {folder} cannot be made: {problem.strerror}",
            hint="Choose another with EVERLOOP_HOME.",
        ) from problem
