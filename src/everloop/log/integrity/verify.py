"""Verify the log: recompute every digest of the hash chain and check the file.

Finds flipped bytes, edited or missing rows and broken indexes, and reports the damaged positions so
that the rest can still be exported. `truncation_check.py` finds missing newest records.
"""

from collections.abc import Iterator, Sequence
from contextlib import suppress
from types import NoneType

import apsw
import msgspec

from everloop.errors import Corrupt, EverloopError, Unavailable
from everloop.log.integrity.truncation_check import replica_differences, truncation_evidence
from everloop.log.log import Log
from everloop.log.maintenance.backup import BackupFile, backups_since_restore
from everloop.log.model.branches import Branches
from everloop.log.model.event import decode
from everloop.log.model.facts import BranchForked, BranchPlanted
from everloop.log.model.record import Record, expected_digest
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS
from everloop.log.sql_rows import close_quietly, query_int
from everloop.log.sqlite.file import LogFile
from everloop.ports import Progress

PAGE = 1_000
INDEX = "a full-text index is"  # prefix of problems that concern only views
# A row with a damaged position may end a scan early; the others are then read from the other end.
# The upward scan limits the number of rows, so a row that claims a later position hides no other.
_FROM = f"SELECT {COLUMNS} FROM log WHERE position > ?1"  # noqa: S608 - our own column names
_ASCENDING = f"{_FROM} ORDER BY position LIMIT ?2 - ?1"
_DESCENDING = f"{_FROM} AND position <= ?2 ORDER BY position DESC"
_READ_ERRORS = (apsw.Error, UnicodeDecodeError, ValueError, TypeError, OverflowError)
_CHECK_ERRORS = (*_READ_ERRORS, EverloopError)
_RECORD_MIN = 64  # minimum bytes of a stored record: the digest alone has 32
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
    """The result of verifying the whole log."""

    records: int
    streams: int
    damage: tuple[Damage, ...]

    @property
    def ok(self) -> bool:
        """Whether no damage was found."""
        return not self.damage

    @property
    def only_indexes(self) -> bool:
        """Whether only indexes are damaged, which can be rebuilt from the log."""
        return all(damage.problem.startswith(INDEX) for damage in self.damage)


def verify_log(log: Log, progress: Progress | None = None) -> Verification:
    """Check every record, the order of the log, its file, and other evidence of its length."""
    copies = backups_since_restore(log.backups.folder) if log.backups else []
    with log.file.reading() as reader:
        checker = _Checker(reader)
        head = last_known_position(reader)
        for item in scan_records(reader, 0, head):
            checker.take(item)
            if progress and checker.position % PAGE == 0:
                progress(checker.position, head)
        damage = [
            *checker.damage,
            *_file_damage(log.file, head),
            *_other_evidence(reader, log, copies, head),
        ]
        if progress:
            progress(head, head)
        return Verification(checker.records, len(checker.streams), tuple(merge_ranges(damage)))


def scan_records(reader: Reader, after: int, upto: int) -> Iterator[Record | Damage]:
    """Every record in (after, upto]; a `Damage` in place of what cannot be read."""
    while after < upto:
        page = _page(reader, after, min(after + PAGE, upto))
        for item in page:
            yield item
            after = item.last if isinstance(item, Damage) else item.position


def merge_ranges(damage: list[Damage]) -> Iterator[Damage]:
    """Merge neighbouring damage with the same problem into one range."""
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
    """Checks records in order, with the newest digest of every stream."""

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
            self._advance(item, trusted=not problem)
        except _CHECK_ERRORS as error:
            problem = f"cannot be checked: {type(error).__name__}"
            self._advance(item, trusted=False)
        if problem:
            self.damage.append(Damage(item.position, item.position, problem))

    def _problem(self, record: Record) -> str:
        version, previous = self._tail(record)
        if expected_digest(previous, record) != record.digest:
            return "does not match its digest"
        if record.version != version + 1:
            return "does not continue its stream"
        if record.recorded_us < self._last_us:
            return "is older than the record before it"
        if record.data is not None:
            decode(record.kind, record.schema, record.data)
        return ""

    def _advance(self, record: Record, *, trusted: bool) -> None:
        """Advance past a record; of a damaged one, use only what the next one needs."""
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
                    self._branches.add_fork(branch, parent, at)
                case BranchPlanted(branch=branch):
                    self._branches.add_root(branch)
                case _:
                    pass

    def _tail(self, record: Record) -> tuple[int, bytes]:
        known = self._tails.get((record.stream, record.branch))
        if known is not None:
            return known
        branch = self._branches[record.branch]
        tail = self._reader.stream_head(record.stream, branch, record.position)
        return tail.version, tail.digest


def last_known_position(reader: Reader) -> int:
    """The newest position the file has evidence of, even if that row is missing or unreadable."""
    last = _number(reader, "SELECT max(position) FROM log")
    # The index still has lost rows, and the original value of a damaged position.
    indexed = _number(reader, "SELECT max(position) FROM log INDEXED BY log_stream")
    if indexed < last and 0 < _number(reader, "SELECT count(*) FROM log NOT INDEXED") <= indexed:
        return indexed  # all rows fit without the last position, so it is damaged
    # A damaged position may be any number, but the file size limits how many records there are.
    room = int(reader.db.pragma("page_count")) * int(reader.db.pragma("page_size"))
    return min(max(last, indexed), room // _RECORD_MIN)


def _number(reader: Reader, sql: str) -> int:
    """The integer result of a query; 0 if it cannot be read."""
    with suppress(apsw.Error):
        return query_int(reader.db, sql)
    return 0


def _page(reader: Reader, after: int, upto: int) -> list[Record | Damage]:
    """The records in (after, upto]. A record with a damaged position may claim another's."""
    sure: dict[int, Record] = {}  # records at the place that their position says
    unsure: dict[int, Record] = {}
    places = range(after + 1, upto + 1)
    for scan_from_here, expected in ((_ASCENDING, places), (_DESCENDING, reversed(places))):
        with suppress(*_CHECK_ERRORS):
            rows = reader.db.execute(scan_from_here, (after, upto))
            for row, place in zip(rows, expected, strict=False):
                record = Record(*row)
                if _has_column_types(record):
                    (sure if record.position == place else unsure)[record.position] = record
        if len(sure) == upto - after:
            break
    return [sure.get(position) or _read_one(reader, position, unsure) for position in places]


def _read_one(reader: Reader, position: int, unsure: dict[int, Record]) -> Record | Damage:
    sql = f"SELECT {COLUMNS} FROM log WHERE position = ?"  # noqa: S608 - our own column names
    try:
        row = reader.db.execute(sql, (position,)).fetchone()
    except _CHECK_ERRORS:
        return Damage(position, position, "cannot be read")
    if row is None:
        return unsure.get(position) or Damage(position, position, "is missing")
    record = Record(*row)
    return record if _has_column_types(record) else Damage(position, position, "cannot be read")


def _has_column_types(record: Record) -> bool:
    """Whether each value has its column's type; SQLite checks that only on writes."""
    values = msgspec.structs.astuple(record)
    return all(isinstance(value, fit) for value, fit in zip(values, _TYPES, strict=True))


def _other_evidence(
    reader: Reader, log: Log, copies: Sequence[BackupFile], head: int
) -> list[Damage]:
    try:
        found = [*truncation_evidence(reader, log.file.views, copies, head)]
        if log.primary:
            found += replica_differences(reader, log.primary, head)
    except _READ_ERRORS as problem:
        return [Damage(1, head, f"the file is damaged: {problem}")]
    return [Damage(*each) for each in found]


def _file_damage(file: LogFile, head: int) -> list[Damage]:
    """Run SQLite's integrity check on a new connection.

    A full-text index caches its structure per connection and checks it without noticing changes
    by other connections: a connection that read before would give false alarms.
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
        close_quietly(db)
    texts = [str(row[0]) for row in rows]
    return [Damage(1, head, _describe(text)) for text in texts if text != "ok"]


def _describe(text: str) -> str:
    """The problem text, which says whether a full-text index (FTS5) or the file is damaged."""
    return f"{INDEX if 'fts5' in text.casefold() else 'the file is'} damaged: {text}"
