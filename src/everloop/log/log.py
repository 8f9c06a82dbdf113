"""The log: append, read, branch, retract, purge, follow.

It is the only truth. Acknowledged means durable. The store owns time. What a caller may rely on is
in `DESIGN.md` beside this file; the tests in `tests/log/test_invariants.py` prove it by name.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from threading import Condition
from threading import Event as Signal
from typing import TypeVar

from everloop.errors import Conflict, EverloopError, Invalid, Unavailable
from everloop.log.history.operations import History
from everloop.log.history.positions import stood_at
from everloop.log.maintenance.backup import Backups
from everloop.log.maintenance.upkeep import Upkeep
from everloop.log.model.branches import ALL, Branches, Sight
from everloop.log.model.event import Event, Unknown
from everloop.log.model.facts import STREAM
from everloop.log.model.limits import Limits
from everloop.log.model.record import Fact, Record, fact_of
from everloop.log.ownership import Claim, FileOwners, Owners, claim_within
from everloop.log.read.folded_state import Fold
from everloop.log.read.reader import Reader
from everloop.log.replica_lag import Behind
from everloop.log.schema import OWN_REQUESTS
from everloop.log.sqlite.file import LogFile, Reading
from everloop.log.write.append import Desk, Draft, Original, Receipt, Work
from everloop.log.write.commit_queue import Writer
from everloop.log.write.transaction import Scribe
from everloop.ports import Depot, Ids

S = TypeVar("S")
PAGE = 512
NAMED = 64  # ids made at a time


class Log(History):
    """An open log. Safe from several threads; other processes may use the same file."""

    def __init__(
        self,
        file: LogFile,
        scribe: Scribe,
        ids: Ids,
        *,
        limits: Limits,
        beside: "Callable[[Path], Log]",
        backups: Backups | None = None,
    ) -> None:
        self.file = file
        self.scribe = scribe
        self.limits = limits
        self.beside = beside  # opens another log with the same outside world
        self.backups = backups
        self._states = scribe.states
        self.ids = ids
        self._own_name = ids.new(OWN_REQUESTS)  # our own requests are numbered under it
        self._own_numbers = count(1)
        self._own_requests: list[str] = []  # made some at a time, the next one last
        self._bell = Condition()
        self._heard = 0
        self._listening = 0
        self._closed = False
        self.owners: Owners = FileOwners(file.path)
        self.scrubbers: list[Callable[[], None]] = []  # what else a store does after a purge
        self.closers: list[Callable[[], None]] = []  # what else a store stops when it closes
        self.original: Original | None = None  # where the truth is, if this file is a copy of it
        self.behind: Behind | None = None  # why the copy is read without it
        self.depot: Depot | None = None  # where nodes share files, if there may be several
        self.watches: list[Callable[[], EverloopError | None]] = [lambda: self.upkeep.problem]
        self.writer = Writer(self._commit, batch_max=limits.batch_max)
        scribe.open()
        self.upkeep = Upkeep(
            file, scribe, self.writer.pen, wal_bytes_max=limits.wal_bytes_max, backups=backups
        )

    # -- writing ---------------------------------------------------------------------------------

    def append(
        self,
        stream: str,
        events: Sequence[Event | Draft],
        *,
        actor: str,
        branch: str | None = None,
        expected: int | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Record events, all or none, and return when they are durable.

        Raises:
            Conflict: the stream is not at `expected`, or the request id was used for other events.
            Invalid: an event cannot be recorded as it is.
        """
        listed = _listed(stream, events)
        work = self._work(stream, listed, actor, branch, expected, request_id)
        receipt = self.writer.write(work)
        return _same(receipt, listed) if receipt.repeated else receipt

    async def append_soon(
        self,
        stream: str,
        events: Sequence[Event | Draft],
        *,
        actor: str,
        branch: str | None = None,
        expected: int | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """As `append`, for event loops: it never blocks the loop."""
        listed = _listed(stream, events)
        work = self._work(stream, listed, actor, branch, expected, request_id)
        receipt = await self.writer.write_soon(work)
        return _same(receipt, listed) if receipt.repeated else receipt

    def work(
        self,
        stream: str,
        decide: Callable[[Desk], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        expected: int | None = None,
        request_id: str | None = None,
    ) -> Work:
        """A work for the writer: `decide` runs inside the transaction, on the newest state."""
        return self._work(stream, decide, actor, branch, expected, request_id)

    def decide(
        self,
        stream: str,
        decision: Callable[[Desk], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Run a decision inside the writing transaction and record what it leads to."""
        return self.writer.write(
            self.work(stream, decision, actor=actor, branch=branch, request_id=request_id)
        )

    # -- reading ---------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether it was closed, so that nothing comes of it any more."""
        return self._closed

    @property
    def troubles(self) -> list[EverloopError]:
        """What goes wrong beside the appends now: checkpoints, backups, following a server."""
        return [trouble for watch in self.watches if (trouble := watch()) is not None]

    @property
    def head(self) -> int:
        """The newest position."""
        with self.file.reading() as reader:
            return reader.head()

    @property
    def branches(self) -> Branches:
        """The branches and where each tree stands, as of now."""
        with self.file.reading():
            return self.file.branches

    def reading(self, *, branch: str | None = None, as_of: int | datetime | None = None) -> Reading:
        """A reader whose views show what counts on `branch`, as it stood at a position or time."""
        return self.file.reading(lambda reader: self._look(reader, branch, as_of))

    def _look(self, reader: Reader, branch: str | None, as_of: int | datetime | None) -> None:
        """Give a reader its sight, and views that show all of it."""
        if not self.file.whole(reader):
            reader.leave()
            self._fold_missing()
            self.file.begin(reader)
        reader.look(self.sight(reader, branch=branch, as_of=as_of))

    def sight(
        self, reader: Reader, *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> Sight:
        """What one sees who stands on `branch`; by default, where every tree stands, or stood."""
        branches = self.file.branches
        if as_of is None:
            return branches.standing_with(branch) if branch else branches.sight()
        stood, upto = stood_at(reader, as_of)
        if branch:
            stood[branches[branch].root] = branch
        return branches.sight(stood.values(), upto)

    def read(
        self,
        stream: str,
        *,
        branch: str | None = None,
        after_version: int = 0,
        as_of: int | datetime | None = None,
    ) -> Iterator[Fact]:
        """The facts of a stream that count, in order, one at a time."""
        with self.file.reading() as reader:
            branches = self.file.branches
            line = branches[branch] if branch else branches.home_of(stream)
            if as_of is not None and not branch:
                stood, as_of = stood_at(reader, as_of)
                line = branches[stood.get(line.root, line.root)]
            sight = self.sight(reader, branch=line.name, as_of=as_of)
            yield from reader.stream(stream, line, sight, after_version=after_version)

    def state(self, fold: Fold[S], stream: str, *, branch: str | None = None) -> S | None:
        """The state of a stream, folded; None if nothing in it counts."""
        with self.file.reading() as reader:
            line = self.file.branches[branch] if branch else self.file.branches.home_of(stream)
            sight = self.sight(reader, branch=line.name)
            return self._states.load(reader, fold, stream, line, sight)

    def record(self, position: int) -> Record:
        """One record, whatever branch it is on.

        Raises:
            NotFound: there is none.
        """
        with self.file.reading() as reader:
            return reader.record(position)

    def records(self, *, after: int = 0, upto: int = ALL) -> Iterator[Record]:
        """Every record in (after, upto] on every branch, in order, a page in memory at a time."""
        while page := self._page(after, upto):
            yield from page
            after = page[-1].position

    def follow(self, *, after: int = 0, stop: Signal | None = None) -> Iterator[Fact]:
        """Every fact after a position, then each new one as it comes; none is skipped."""
        while not (self._closed or (stop and stop.is_set())):
            page = self._page(after, ALL)
            for record in page:
                yield fact_of(record)
            if page:
                after = page[-1].position
            else:
                self._wait(after)

    # -- keeping ---------------------------------------------------------------------------------

    def scrub(self) -> None:
        """Rewrite the file, so that no trace of erased text is left in it."""
        if self._closed:
            raise Unavailable("this log is closed", hint="Open it again.")
        with self.writer.pen:
            self.scribe.close()
            self.upkeep.scrub()
        for scrub in self.scrubbers:
            scrub()

    def own(self, name: str, *, wait_s: float = 0.0) -> Claim | None:
        """Claim a piece of background work for this node; None if another keeps it for so long."""
        return claim_within(self.owners, name, wait_s)

    def take_over(self, records: Sequence[Record]) -> None:
        """Make records of another log the next ones of this one, all or nothing, durably.

        Raises:
            Corrupt: a record does not follow from what is here, or does not match its digest.
        """
        with self.writer.pen:
            self.scribe.take_over(records)
            self.heard(self.scribe.head)
            self.upkeep.written(self.scribe.head)

    def close(self) -> None:
        """Finish what is waiting and close the file. Followers end."""
        self._closed = True
        with self._bell:
            self._bell.notify_all()
        self.writer.close()
        for close in (self.owners.close, *self.closers):
            close()
        self.upkeep.close()
        self.scribe.close()
        self.file.close()

    def heard(self, head: int) -> None:
        """Wake the followers: the log has reached `head`."""
        if head > self._heard:
            self._heard = head
        if self._listening:
            with self._bell:
                self._bell.notify_all()

    # -- inside ----------------------------------------------------------------------------------

    def _work(  # all by place: every append passes here, and names cost time
        self,
        stream: str,
        asked: Callable[[Desk], Sequence[Draft]] | list[Event | Draft],
        actor: str,
        branch: str | None,
        expected: int | None,
        request_id: str | None,
    ) -> Work:
        if not (stream.isascii() and actor.isascii()):
            _check_unicode(stream, actor)
        if not request_id:
            try:
                own = self._own_requests.pop()
            except IndexError:
                own = self._name_requests()
            return Work(stream, asked, actor, own, True, branch, expected)
        _check_unicode(request_id)
        if request_id.startswith(OWN_REQUESTS):
            raise Invalid(
                f"{request_id!r} looks like an id of the log's own",
                hint=f"Name your requests without {OWN_REQUESTS!r} in front.",
            )
        return Work(stream, asked, actor, request_id, False, branch, expected)

    def _name_requests(self) -> str:
        """Make ids for requests that have none, and give the first away."""
        made = [f"{self._own_name}.{number:x}" for number in islice(self._own_numbers, NAMED)]
        self._own_requests.extend(made[:0:-1])
        return made[0]

    def _commit(self, batch: Sequence[Work]) -> None:
        self.scribe.commit(batch)
        head = self.scribe.head
        if self._listening:
            self.heard(head)
        elif head > self._heard:
            self._heard = head
        self.upkeep.written(head)

    def _fold_missing(self) -> None:
        with self.writer.pen:
            self.scribe.transaction(lambda _: None)

    def _page(self, after: int, upto: int) -> list[Record]:
        with self.file.reading() as reader:
            return list(islice(reader.records(after, upto), PAGE))

    def _wait(self, after: int) -> None:
        with self._bell:
            self._listening += 1
            if self._heard <= after and not self._closed:
                self._bell.wait(self.limits.poll_s)
            self._listening -= 1


def _listed(stream: str, events: Sequence[Event | Draft]) -> list[Event | Draft]:
    if not events:
        raise Invalid("an append needs at least one event", hint="Send one or more.")
    if not stream or len(stream) > 200 or stream == STREAM:
        raise Invalid(
            f"{stream!r} is not a stream name", hint="Use a short name such as `thread:home`."
        )
    return [*events]  # the caller's own list may change while this waits


def _check_unicode(*names: str) -> None:
    try:
        for name in names:
            name.encode()
    except UnicodeEncodeError as problem:
        raise Invalid(
            f"a name holds half a character: {problem.object!r}", hint="Send valid Unicode."
        ) from problem


def _states(done: Event, asked: Event) -> bool:
    """Whether a recorded event is the one that is asked for; of a purged one, the kind is left."""
    return done == asked or (isinstance(done, Unknown) and done.kind == asked.wire)


def _same(receipt: Receipt, listed: Sequence[Event | Draft]) -> Receipt:
    """The repeated receipt, if what was recorded under this request id is what is asked now."""
    asked = [item.event if isinstance(item, Draft) else item for item in listed]
    done = [fact.event for fact in receipt.facts]
    if len(done) != len(asked) or not all(map(_states, done, asked)):
        raise Conflict(
            f"request id {receipt.request_id!r} was used before, for other events",
            hint="Use a new request id for a new request.",
        )
    return receipt
