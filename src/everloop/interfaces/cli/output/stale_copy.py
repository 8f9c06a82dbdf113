"""The warning of a command that reads the local copy because the server is unavailable."""

from datetime import datetime

from everloop.interfaces.cli.output.screen import WARNING, Screen
from everloop.interfaces.cli.output.times import format_with_age
from everloop.log import Log


def draw_stale_copy_warning(screen: Screen, log: Log, now: datetime) -> None:
    """Print how old the copy is, that it is read-only, and why."""
    if log.stale_replica is None:
        return
    reason, level = log.stale_replica
    head = log.head
    screen.paragraph(
        ("Using the local copy", WARNING),
        f", last synced at {format_with_age(level.at, now)}, up to position {head:,}."
        " It lacks everything newer and is read-only.",
    )
    if head < level.position:
        screen.paragraph(
            ("The copy is incomplete", WARNING),
            f": a full resync was interrupted; before that it reached position {level.position:,}.",
        )
    screen.notes([str(reason), reason.hint])
