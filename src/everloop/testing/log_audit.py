"""Everything that must hold of a log file, checked from outside: the judge of the fault tests.

It shares nothing with `log/verify.py` but the definition of a digest, so that one can be held
against the other.
"""

from bisect import bisect_right
from collections.abc import Iterator, Sequence
from pathlib import Path

import apsw

from everloop.log.model.branches import Branches
from everloop.log.model.event import decode
from everloop.log.model.facts import BranchForked, BranchPlanted
from everloop.log.model.record import GENESIS, Record, chain, fact_of
from everloop.log.read.lineage import Lineage
from everloop.log.read.projection import Projection, Views
from everloop.log.schema import COLUMNS

_EVERYTHING = f"SELECT {COLUMNS} FROM log ORDER BY position"  # noqa: S608 - our own column names


def audit(path: Path, projections: Sequence[Projection] = ()) -> list[str]:
    """What is wrong with a log file, in words; empty if nothing is."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        records = [Record(*row) for row in db.execute(_EVERYTHING)]
        return [
            *_integrity(db),
            *_order(records),
            *_chains(records),
            *_views(db, records, [Lineage(), *projections]),
        ]
    finally:
        db.close()


def stored(path: Path) -> list[Record]:
    """Every record of a log file, read without the engine."""
    db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        return [Record(*row) for row in db.execute(_EVERYTHING)]
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


class _Lines:
    """Each stream on each branch, as a list of (position, version, digest)."""

    def __init__(self) -> None:
        self._branches = Branches()
        self._lines: dict[tuple[str, str], list[tuple[int, int, bytes]]] = {}

    def tail(self, record: Record) -> tuple[int, bytes]:
        """The version and digest that a record must continue."""
        for name, cap in self._branches[record.branch].lineage():
            line = self._lines.get((record.stream, name), [])
            seen = bisect_right(line, min(cap, record.position - 1), key=lambda entry: entry[0])
            if seen:
                return line[seen - 1][1:]
        return 0, GENESIS

    def take(self, record: Record) -> None:
        """Go on after a record."""
        entry = (record.position, record.version, record.digest)
        self._lines.setdefault((record.stream, record.branch), []).append(entry)
        if record.data is None:
            return
        match decode(record.kind, record.schema, record.data):
            case BranchForked(branch=branch, parent=parent, at=at):
                self._branches.fork(branch, parent, at)
            case BranchPlanted(branch=branch):
                self._branches.plant(branch)
            case _:
                pass


def _chains(records: Sequence[Record]) -> Iterator[str]:
    lines = _Lines()
    for record in records:
        version, digest = lines.tail(record)
        if record.version != version + 1:
            yield f"position {record.position} has version {record.version} after {version}"
        if chain(digest, record) != record.digest:
            yield f"position {record.position} does not match its digest"
        lines.take(record)


def _views(
    db: apsw.Connection, records: Sequence[Record], projections: Sequence[Projection]
) -> Iterator[str]:
    views = Views(projections)
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
