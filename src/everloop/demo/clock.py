"""A clock that stands still until it is turned: each fact of the year gets a day of its own."""

from datetime import datetime

from everloop.log.model.record import microseconds


class Calendar:
    """The time of day in a story. It is never turned back."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        """Where it stands."""
        return self._at

    def now_us(self) -> int:
        """Where it stands, in microseconds."""
        return microseconds(self._at)

    def turn(self, at: datetime) -> None:
        """Turn it on."""
        self._at = max(self._at, at)
