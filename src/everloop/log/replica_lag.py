"""How level a node's copy is with the log at its server, and reading the copy while that is away.

A running node goes on reading its copy when the server is gone. A process that starts then can read
it too, if it was ever level: a mark beside it says when it last was, and how far it went. Nothing
can be appended, because only the server gives the turn to write.
"""

from collections.abc import Sequence
from contextlib import suppress
from datetime import datetime
from pathlib import Path
from typing import NamedTuple, NoReturn

from everloop.errors import Unavailable
from everloop.log.model.record import Record
from everloop.log.write.append import Copy


class Level(NamedTuple):
    """When a copy was last seen to be level with the server, and up to which position."""

    at: datetime
    position: int


class Behind(NamedTuple):
    """Why a copy is read by itself, and when it was last known to be whole."""

    reason: Unavailable
    level: Level


class LevelMark:
    """A small file beside a copy that says when it was level, and up to which position."""

    def __init__(self, copy: Path) -> None:
        self._path = Path(f"{copy}.level")

    def note(self, level: Level) -> None:
        """Note that the copy is level now. A disk that refuses costs only the note."""
        with suppress(OSError):
            self._path.write_text(f"{level.at.isoformat()} {level.position}")

    def read(self) -> Level | None:
        """When that was; None if it is not known."""
        try:
            at, position = self._path.read_text().split()
            return Level(datetime.fromisoformat(at), int(position))
        except (OSError, ValueError):
            return None


class Away:
    """The sequencer of a log whose server does not answer: it gives the turn to nobody."""

    def __init__(self, reason: Unavailable) -> None:
        self._reason = reason

    def begin(self, copy: Copy) -> NoReturn:
        """Refuse.

        Raises:
            Unavailable: always.
        """
        raise Unavailable(
            f"nothing can be written after position {copy.head} now: {self._reason}",
            hint=self._reason.hint,
        )

    def publish(self, records: Sequence[Record]) -> None:
        """Nothing: nobody has the turn."""

    def abort(self) -> None:
        """Nothing: nobody has the turn."""
