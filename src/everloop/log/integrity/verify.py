"""Proof that the log is what was written: every digest is computed again.

A flipped byte, an edited or missing row, a broken index: each is found, and the damaged positions
are named, so that the rest can still be exported. That the newest records are gone is found by
what else knows of them (`witnesses.py`).
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import NoneType

import apsw
import msgspec

from everloop.errors import Corrupt, EverloopError, Unavailable
from everloop.log.integrity.truncation_check import differences, testimonies
from everloop.log.log import Log
from everloop.log.maintenance.backup import Copy, backups_of_this_past
from everloop.log.model.branches import Branches
from everloop.log.model.event import decode
from everloop.log.model.facts import BranchForked, BranchPlanted
from everloop.log.model.record import Record, chain
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS
from everloop.log.sql_rows import let_go, number
from everloop.log.sqlite.file import LogFile
from everloop.ports import Progress

PAGE = 1_000
INDEX = "an index of words is"  # how a problem begins that is of nothing but views
# A row whose position was damaged may end a scan early; then the others are read from the other
# end. Upwards, so many rows are read: one that claims a later position hides none after it.
_FROM = f"SELECT {COLUMNS} FROM log WHERE position > ?1"  # noqa: S608 - our own column names
_UPWARDS = f"{_FROM} ORDER BY position LIMIT ?2 - ?1"
_DOWNWARDS = f"{_FROM} AND position <= ?2 ORDER BY position DESC"
_UNTYPED = (apsw.Error, UnicodeDecodeError, ValueError, TypeError, OverflowError)
_UNREADABLE = (*_UNTYPED, EverloopError)
_RECORD_MIN = 64  # bytes that no stored record is smaller than: the digest alone has 32
_TYPES: tuple[tuple[type, ...], ...] = (
    (int,), (str,), (str,), (int,), (str,), (int,), (str, NoneType), (str,), (str, NoneType),
    (str,), (int,), (bytes, NoneType), (bytes, NoneType), (bytes,),
)  # fmt: skip


class Damage(msgspec.Struct, frozen=True):
    """A range of positions that cannot be trusted, and why."""

    first: int
    last: int
    problem: str


class Verification(msgspec.Struct, frozen=True):
    """What a check of the whole log found."""

    records: int
    streams: int
    damage: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        """Whether everything is as it was written."""
        return not self.damage

    @property
    def only_indexes(self) -> bool:
        """Whether nothing but indexes is damaged, which are made from the log."""
        return all(damage.problem.startswith(INDEX) for damage in self.damage)


def verify(log: Log, progress: Progress | None = None) -> Verification:
    """Check every record, the order of the log, the file that holds it, and what else knows it."""
    copies = backups_of_this_past(log.backups.folder) if log.backups else []
    with log.file.reading() as reader:
        checker = _Checker(reader)
        head = reach(reader)
        for item in scan(reader, 0, head):
            checker.take(item)
            if progress and checker.position % PAGE == 0:
                progress(checker.position, head)
        damage = [
            *checker.damage,
            *_file_damage(log.file, head),
            *_contradictions(reader, log, copies, head),
        ]
        if progress:
            progress(head, head)
        return Verification(checker.records, len(checker.streams), tuple(merged(damage)))


def scan(reader: Reader, after: int, upto: int) -> Iterator[Record | Damage]:
    """Every record in (after, upto], and in place of what cannot be read, what is wrong there."""
    while after < upto:
        page = _page(reader, after, min(after + PAGE, upto))
        for item in page:
            yield item
            after = item.last if isinstance(item, Damage) else item.position


def merged(damage: list[Damage]) -> Iterator[Damage]:
    """Neighbouring damage of the same sort as one range."""
    current: Damage | None = None
    for item in sorted(damage, key=lambda d: (d.problem, d.first)):
        if current and item.problem == current.problem and item.first <= current.last + 1:
            current = Damage(current.first, max(current.last, item.last), current.problem)
            continue
        if current:
            yield current
        current = item
    if current:
        yield current


class _Checker:
    """The chain of every stream, as far as it has been followed."""

    def __init__(self, reader: Reader) -> None:
        self.damage: list[Damage] = []
        self.streams: set[str] = set()
        self.records = 0
        self.position = 0
        self._reader = reader
        self._branches = Branches()
        self._tails: dict[tuple[str, str], tuple[int, bytes]] = {}
        self._last_us = 0

    def take(self, item: Record | Damage) -> None:
        if isinstance(item, Damage):
            self.damage.append(item)
            self.position = item.last
            return
        try:
            problem = self._problem(item)
            self._follow(item, trusted=not problem)
        except _UNREADABLE as error:
            problem = f"cannot be checked: {type(error).__name__}"
            self._follow(item, trusted=False)
        if problem:
            self.damage.append(Damage(item.position, item.position, problem))

    def _problem(self, record: Record) -> str:
        version, previous = self._tail(record)
        if chain(previous, record) != record.digest:
            return "does not match its digest"
        if record.version != version + 1:
            return "does not continue its stream"
        if record.recorded_us < self._last_us:
            return "is older than the record before it"
        if record.data is not None:
            decode(record.kind, record.schema, record.data)
        return ""

    def _follow(self, record: Record, *, trusted: bool) -> None:
        """Go on from a record; from a damaged one only as far as the next needs it."""
        self.records += 1
        self.position = record.position
        self.streams.add(record.stream)
        self._tails[record.stream, record.branch] = (record.version, record.digest)
        if not trusted:
            return
        self._last_us = record.recorded_us
        if record.kind in {BranchForked.wire, BranchPlanted.wire} and record.data is not None:
            match decode(record.kind, record.schema, record.data):
                case BranchForked(branch=branch, parent=parent, at=at):
                    self._branches.fork(branch, parent, at)
                case BranchPlanted(branch=branch):
                    self._branches.plant(branch)
                case _:
                    pass

    def _tail(self, record: Record) -> tuple[int, bytes]:
        known = self._tails.get((record.stream, record.branch))
        if known is not None:
            return known
        branch = self._branches[record.branch]
        tail = self._reader.tail(record.stream, branch, record.position)
        return tail.version, tail.digest


def reach(reader: Reader) -> int:
    """The newest position the file knows of, even if that row is gone or unreadable."""
    last = _number(reader, "SELECT max(position) FROM log")
    # An index knows of a row that was lost, and of a damaged position how it was before.
    indexed = _number(reader, "SELECT max(position) FROM log INDEXED BY log_stream")
    if indexed < last and 0 < _number(reader, "SELECT count(*) FROM log NOT INDEXED") <= indexed:
        return indexed  # all have a place without the last one's, which is damaged
    # A damaged position may say anything, but the file has room for so many records only.
    room = int(reader.db.pragma("page_count")) * int(reader.db.pragma("page_size"))
    return min(max(last, indexed), room // _RECORD_MIN)


def _number(reader: Reader, sql: str) -> int:
    """What a query says, if it is a number that can be read."""
    with suppress(apsw.Error):
        return number(reader.db, sql)
    return 0


def _page(reader: Reader, after: int, upto: int) -> list[Record | Damage]:
    """The records in (after, upto]. One whose position was damaged may claim another's."""
    sure: dict[int, Record] = {}  # those that also stand where their position says
    unsure: dict[int, Record] = {}
    places = range(after + 1, upto + 1)
    for scan_from_here, expected in ((_UPWARDS, places), (_DOWNWARDS, reversed(places))):
        with suppress(*_UNREADABLE):
            rows = reader.db.execute(scan_from_here, (after, upto))
            for row, place in zip(rows, expected, strict=False):
                record = Record(*row)
                if _fits(record):
                    (sure if record.position == place else unsure)[record.position] = record
        if len(sure) == upto - after:
            break
    return [sure.get(position) or _one(reader, position, unsure) for position in places]


def _one(reader: Reader, position: int, unsure: dict[int, Record]) -> Record | Damage:
    sql = f"SELECT {COLUMNS} FROM log WHERE position = ?"  # noqa: S608 - our own column names
    try:
        row = reader.db.execute(sql, (position,)).fetchone()
    except _UNREADABLE:
        return Damage(position, position, "cannot be read")
    if row is None:
        return unsure.get(position) or Damage(position, position, "is missing")
    record = Record(*row)
    return record if _fits(record) else Damage(position, position, "cannot be read")


def _fits(record: Record) -> bool:
    """Whether each value is of its column's type; SQLite checks that only when it writes."""
    values = msgspec.structs.astuple(record)
    return all(isinstance(value, fit) for value, fit in zip(values, _TYPES, strict=True))


def _contradictions(reader: Reader, log: Log, copies: Sequence[Copy], head: int) -> list[Damage]:
    try:
        found = [*testimonies(reader, log.file.views, copies, head)]
        if log.original:
            found += differences(reader, log.original, head)
    except _UNTYPED as problem:
        return [Damage(1, head, f"the file is damaged: {problem}")]
    return [Damage(*each) for each in found]


def _file_damage(file: LogFile, head: int) -> list[Damage]:
    """What SQLite says of the file, by a connection that is new.

    A full-text index keeps its plan in the connection, and checks it without looking whether
    another has changed it: on a connection that read before, that is a false alarm.
    """
    try:
        db = file.connect()
    except (Corrupt, Unavailable) as problem:
        return [Damage(1, head, f"the file is damaged: {problem}")]
    try:
        rows = db.execute("PRAGMA integrity_check(10)").fetchall()
    except apsw.Error as problem:
        rows = [(str(problem),)]
    finally:
        let_go(db)
    texts = [str(row[0]) for row in rows]
    return [Damage(1, head, _told(text)) for text in texts if text != "ok"]


def _told(text: str) -> str:
    """What SQLite says, and of what: words are indexed by FTS5, and nothing else is."""
    return f"{INDEX if 'fts5' in text.casefold() else 'the file is'} damaged: {text}"
