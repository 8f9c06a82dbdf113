"""What else knows how far the log had come: its views, its snapshots, its backups, its guards.

The chain of digests shows that nothing in the log was changed. It cannot show that the newest
records were taken away, because what is left is a sound, shorter log. These witnesses can: a row
that was folded from a record proves that there was one, and a backup remembers a digest.

With PostgreSQL the truth is at the server, and a node's file is a copy: the two are compared.

They are no part of a commit, so they cost nothing until somebody asks. Whoever deletes records,
views and backups alike, and puts the guards back, is not found here.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from everloop.log.maintenance.backup import Copy
from everloop.log.model.record import GENESIS, Record, chain
from everloop.log.read.projection import Views
from everloop.log.read.reader import Reader
from everloop.log.schema import MIGRATIONS
from everloop.log.sql_rows import number, one, rows
from everloop.log.write.append import Original

PAGE = 1_000
_NEWEST = "SELECT position, digest FROM log ORDER BY position DESC LIMIT 1"
_DIGEST = "SELECT digest FROM log WHERE position = ?"
_GUARDS = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'log'"
_POSITIONED = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'position'"

Testimony = tuple[int, int, str]  # first and last position concerned, and what is wrong there


def testimonies(
    reader: Reader, views: Views, copies: Sequence[Copy], head: int
) -> Iterator[Testimony]:
    """What contradicts a log that ends at `head`. The copies were listed before it was read."""
    yield from _guards(reader, head)
    yield from _folded(reader, views, head)
    yield from _copied(reader, copies, head)


def differences(reader: Reader, original: Original, head: int) -> Iterator[Testimony]:
    """Where a node's copy, up to `head`, and the log at the server are not the same.

    Raises:
        Unavailable: the server cannot be asked.
    """
    for after in range(0, head, PAGE):
        upto = min(after + PAGE, head)
        theirs = {record.position: record for record in original(after, upto)}
        for ours in reader.records(after, upto):
            at = ours.position
            if at not in theirs:
                yield at, at, "is missing at the server"
            elif not _same(ours, theirs[at]):
                yield at, at, "is not what the server holds"


def _same(ours: Record, theirs: Record) -> bool:
    """Whether two records say the same; one of them may have been purged since."""
    return ours.digest == theirs.digest and chain(GENESIS, ours) == chain(GENESIS, theirs)


def _guards(reader: Reader, head: int) -> Iterator[Testimony]:
    fresh = apsw.Connection(":memory:")
    for migration in MIGRATIONS:
        fresh.execute(migration)
    there = {name for (name,) in rows(reader.db, _GUARDS)}
    for (name,) in rows(fresh, _GUARDS):
        if name not in there:
            yield 1, head, f"could be edited unnoticed: the guard {name!r} is missing"
    fresh.close()


def _folded(reader: Reader, views: Views, head: int) -> Iterator[Testimony]:
    last = number(reader.db, "SELECT max(position) FROM snapshots")
    if last > head:
        yield head + 1, last, "is missing: a snapshot holds what was folded from it"
    for view in views.all:
        last = max((_reach(reader, table) for table in view.tables), default=0)
        if last > head:
            yield head + 1, last, f"is missing, or the view {view.name!r} is damaged"


def _reach(reader: Reader, table: str) -> int:
    """The newest position that a view's table was folded from; 0 if it does not say."""
    if one(reader.db, _POSITIONED, (table,)) is None:
        return 0
    return number(reader.db, f"SELECT max(position) FROM {table}")  # noqa: S608 - our own names


def _copied(reader: Reader, copies: Sequence[Copy], head: int) -> Iterator[Testimony]:
    for copy in copies:
        found = _newest(copy.path)
        if found is None:
            continue  # a damaged copy says nothing of the log; restoring refuses it
        position, digest = found
        if position > head:
            yield head + 1, position, f"is missing: the backup {copy.path.name} goes on to there"
        elif one(reader.db, _DIGEST, (position,)) != (digest,):
            yield 1, position, f"is not what the backup {copy.path.name} holds"


def _newest(path: Path) -> tuple[int, bytes] | None:
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            row = one(db, _NEWEST)
        finally:
            db.close()
    except apsw.Error:
        return None
    return (row[0], row[1]) if row else None
