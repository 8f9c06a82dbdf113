"""Opening a log: the parts, put together."""

from collections.abc import Sequence
from pathlib import Path

from everloop.log.backups import BackupPlan, Backups
from everloop.log.file import LogFile
from everloop.log.limits import Limits
from everloop.log.lineage import Lineage
from everloop.log.log import Log
from everloop.log.projection import Projection
from everloop.log.scribe import Scribe
from everloop.log.states import States
from everloop.log.work import Sequencer
from everloop.ports import World

BACKUPS = "backups"


def open_log(
    path: Path,
    projections: Sequence[Projection] = (),
    *,
    world: World,
    limits: Limits | None = None,
    backups: BackupPlan | None = None,
    sequencer: Sequencer | None = None,
) -> Log:
    """Open the log in a file, creating it if need be. With a plan, backups are kept beside it.

    Raises:
        Unavailable: the file cannot be opened or written now.
        Corrupt: the file is not a log, is damaged, or was written by a newer build.
    """
    bounds = limits or Limits()
    file = LogFile(path, [Lineage(), *projections], world)
    scribe = Scribe(file, States(bounds), world, limits=bounds, sequencer=sequencer)

    def beside(other: Path) -> Log:
        return open_log(other, world=world, limits=bounds)

    kept = Backups(file, path.parent / BACKUPS, backups, world.clock) if backups else None
    return Log(file, scribe, world.ids, limits=bounds, beside=beside, backups=kept)
