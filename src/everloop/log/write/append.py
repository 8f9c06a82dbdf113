"""A work is one append on its way to the log: what is asked, and then its receipt or its error."""

from asyncio import Future
from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Protocol, TypeVar, final

import msgspec

from everloop.errors import Conflict, Invalid, Unavailable
from everloop.log.model.branches import Branch, Sight
from everloop.log.model.event import Event
from everloop.log.model.record import Fact, Record, fact_of
from everloop.log.read.folded_state import Fold, States
from everloop.log.read.reader import Reader
from everloop.log.sql_rows import one
from everloop.log.sqlite.file import LogFile
from everloop.log.write.write_buffer import Pending

S = TypeVar("S")

_SOURCE = """
SELECT branch, EXISTS (SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
                       WHERE h.position = log.position)
FROM log WHERE position = ?
"""


@final
class Draft(msgspec.Struct, frozen=True, gc=False):
    """An event about to be recorded, and the positions it was derived from.

    `beside` names drafts of the same append, by their place in it, that it was derived from too:
    what stands on a fact that has no position yet.
    """

    event: Event
    because: tuple[int, ...] = ()
    beside: tuple[int, ...] = ()


class Receipt(msgspec.Struct, frozen=True, gc=False):
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


class Desk(msgspec.Struct, eq=False, dict=True):
    """What a decision may look at: the state of its streams at this very moment."""

    source: Reader
    pending: Pending
    states: States
    file: LogFile
    branch: Branch
    now_us: int
    stream: str
    version: int  # at which the stream stands

    @property
    def reader(self) -> Reader:
        """The file, with all that was recorded before."""
        if self.pending.facts:
            self.pending.flush()
        return self.source

    @cached_property
    def sight(self) -> Sight:
        """What one sees where the decision stands."""
        return self.file.branches.standing_with(self.branch.name)

    @cached_property
    def _counted(self) -> set[int]:
        """Sources that were looked at, and count here."""
        return set()

    def state(self, fold: Fold[S], stream: str) -> S | None:
        """The state of a stream where the decision stands."""
        if not self.version and stream == self.stream:
            return None  # it is new: there is nothing to read
        return self.states.load_and_save(self.reader, fold, stream, self.branch, self.sight)

    def check_sources(self, draft: Draft) -> None:
        """Make sure that what a draft was derived from counts where the decision stands.

        Raises:
            Invalid: it names a position that does not exist.
            Conflict: it names one that no longer counts, or not here.
        """
        sources = [source for source in draft.because if source not in self._counted]
        if not sources:  # many drafts of one decision come from the same fact
            return
        self.reader.look(self.sight)
        own_tree = {name for name, _ in self.branch.lineage()}
        for source in sources:
            row = one(self.reader.db, _SOURCE, (source,))
            if row is None:
                raise Invalid(
                    f"{draft.event.wire} names position {source}, which does not exist",
                    hint="Name positions that receipts or reads gave you.",
                )
            where, hidden = row
            foreign = self.file.branches[where].root != self.branch.root
            if hidden or not (foreign or (where in own_tree and self.sight.sees(where, source))):
                raise Conflict(
                    f"{draft.event.wire} comes from position {source}, which does not count here",
                    hint="Read again; what it came from was retracted or is on another branch.",
                )
        self._counted.update(sources)


Decide = Callable[[Desk], Sequence[Draft]]


class Work(msgspec.Struct, eq=False):
    """One append on its way: what is asked, and, once carried out, its receipt or its error."""

    stream: str
    asked: Decide | list[Event | Draft]  # what to record, or what decides it
    actor: str
    request_id: str
    fresh: bool = False  # the id was made just now, so it cannot have been used before
    branch: str | None = None
    expected: int | None = None
    receipt: Receipt | None = None
    error: BaseException | None = None
    done: Callable[[], None] | None = None  # called when it is carried out, by whoever did it
    written: "Future[None] | None" = None  # resolved then, on its own event loop

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

    def interrupt(self) -> None:
        """Answer that nobody knows: a receipt that it may have already is perhaps not durable."""
        self.receipt, self.error = (
            None,
            Unavailable("the append was interrupted", hint="Repeat it with the same request id."),
        )

    def outcome(self) -> Receipt:
        """The receipt, or the error, raised."""
        if self.error is not None:
            raise self.error
        assert self.receipt is not None, "a work is asked for its outcome after it was carried out"
        return self.receipt


class Original(Protocol):
    """The log that a node's file is a copy of."""

    def __call__(self, after: int, upto: int) -> Sequence[Record]:
        """Its records in (after, upto], in order.

        Raises:
            Unavailable: it cannot be reached.
        """
        ...


class Copy(Protocol):
    """A local copy of the log: what a sequencer brings up to date."""

    head: int

    def tip(self) -> tuple[int, bytes] | None:
        """Its newest position and the digest there; None if its file is gone or damaged."""
        ...

    def adopt(self, records: Sequence[Record]) -> None:
        """Take in records that were ordered elsewhere, in the open transaction."""
        ...

    def renew(self) -> None:
        """Begin it anew, empty, in a new transaction."""
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
