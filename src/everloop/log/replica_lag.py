"""Replica lag: when a node's copy was last up to date, and reading it while the server is away.

A running node keeps reading its copy when the server is unreachable. A process that starts then can
read it too, if the copy was ever up to date: a small file next to it records when, and up to which
position. Appends are refused, because only the server can grant the right to write.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from everloop.errors import Unavailable
from everloop.log.model.record import Record
from everloop.log.write.append import Replica


class SyncPoint(NamedTuple):
    """When a copy was last up to date with the server, and up to which position."""

    at: datetime
    position: int


class StaleReplica(NamedTuple):
    """Why a copy is read without its server, and when it was last up to date."""

    reason: Unavailable
    level: SyncPoint


class SyncPointFile:
    """A small file next to a copy that records when it was last up to date."""

    def __init__(self, copy: Path) -> None:
        self._path = Path(f"{copy}.level")

    def save(self, level: SyncPoint) -> None:
        """Record that the copy is up to date. A failed write is ignored: only the note is lost."""
        with suppress(OSError):
            self._path.write_text(f"{level.at.isoformat()} {level.position}")

    def read(self) -> SyncPoint | None:
        """When the copy was last up to date; None if unknown."""
        try:
            at, position = self._path.read_text().split()
            return SyncPoint(datetime.fromisoformat(at), int(position))
        except (OSError, ValueError):
            return None


class UnavailableSequencer:
    """The sequencer of a log whose server does not answer: it refuses every append."""

    def __init__(self, reason: Unavailable) -> None:
        self._reason = reason

    def begin(self, copy: Replica) -> NoReturn:
        """Refuse to write.

        Raises:
            Unavailable: always.
        """
        raise Unavailable(
            f"the log cannot be written now (its copy ends at {copy.head}): {self._reason}",
            hint=self._reason.hint,
        )

    def publish(self, records: Sequence[Record]) -> None:
        """Do nothing: no write was started."""

    def abort(self) -> None:
        """Do nothing: no write was started."""
