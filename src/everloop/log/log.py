"""The log: append, read, branch, retract, purge, follow.

The log is the only source of truth. An acknowledged append is durable, and the store sets the time.
`DESIGN.md` in this folder lists what a caller may rely on; `tests/log/test_invariants.py` has one
test for each guarantee.
"""

from collections.abc import Callable, Iterator, Sequence
from datetime import datetime
from itertools import count, islice
from pathlib import Path
from threading import Condition
from threading import Event as Signal
from typing import TypeVar

from everloop.errors import Conflict, EverloopError, Invalid, Unavailable
from everloop.log.history.operations import HistoryOperations
from everloop.log.history.positions import current_branches_at
from everloop.log.maintenance.backup import BackupRotation
from everloop.log.maintenance.upkeep import MaintenanceThread
from everloop.log.model.branches import POSITION_MAX, Branches, Sight
from everloop.log.model.event import Event, Unknown
from everloop.log.model.facts import STREAM
from everloop.log.model.limits import Limits
from everloop.log.model.record import Fact, Record, fact_of
from everloop.log.ownership import Claim, ClaimStore, FileClaimStore, wait_for_claim
from everloop.log.read.folded_state import Fold
from everloop.log.read.reader import Reader
from everloop.log.replica_lag import StaleReplica
from everloop.log.schema import OWN_REQUEST_PREFIX
from everloop.log.sqlite.file import LogFile, ReadTransaction
from everloop.log.write.append import AppendRequest, Draft, PrimaryLog, Receipt, TransactionContext
from everloop.log.write.commit_queue import CommitQueue
from everloop.log.write.transaction import TransactionWriter
from everloop.ports import BlobStore, Ids, NodeMessages

S = TypeVar("S")
PAGE = 512
_OLDEST_SALT = "SELECT salt FROM log WHERE salt IS NOT NULL ORDER BY position LIMIT 1"
OWN_IDS_PER_BATCH = 64  # request ids that are generated at a time


class Log(HistoryOperations):
    """An open log, safe to use from several threads and from several processes on one file."""

    def __init__(
        self,
        file: LogFile,
        scribe: TransactionWriter,
        ids: Ids,
        *,
        limits: Limits,
        beside: "Callable[[Path], Log]",
        backups: BackupRotation | None = None,
    ) -> None:
        self.file = file
        self.transactions = scribe
        self.limits = limits
        self.open_other = beside  # opens another log with the same clock, ids and entropy
        self.backups = backups
        self._is_same_event = scribe.states
        self.ids = ids
        self._own_id_prefix = ids.new(
            OWN_REQUEST_PREFIX
        )  # prefix of the request ids that we generate
        self._own_id_numbers = count(1)
        self._own_ids: list[str] = []  # generated in batches; the next one is last
        self._new_head = Condition()
        self._notified_head = 0
        self._followers_waiting = 0
        self._closed = False
        self.claims: ClaimStore = FileClaimStore(file.path)
        self.after_scrub: list[Callable[[], None]] = []  # further steps of a store after a purge
        self.on_close: list[Callable[[], None]] = []  # further steps of a store when it closes
        self.primary: PrimaryLog | None = None  # reads the server's log, if this file is a copy
        self.stale_replica: StaleReplica | None = None  # why the copy is read without the server
        self.made_private: tuple[str, ...] = ()  # files that others could read until it was opened
        self.blobs: BlobStore | None = None  # where nodes share files, if there are several
        self.messages: NodeMessages | None = None  # between nodes, if there are several
        self.health_checks: list[Callable[[], EverloopError | None]] = [
            lambda: self.maintenance.problem
        ]
        self.commit_queue = CommitQueue(self._commit, batch_max=limits.batch_max)
        scribe.open()
        self.maintenance = MaintenanceThread(
            file,
            scribe,
            self.commit_queue.write_lock,
            wal_bytes_max=limits.wal_bytes_max,
            backups=backups,
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
        checked = _checked_events(stream, events)
        work = self._work(stream, checked, actor, branch, expected, request_id)
        receipt = self.commit_queue.write(work)
        return _require_same_events(receipt, checked) if receipt.repeated else receipt

    def prepare_append(
        self,
        stream: str,
        decide: Callable[[TransactionContext], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        expected: int | None = None,
        request_id: str | None = None,
    ) -> AppendRequest:
        """An append for the commit queue; `decide` runs in its transaction, on the newest state."""
        return self._work(stream, decide, actor, branch, expected, request_id)

    def decide(
        self,
        stream: str,
        decision: Callable[[TransactionContext], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Run a decision inside the write transaction and append the events it returns."""
        return self.commit_queue.write(
            self.prepare_append(stream, decision, actor=actor, branch=branch, request_id=request_id)
        )

    # -- reading ---------------------------------------------------------------------------------

    @property
    def closed(self) -> bool:
        """Whether the log was closed."""
        return self._closed

    @property
    def problems(self) -> list[EverloopError]:
        """Current problems outside of appends: checkpoints, backups, following a server."""
        return [trouble for watch in self.health_checks if (trouble := watch()) is not None]

    @property
    def head(self) -> int:
        """The newest position."""
        with self.file.reading() as reader:
            return reader.head()

    @property
    def secret(self) -> bytes:
        """A key that goes with the log and is in no answer: the salt of its oldest record.

        Empty for an empty log. A purge of that record changes it.
        """
        with self.file.reading() as reader:
            rows = reader.rows(_OLDEST_SALT)
        return rows[0][0] if rows else b""

    @property
    def branches(self) -> Branches:
        """All branches, and the current branch of each tree."""
        with self.file.reading():
            return self.file.branches

    def reading(
        self, *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> ReadTransaction:
        """A reader whose views show what counts on `branch`, as of a position or a time."""
        return self.file.reading(lambda reader: self._prepare_reader(reader, branch, as_of))

    def _prepare_reader(
        self, reader: Reader, branch: str | None, as_of: int | datetime | None
    ) -> None:
        """Bring the views up to date and set which facts the reader sees."""
        if not self.file.views_are_current(reader):
            reader.roll_back()
            self._fold_missing()
            self.file.begin(reader)
        reader.use_sight(self.sight(reader, branch=branch, as_of=as_of))

    def sight(
        self, reader: Reader, *, branch: str | None = None, as_of: int | datetime | None = None
    ) -> Sight:
        """The facts visible from `branch`; by default, from the current branch of every tree."""
        branches = self.file.branches
        if as_of is None:
            return branches.sight_from(branch) if branch else branches.sight()
        stood, upto = current_branches_at(reader, as_of)
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
        """The facts of a stream that count, in order, as an iterator."""
        with self.file.reading() as reader:
            branches = self.file.branches
            line = branches[branch] if branch else branches.current_branch_of(stream)
            if as_of is not None and not branch:
                stood, as_of = current_branches_at(reader, as_of)
                line = branches[stood.get(line.root, line.root)]
            sight = self.sight(reader, branch=line.name, as_of=as_of)
            yield from reader.stream(stream, line, sight, after_version=after_version)

    def state(self, fold: Fold[S], stream: str, *, branch: str | None = None) -> S | None:
        """The folded state of a stream; None if no fact of it counts."""
        with self.file.reading() as reader:
            line = (
                self.file.branches[branch]
                if branch
                else self.file.branches.current_branch_of(stream)
            )
            sight = self.sight(reader, branch=line.name)
            return self._is_same_event.load(reader, fold, stream, line, sight)

    def record(self, position: int) -> Record:
        """The record at a position, on whichever branch it is.

        Raises:
            NotFound: there is no such record.
        """
        with self.file.reading() as reader:
            return reader.record(position)

    def records(self, *, after: int = 0, upto: int = POSITION_MAX) -> Iterator[Record]:
        """Every record in (after, upto] on every branch, in order, read one page at a time."""
        while page := self._page(after, upto):
            yield from page
            after = page[-1].position

    def follow(self, *, after: int = 0, stop: Signal | None = None) -> Iterator[Fact]:
        """Every fact after a position, then each new one as it is appended; none is skipped."""
        while not (self._closed or (stop and stop.is_set())):
            page = self._page(after, POSITION_MAX)
            for record in page:
                yield fact_of(record)
            if page:
                after = page[-1].position
            else:
                self._wait(after)

    # -- maintenance -----------------------------------------------------------------------------

    def scrub(self) -> None:
        """Rewrite the file so that no trace of erased text remains in it."""
        if self._closed:
            raise Unavailable("this log is closed", hint="Open it again.")
        with self.commit_queue.write_lock:
            self.transactions.close()
            self.maintenance.scrub()
        if self.backups is not None:
            self.backups.erase_partial_copies()
        for scrub in self.after_scrub:
            scrub()

    def claim(self, name: str, *, wait_s: float = 0.0) -> Claim | None:
        """Claim a background task for this node; None if another node holds it after `wait_s`."""
        return wait_for_claim(self.claims, name, wait_s)

    def append_records(self, records: Sequence[Record]) -> None:
        """Append records of another log unchanged, all or nothing, durably.

        Raises:
            Corrupt: a record does not continue this log, or does not match its digest.
        """
        with self.commit_queue.write_lock:
            self.transactions.append_records(records)
            self.notify_followers(self.transactions.head)
            self.maintenance.note_commit(self.transactions.head)

    def close(self) -> None:
        """Finish waiting appends, end all followers and close the file."""
        self._closed = True
        with self._new_head:
            self._new_head.notify_all()
        self.commit_queue.close()
        for close in (self.claims.close, *self.on_close):
            close()
        self.maintenance.close()
        self.transactions.close()
        self.file.close()

    def notify_followers(self, head: int) -> None:
        """Wake the followers, because the log has reached `head`."""
        if head > self._notified_head:
            self._notified_head = head
        if self._followers_waiting:
            with self._new_head:
                self._new_head.notify_all()

    # -- inside ----------------------------------------------------------------------------------

    def _work(  # positional arguments: every append passes here, and keywords cost time
        self,
        stream: str,
        asked: Callable[[TransactionContext], Sequence[Draft]] | list[Event | Draft],
        actor: str,
        branch: str | None,
        expected: int | None,
        request_id: str | None,
    ) -> AppendRequest:
        if not (stream.isascii() and actor.isascii()):
            _check_unicode(stream, actor)
        if not request_id:
            try:
                own = self._own_ids.pop()
            except IndexError:
                own = self._generate_request_ids()
            return AppendRequest(stream, asked, actor, own, True, branch, expected)
        _check_unicode(request_id)
        if request_id.startswith(OWN_REQUEST_PREFIX):
            raise Invalid(
                f"request id {request_id!r} starts with {OWN_REQUEST_PREFIX!r}, which is reserved",
                hint="Use a request id that starts with another character.",
            )
        return AppendRequest(stream, asked, actor, request_id, False, branch, expected)

    def _generate_request_ids(self) -> str:
        """Generate a batch of ids for requests without one, and return the first."""
        ids = [
            f"{self._own_id_prefix}.{number:x}"
            for number in islice(self._own_id_numbers, OWN_IDS_PER_BATCH)
        ]
        self._own_ids.extend(ids[:0:-1])
        return ids[0]

    def _commit(self, batch: Sequence[AppendRequest]) -> None:
        self.transactions.commit(batch)
        head = self.transactions.head
        if self._followers_waiting:
            self.notify_followers(head)
        elif head > self._notified_head:
            self._notified_head = head
        self.maintenance.note_commit(head)

    def _fold_missing(self) -> None:
        with self.commit_queue.write_lock:
            self.transactions.transaction(lambda _: None)

    def _page(self, after: int, upto: int) -> list[Record]:
        with self.file.reading() as reader:
            return list(islice(reader.records(after, upto), PAGE))

    def _wait(self, after: int) -> None:
        with self._new_head:
            self._followers_waiting += 1
            if self._notified_head <= after and not self._closed:
                self._new_head.wait(self.limits.poll_s)
            self._followers_waiting -= 1


def _checked_events(stream: str, events: Sequence[Event | Draft]) -> list[Event | Draft]:
    if not events:
        raise Invalid("an append needs at least one event", hint="Send one or more events.")
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
            f"a name is not valid Unicode: {problem.object!r}", hint="Send valid Unicode text."
        ) from problem


def _is_same_event(done: Event, asked: Event) -> bool:
    """Whether a recorded event equals the requested one; of a purged one only the kind is left."""
    return done == asked or (isinstance(done, Unknown) and done.kind == asked.wire)


def _require_same_events(receipt: Receipt, listed: Sequence[Event | Draft]) -> Receipt:
    """The repeated receipt, if this request id recorded the same events that are sent now."""
    asked = [item.event if isinstance(item, Draft) else item for item in listed]
    done = [fact.event for fact in receipt.facts]
    if len(done) != len(asked) or not all(map(_is_same_event, done, asked)):
        raise Conflict(
            f"request id {receipt.request_id!r} was used before, for other events",
            hint="Use a new request id for a new request.",
        )
    return receipt
