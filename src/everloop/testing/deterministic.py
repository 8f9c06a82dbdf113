"""Deterministic test ports: a clock that is set by hand, sequential ids, seeded bytes.

Shipped with the package, because extensions need the same for their tests.
"""

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, Generic, TypeVar

from everloop.log import (
    Context,
    DecisionContext,
    Draft,
    Event,
    Fact,
    Fold,
    Limits,
    Log,
    Projection,
    open_log,
)
from everloop.log.model.record import to_microseconds
from everloop.ports import SystemPorts

S = TypeVar("S")

NEW_YEAR = datetime(2026, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class ManualClock:
    """A clock that moves only when a test moves it."""

    time: datetime = NEW_YEAR

    def now(self) -> datetime:
        """The time it was set to."""
        return self.time

    def now_us(self) -> int:
        """The same time, in microseconds."""
        return to_microseconds(self.time)

    def tick(self, **delta: float) -> None:
        """Move the clock forward by a `timedelta(...)`."""
        self.time += timedelta(**delta)


@dataclass(slots=True)
class SequentialIds:
    """Sequential ids: `req-1`, then `req-2`."""

    count: int = 0

    def new(self, prefix: str) -> str:
        """The next id."""
        self.count += 1
        return f"{prefix}-{self.count}"


@dataclass(slots=True)
class SeededEntropy:
    """Pseudo-random bytes that are the same in every run."""

    drawn: int = 0

    def draw(self, count: int) -> bytes:
        """The next bytes."""
        self.drawn += 1
        return hashlib.shake_128(f"everloop {self.drawn}".encode()).digest(count)


def retry_without_waiting(tries: int) -> bool:
    """Retry a busy database without waiting, up to 1,000 times."""
    return tries < 1_000


@dataclass(slots=True)
class DeterministicPorts:
    """Ports whose values a test decides, and the logs that are opened with them."""

    clock: ManualClock = field(default_factory=ManualClock)
    ids: SequentialIds = field(default_factory=SequentialIds)
    vfs: str | None = None

    @property
    def ports(self) -> SystemPorts:
        """The ports as `open_log` takes them."""
        return SystemPorts(self.clock, self.ids, SeededEntropy(), retry_without_waiting, self.vfs)

    def open(
        self, path: Path, projections: Sequence[Projection] = (), *, limits: Limits | None = None
    ) -> Log:
        """Open a log with these ports."""
        return open_log(path, projections, ports=self.ports, limits=limits)


@dataclass(frozen=True, slots=True)
class Given(Generic[S]):
    """A state folded from given events; `when` runs a decision on it."""

    state: S | None
    now: datetime

    def when(
        self,
        decide: Callable[[S | None, Any, DecisionContext], Sequence[Event | Draft]],
        command: Any,
        *,
        actor: str = "user",
        session: str = "",
    ) -> list[Event]:
        """The events that the decision returns."""
        asking = DecisionContext(Context(actor=actor, session=session), self.now)
        happened = decide(self.state, command, asking)
        return [item.event if isinstance(item, Draft) else item for item in happened]


def given(fold: Fold[S], *events: Event, actor: str = "user", at: datetime = NEW_YEAR) -> Given[S]:
    """Fold events, all by one actor and at one time, into a state."""
    state: S | None = None
    for number, happened in enumerate(events, start=1):
        state = fold.evolve(state, fact(happened, number, actor=actor, at=at))
    return Given(state, at)


def fact(happened: Event, position: int, *, actor: str = "user", at: datetime = NEW_YEAR) -> Fact:
    """Wrap an event as a fact recorded at a position."""
    return Fact(
        happened,
        position,
        "test",
        "main",
        position,
        actor,
        (),
        f"req-{position}",
        to_microseconds(at),
    )
