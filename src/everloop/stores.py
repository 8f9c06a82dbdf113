"""Opens a tenant's log: a SQLite file, or a PostgreSQL server with this node's copy in a file.

It maps a path or URL to the file of a log. It does not know which views a log has; the caller
passes them.
"""

import hashlib
from pathlib import Path

from everloop.errors import Invalid, Unavailable
from everloop.log import Log, Projection, open_log
from everloop.log.maintenance.backup import BackupRotation
from everloop.log.opening import node_backup_folder, open_stale_replica
from everloop.ports import World
from everloop.settings import Settings, hide_password

LOG_FILE_NAME = "everloop.db"
VECTORS_FILE_NAME = "vectors.db"


def is_postgres_url(target: str) -> bool:
    """Whether a target is a PostgreSQL URL, and not a path on this machine."""
    return target.startswith(("postgresql://", "postgres://"))


def log_path(target: Path, tenant: str) -> Path:
    """The log file of a tenant in a folder, or the given `.db` file itself."""
    if target.suffix == ".db" and tenant == "local":
        return target
    return tenant_folder(target, tenant) / LOG_FILE_NAME


def tenant_folder(home: Path, tenant: str) -> Path:
    """The folder of a tenant inside a data folder that several tenants may share."""
    if not tenant.replace("-", "").replace("_", "").isalnum():
        raise Invalid(f"{tenant!r} is not a tenant name", hint="Use letters, digits and hyphens.")
    return home if tenant == "local" else home / "tenants" / tenant


def path_next_to(log: Path, name: str) -> Path:
    """The path of a file that belongs to a log, next to it.

    Each log has its own, even if several are in one folder, as copies of several tenants or servers
    are.
    """
    return log.with_name(name if log.name == LOG_FILE_NAME else f"{log.stem}.{name}")


def replica_path(url: str, home: Path, tenant: str) -> Path:
    """The path of this node's copy of a log at a server."""
    name = hashlib.sha256(f"{hide_password(url)} {tenant}".encode()).hexdigest()[:16]
    return home / "nodes" / f"{name}.db"


def open_store(
    target: str, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    """Open the log at a path or PostgreSQL URL."""
    if is_postgres_url(target):
        return _open_postgres(target, settings, tenant, views, world)
    path = log_path(Path(target).expanduser(), tenant)
    _create_private_folder(path.parent)
    return open_log(path, views, world=world, limits=settings.log, backups=settings.backups)


def open_replica(
    reason: Unavailable, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    """Open this node's copy for reading, because its server could not be reached.

    Raises:
        Unavailable: `reason`, if there is no copy that can be read.
    """
    if not is_postgres_url(settings.store):
        raise reason
    path = replica_path(settings.store, settings.folder, tenant)
    return open_stale_replica(path, views, world=world, limits=settings.log, reason=reason)


def _open_postgres(
    url: str, settings: Settings, tenant: str, views: list[Projection], world: World
) -> Log:
    try:
        from everloop.log.postgres.sequencer import (  # noqa: PLC0415 - its driver is an extra
            open_postgres_log,
        )
    except ImportError as problem:
        raise Unavailable(
            "the PostgreSQL store is not installed",
            hint="Install it: pip install 'everloop[postgres]'",
        ) from problem
    path = replica_path(url, settings.folder, tenant)
    _create_private_folder(path.parent)
    log = open_postgres_log(
        url,
        path,
        views,
        tenant=tenant,
        world=world,
        limits=settings.log,
    )
    # Backups are made only before a purge or an import, not by time: the server has its own, and a
    # purge at one node would not reach the backups of other nodes.
    log.backups = BackupRotation(log.file, node_backup_folder(path), settings.backups, world.clock)
    return log


def _create_private_folder(folder: Path) -> None:
    try:
        for part in (
            *reversed(folder.parents),
            folder,
        ):  # `parents=True` would not make the parents private
            part.mkdir(exist_ok=True, mode=0o700)
    except OSError as problem:
        raise Unavailable(
            f"the folder {folder} cannot be created: {problem.strerror}",
            hint="Choose another folder with EVERLOOP_HOME.",
        ) from problem
