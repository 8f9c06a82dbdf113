"""Independent audit of a log file, used by the fault tests.

It shares nothing with `log/integrity/verify.py` but the definition of a digest, so that the two can
be compared.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from everloop.log.model.branches import Branches
from everloop.log.model.event import decode
from everloop.log.model.facts import BranchForked, BranchPlanted
from everloop.log.model.record import GENESIS, Record, expected_digest, fact_of
from everloop.log.read.lineage import Lineage
from everloop.log.read.projection import Projection, ProjectionSet
from everloop.log.schema import COLUMNS

_ALL_RECORDS = f"SELECT {COLUMNS} FROM log ORDER BY position"  # noqa: S608 - our own column names


def audit(path: Path, projections: Sequence[Projection] = ()) -> list[str]:
    """The problems of a log file, as sentences; empty if there are none."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        records = [Record(*row) for row in db.execute(_ALL_RECORDS)]
        return [
            *_integrity(db),
            *_order(records),
            *_chains(records),
            *_views(db, records, [Lineage(), *projections]),
        ]
    finally:
        db.close()


def read_records(path: Path) -> list[Record]:
    """Every record of a log file, read without the engine."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return [Record(*row) for row in db.execute(_ALL_RECORDS)]
    finally:
        db.close()


def _integrity(db: apsw.Connection) -> Iterator[str]:
    for (text,) in db.execute("PRAGMA integrity_check").fetchall():
        if text != "ok":
            yield f"integrity: {text}"


def _order(records: Sequence[Record]) -> Iterator[str]:
    last_us = 0
    for expected, record in enumerate(records, start=1):
        if record.position != expected:
            yield f"position {expected} is missing, {record.position} is there"
            return
        if record.recorded_us < last_us:
            yield f"position {record.position} is older than the one before"
        last_us = record.recorded_us


class _Streams:
    """The records of each stream on each branch, as (position, version, digest)."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._records: dict[tuple[str, str], list[tuple[int, int, bytes]]] = {}

    def tail(self, record: Record) -> tuple[int, bytes]:
        """The version and digest that a record must follow."""
        for name, cap in self._branches[record.branch].lineage():
            entries = self._records.get((record.stream, name), [])
            seen = bisect_right(entries, min(cap, record.position - 1), key=lambda entry: entry[0])
            if seen:
                return entries[seen - 1][1:]
        return 0, GENESIS

    def take(self, record: Record) -> None:
        """Add a record to its stream, and its branch if it creates one."""
        entry = (record.position, record.version, record.digest)
        self._records.setdefault((record.stream, record.branch), []).append(entry)
        if record.data is None:
            return
        match decode(record.kind, record.schema, record.data):
            case BranchForked(branch=branch, parent=parent, at=at):
                self._branches.add_fork(branch, parent, at)
            case BranchPlanted(branch=branch):
                self._branches.add_root(branch)
            case _:
                pass


def _chains(records: Sequence[Record]) -> Iterator[str]:
    streams = _Streams()
    for record in records:
        version, digest = streams.tail(record)
        if record.version != version + 1:
            yield f"position {record.position} has version {record.version} after {version}"
        if expected_digest(digest, record) != record.digest:
            yield f"position {record.position} does not match its digest"
        streams.take(record)


def _views(
    db: apsw.Connection, records: Sequence[Record], projections: Sequence[Projection]
) -> Iterator[str]:
    views = ProjectionSet(projections)
    live = {view.name: list(view.dump(db)) for view in projections}
    if views.position(db) != len(records):
        yield f"the views stand at {views.position(db)}, the log at {len(records)}"
    replay = apsw.Connection(":memory:")
    with replay.backup("main", db, "main") as copying:
        copying.step()
    for view in projections:
        views.reset(replay, view)
    for record in records:
        views.fold(replay, [fact_of(record)])
    for view in projections:
        if list(view.dump(replay)) != live[view.name]:
            yield f"the view {view.name!r} does not equal its replay"
    replay.close()
