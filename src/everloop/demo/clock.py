"""Simulated clock for the demo: it moves only when set, so facts get the dates of the story."""

from datetime import datetime

from everloop.log.model.record import to_microseconds


class SimulatedClock:
    """A manually set clock that never goes back."""

    def __init__(self, at: datetime) -> None:
        self._at = at

    def now(self) -> datetime:
        """The simulated time."""
        return self._at

    def now_us(self) -> int:
        """The simulated time in microseconds."""
        return to_microseconds(self._at)

    def advance_to(self, at: datetime) -> None:
        """Move the clock forward to a time."""
        self._at = max(self._at, at)
