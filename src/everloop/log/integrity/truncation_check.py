"""Truncation check: finds missing newest records, which the hash chain alone cannot show.

A log without its newest records is a valid, shorter log. But rows of views and snapshots prove that
a record existed, backups remember its digest, and missing triggers show tampering. With PostgreSQL
a node's copy is compared with the server's log.

None of this is part of a commit, so it costs nothing until a check runs. It cannot detect an
attacker who deletes records, views and backups alike and restores the triggers.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from everloop.log.maintenance.backup import BackupFile
from everloop.log.model.record import GENESIS, Record, expected_digest
from everloop.log.read.projection import ProjectionSet
from everloop.log.read.reader import Reader
from everloop.log.schema import MIGRATIONS
from everloop.log.sql_rows import query_int, query_one, query_rows
from everloop.log.write.append import PrimaryLog

PAGE = 1_000
_NEWEST = "SELECT position, digest FROM log ORDER BY position DESC LIMIT 1"
_DIGEST = "SELECT digest FROM log WHERE position = ?"
_TRIGGERS = "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND tbl_name = 'log'"
_HAS_POSITION = "SELECT 1 FROM pragma_table_info(?) WHERE name = 'position'"

Testimony = tuple[int, int, str]  # first and last position, and what is wrong there


def truncation_evidence(
    reader: Reader, views: ProjectionSet, copies: Sequence[BackupFile], head: int
) -> Iterator[Testimony]:
    """Evidence against a log that ends at `head`. List `copies` before reading the log."""
    yield from _missing_triggers(reader, head)
    yield from _view_evidence(reader, views, head)
    yield from _backup_evidence(reader, copies, head)


def replica_differences(reader: Reader, original: PrimaryLog, head: int) -> Iterator[Testimony]:
    """Where a node's copy, up to `head`, differs from the log at the server.

    Raises:
        Unavailable: the server cannot be reached.
    """
    for after in range(0, head, PAGE):
        upto = min(after + PAGE, head)
        theirs = {record.position: record for record in original(after, upto)}
        for ours in reader.records(after, upto):
            at = ours.position
            if at not in theirs:
                yield at, at, "is missing at the server"
            elif not _same(ours, theirs[at]):
                yield at, at, "differs from the server's record"


def _same(ours: Record, theirs: Record) -> bool:
    """Whether two records are equal; one of them may have been purged since."""
    return ours.digest == theirs.digest and expected_digest(GENESIS, ours) == expected_digest(
        GENESIS, theirs
    )


def _missing_triggers(reader: Reader, head: int) -> Iterator[Testimony]:
    fresh = apsw.Connection(":memory:")
    for migration in MIGRATIONS:
        fresh.execute(migration)
    there = {name for (name,) in query_rows(reader.db, _TRIGGERS)}
    for (name,) in query_rows(fresh, _TRIGGERS):
        if name not in there:
            yield 1, head, f"could be edited unnoticed: the trigger {name!r} is missing"
    fresh.close()


def _view_evidence(reader: Reader, views: ProjectionSet, head: int) -> Iterator[Testimony]:
    last = query_int(reader.db, "SELECT max(position) FROM snapshots")
    if last > head:
        yield head + 1, last, "is missing: a snapshot was folded from it"
    for view in views.all:
        last = max((_newest_in_table(reader, table) for table in view.tables), default=0)
        if last > head:
            yield head + 1, last, f"is missing, or the view {view.name!r} is damaged"


def _newest_in_table(reader: Reader, table: str) -> int:
    """The newest position in a view's table; 0 if it has no such column."""
    if query_one(reader.db, _HAS_POSITION, (table,)) is None:
        return 0
    return query_int(reader.db, f"SELECT max(position) FROM {table}")  # noqa: S608 - our own names


def _backup_evidence(
    reader: Reader, copies: Sequence[BackupFile], head: int
) -> Iterator[Testimony]:
    for copy in copies:
        found = _newest(copy.path)
        if found is None:
            continue  # a damaged backup proves nothing; a restore refuses it
        position, digest = found
        if position > head:
            yield head + 1, position, f"is missing: the backup {copy.path.name} contains it"
        elif query_one(reader.db, _DIGEST, (position,)) != (digest,):
            yield 1, position, f"is not what the backup {copy.path.name} contains"


def _newest(path: Path) -> tuple[int, bytes] | None:
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READONLY)
        try:
            row = query_one(db, _NEWEST)
        finally:
            db.close()
    except apsw.Error:
        return None
    return (row[0], row[1]) if row else None
