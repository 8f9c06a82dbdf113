"""A work is one append on its way to the log: what is asked, and then its receipt or its error."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Protocol, TypeVar

import msgspec

from everloop.errors import Conflict
from everloop.log.branches import Branch, Branches, Sight
from everloop.log.event import Event
from everloop.log.file import Reader
from everloop.log.record import Fact, Record, fact_of
from everloop.log.states import Fold, States

S = TypeVar("S")


class Draft(msgspec.Struct, frozen=True):
    """An event about to be recorded, and the positions it was derived from."""

    event: Event
    because: tuple[int, ...] = ()


class Receipt(msgspec.Struct, frozen=True):
    """What an append led to. The same request gives the same receipt, marked as repeated."""

    request_id: str
    stream: str
    branch: str
    version: int
    facts: tuple[Fact, ...]
    repeated: bool = False

    @property
    def position(self) -> int:
        """The last position it recorded; 0 if it recorded nothing."""
        return self.facts[-1].position if self.facts else 0


class Desk:
    """What a decision may look at: the state of its streams at this very moment."""

    def __init__(
        self, reader: Reader, states: States, branches: Branches, branch: Branch, now_us: int
    ) -> None:
        self.reader = reader
        self.branch = branch
        self.now_us = now_us
        self._states = states
        self._branches = branches

    @cached_property
    def sight(self) -> Sight:
        """What one sees where the decision stands."""
        return self._branches.standing_with(self.branch.name)

    def state(self, fold: Fold[S], stream: str) -> S | None:
        """The state of a stream where the decision stands."""
        return self._states.load_and_save(self.reader, fold, stream, self.branch, self.sight)


Decide = Callable[[Desk], Sequence[Draft]]


@dataclass(slots=True, eq=False)
class Work:
    """One append on its way: what is asked, and, once carried out, its receipt or its error."""

    stream: str
    decide: Decide
    actor: str
    request_id: str
    fresh: bool = False  # the id was made just now, so it cannot have been used before
    branch: str | None = None
    expected: int | None = None
    receipt: Receipt | None = None
    error: BaseException | None = None
    done: Callable[[], None] | None = None

    def repeat(self, done: Sequence[Record]) -> None:
        """Answer with what this request led to when it was made before."""
        last = done[-1]
        facts = tuple(fact_of(record) for record in done)
        if last.stream == self.stream:
            self.error, self.receipt = (
                None,
                Receipt(
                    self.request_id, last.stream, last.branch, last.version, facts, repeated=True
                ),
            )
        else:
            self.receipt, self.error = (
                None,
                Conflict(
                    f"request id {self.request_id!r} was used before, for stream {last.stream!r}",
                    hint="Use a new request id for a new request.",
                ),
            )

    def outcome(self) -> Receipt:
        """The receipt, or the error, raised."""
        if self.error is not None:
            raise self.error
        assert self.receipt is not None, "a work is asked for its outcome after it was carried out"
        return self.receipt


class Copy(Protocol):
    """A local copy of the log: what a sequencer brings up to date."""

    head: int

    def adopt(self, records: Sequence[Record]) -> None:
        """Take in records that were ordered elsewhere, in the open transaction."""
        ...


class Sequencer(Protocol):
    """Who orders the log when it does not live in this file: a PostgreSQL server."""

    def begin(self, copy: Copy) -> int:
        """Become the only writer, bring the file up to date, and say what time it is."""
        ...

    def publish(self, records: Sequence[Record]) -> None:
        """Make these records durable. When it returns they are part of the log."""
        ...

    def abort(self) -> None:
        """Give the turn back without writing."""
        ...
