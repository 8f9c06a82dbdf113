"""Opens a tenant's log: a SQLite file, or a PostgreSQL server with this node's copy in a file.

It maps a path or URL to the file of a log. It does not know which views a log has; the caller
passes them.
"""

import hashlib
import shutil
from contextlib import suppress
from pathlib import Path
from tempfile import mkdtemp

from everloop.errors import EverloopError, Invalid, Unavailable
from everloop.log import Log, Projection, open_log
from everloop.log.maintenance.backup import BackupRotation
from everloop.log.opening import BACKUP_FOLDER, node_backup_folder, open_stale_replica
from everloop.log.replica_lag import UnavailableSequencer
from everloop.log.sqlite.errors import is_read_only
from everloop.log.sqlite.file import PRIVATE
from everloop.ports import SystemPorts
from everloop.settings import Settings, hide_password
from everloop.thread.queries.files import FILES_FOLDER

LOG_FILE_NAME = "everloop.db"
VECTORS_FILE_NAME = "vectors.db"
NODES_FOLDER = "nodes"  # of a data home, with the copies of logs at servers
OF_OTHERS = 0o077  # the permissions of other users in a file's mode


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
    return home / NODES_FOLDER / f"{name}.db"


def log_identity(path: Path) -> str:
    """A text that tells logs apart: of a log at a server, the same on each of its nodes."""
    return path.name if path.parent.name == NODES_FOLDER else str(path.resolve())


def open_store(
    target: str, settings: Settings, tenant: str, views: list[Projection], ports: SystemPorts
) -> Log:
    """Open the log at a path or PostgreSQL URL."""
    if is_postgres_url(target):
        return _open_postgres(target, settings, tenant, views, ports)
    path = log_path(Path(target).expanduser(), tenant)
    _create_private_folder(path.parent)
    made_private = _make_private(path)
    log = open_log(path, views, ports=ports, limits=settings.log, backups=settings.backups)
    log.made_private = made_private
    return log


def open_replica(
    reason: Unavailable,
    settings: Settings,
    tenant: str,
    views: list[Projection],
    ports: SystemPorts,
) -> Log:
    """Open a copy for reading: this node's without its server, or of a log on a read-only disk.

    Raises:
        Unavailable: `reason`, if there is no copy that can be read.
    """
    if not is_postgres_url(settings.store):
        target = Path(settings.store or settings.folder).expanduser()
        return _open_read_only(log_path(target, tenant), settings, views, ports, reason)
    path = replica_path(settings.store, settings.folder, tenant)
    return open_stale_replica(path, views, ports=ports, limits=settings.log, reason=reason)


def _make_private(path: Path) -> tuple[str, ...]:
    """Let only their owner read a log and its copies, which earlier versions did not.

    Returns the names of the files that others could read until now.
    """
    beside = (path, *path.parent.glob(f"{path.name}-*"), path_next_to(path, VECTORS_FILE_NAME))
    found: list[str] = []
    for file in (*beside, *(path.parent / BACKUP_FOLDER).glob("*.db")):
        with suppress(OSError):  # another user's, or a read-only disk
            if file.stat().st_mode & OF_OTHERS:
                file.chmod(PRIVATE)
                found.append(file.name)
    return tuple(found)


def _open_read_only(
    path: Path, settings: Settings, views: list[Projection], ports: SystemPorts, reason: Unavailable
) -> Log:
    """Open a temporary copy of a log whose disk or folder is read-only.

    SQLite cannot read a log there without writing beside it, and what the write-ahead file has
    would be missing if it were told to.
    """
    if not is_read_only(path):
        raise reason
    folder = Path(mkdtemp(prefix="everloop-"))  # for its owner alone
    try:
        for name in (path.name, f"{path.name}-wal", path_next_to(path, VECTORS_FILE_NAME).name):
            if (source := path.with_name(name)).exists():
                shutil.copyfile(source, folder / name)
        if (files := path_next_to(path, FILES_FOLDER)).exists():
            (folder / files.name).symlink_to(files.resolve())
        refusing = UnavailableSequencer(reason)
        log = open_log(
            folder / path.name, views, ports=ports, limits=settings.log, sequencer=refusing
        )
    except (OSError, EverloopError) as problem:
        shutil.rmtree(folder, ignore_errors=True)
        raise reason from problem
    log.on_close.append(lambda: shutil.rmtree(folder, ignore_errors=True))
    return log


def _open_postgres(
    url: str, settings: Settings, tenant: str, views: list[Projection], ports: SystemPorts
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
        ports=ports,
        limits=settings.log,
    )
    # Backups are made only before a purge or an import, not by time: the server has its own, and a
    # purge at one node would not reach the backups of other nodes.
    log.backups = BackupRotation(log.file, node_backup_folder(path), settings.backups, ports.clock)
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
            hint="Choose another folder, with --home or EVERLOOP_HOME.",
        ) from problem
