"""Composition of a log: opens the file and wires reader, writer, state cache and backups."""

from collections.abc import Sequence
from pathlib import Path

from everloop.errors import EverloopError, Unavailable
from everloop.log.log import Log
from everloop.log.maintenance.backup import BackupPlan, BackupRotation
from everloop.log.maintenance.upgrade import back_up_before_migration
from everloop.log.model.limits import Limits
from everloop.log.read.folded_state import StateCache
from everloop.log.read.lineage import Lineage
from everloop.log.read.projection import Projection
from everloop.log.replica_lag import StaleReplica, SyncPointFile, UnavailableSequencer
from everloop.log.sqlite.file import LogFile
from everloop.log.write.append import Sequencer
from everloop.log.write.transaction import TransactionWriter
from everloop.ports import SystemPorts

BACKUP_FOLDER = "backups"


def node_backup_folder(path: Path) -> Path:
    """The backup folder of a node's copy; each copy has its own, because nodes share a folder."""
    return path.with_suffix(f".{BACKUP_FOLDER}")


def open_log(
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    ports: SystemPorts,
    limits: Limits | None = None,
    backups: BackupPlan | None = None,
    sequencer: Sequencer | None = None,
) -> Log:
    """Open the log in a file, creating it if needed. With a plan, backups are made next to it.

    Raises:
        Unavailable: the file cannot be opened or written now.
        Corrupt: the file is not a log, is damaged, or was written by a newer build.
    """
    bounds = limits or Limits()
    if backups and path.exists():
        back_up_before_migration(path, path.parent / BACKUP_FOLDER, ports.clock)
    file = LogFile(path, [Lineage(), *projections], ports)
    scribe = TransactionWriter(file, StateCache(bounds), ports, limits=bounds, sequencer=sequencer)

    def beside(other: Path) -> Log:
        return open_log(other, ports=ports, limits=bounds)

    kept = (
        BackupRotation(file, path.parent / BACKUP_FOLDER, backups, ports.clock) if backups else None
    )
    return Log(file, scribe, ports.ids, limits=bounds, beside=beside, backups=kept)


def open_stale_replica(
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    ports: SystemPorts,
    limits: Limits | None = None,
    reason: Unavailable,
) -> Log:
    """Open a node's copy for reading while its server does not answer.

    Raises:
        Unavailable: `reason`, if the copy was never up to date or cannot be read.
    """
    level = SyncPointFile(path).read()
    if level is None or not path.exists():
        raise reason
    try:
        log = open_log(
            path, projections, ports=ports, limits=limits, sequencer=UnavailableSequencer(reason)
        )
    except EverloopError as problem:
        raise reason from problem
    log.stale_replica = StaleReplica(reason, level)
    return log
