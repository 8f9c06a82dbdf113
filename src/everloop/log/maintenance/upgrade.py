"""What opening a log with this build would change, and a backup of it as it is.

Opening migrates the log's table and folds outdated views again, by itself. Nothing here writes to
the log.
"""

import struct
from collections.abc import Sequence
from datetime import datetime
from pathlib import Path

import apsw
import msgspec

from everloop.errors import Corrupt
from everloop.log.maintenance.backup import back_up_database
from everloop.log.model.event import catalogue
from everloop.log.read.projection import Projection
from everloop.log.schema import APPLICATION_ID, MIGRATIONS
from everloop.log.sql_rows import query_int, query_rows
from everloop.log.sqlite.errors import translate_sqlite_error
from everloop.ports import Clock

_HEADER = struct.Struct(">60xI4xI")  # of SQLite's file: user version and application id


class OldShape(msgspec.Struct, frozen=True):
    """Records of a kind in an older schema. They are converted when read, and never rewritten."""

    kind: str
    schema: int
    current: int
    records: int


class UnknownKind(msgspec.Struct, frozen=True):
    """Records of a kind or schema that this build does not know. They are kept and skipped."""

    kind: str
    schema: int
    records: int


class OutdatedView(msgspec.Struct, frozen=True):
    """A view that would be folded again. `version` 0: it is not there yet."""

    name: str
    version: int
    current: int


class UpgradePlan(msgspec.Struct, frozen=True):
    """The difference between a log file and this build."""

    records: int
    format: int
    current_format: int
    views: tuple[OutdatedView, ...] = ()
    old_shapes: tuple[OldShape, ...] = ()
    unknown: tuple[UnknownKind, ...] = ()

    @property
    def newer(self) -> bool:
        """Whether a newer build wrote it, so that this one cannot open it."""
        return self.format > self.current_format

    @property
    def changes(self) -> bool:
        """Whether opening it would change anything."""
        return self.format != self.current_format or bool(self.views)


def plan_upgrade(path: Path, projections: Sequence[type[Projection]]) -> UpgradePlan:
    """Compare a log file with this build, and change nothing.

    Raises:
        Corrupt: it is not a log.
        Unavailable: it cannot be read now.
    """
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            db.execute("BEGIN")  # one state of the file
            return _compare(db, path, projections)
        finally:
            db.close()
    except apsw.Error as problem:
        raise translate_sqlite_error(problem, path) from problem


def back_up_before_upgrade(path: Path, folder: Path, now: datetime) -> Path:
    """Copy a log file as it is into the folder of backups, and return the copy."""
    try:
        db = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        try:
            return back_up_database(db, query_int(db, "SELECT max(position) FROM log"), folder, now)
        finally:
            db.close()
    except apsw.Error as problem:
        raise translate_sqlite_error(problem, path) from problem


def back_up_before_migration(path: Path, folder: Path, clock: Clock) -> Path | None:
    """Back up a log whose table this build is about to migrate; None if it is not.

    Only the head of the file is read: a connection of ours would meddle with its write-ahead file.
    """
    try:
        with path.open("rb") as file:
            version, application = _HEADER.unpack(file.read(_HEADER.size))
    except (OSError, struct.error):  # whoever opens it next says what is wrong
        return None
    older = application == APPLICATION_ID and 0 < version < len(MIGRATIONS)
    return back_up_before_upgrade(path, folder, clock.now()) if older else None


def _compare(
    db: apsw.Connection, path: Path, projections: Sequence[type[Projection]]
) -> UpgradePlan:
    if int(db.pragma("application_id")) != APPLICATION_ID:
        raise Corrupt(f"{path} is not an Everloop log", hint="Choose another path.")
    old, unknown = _shapes(db)
    return UpgradePlan(
        records=query_int(db, "SELECT count(*) FROM log"),
        format=int(db.pragma("user_version")),
        current_format=len(MIGRATIONS),
        views=_outdated_views(db, projections),
        old_shapes=tuple(old),
        unknown=tuple(unknown),
    )


def _outdated_views(
    db: apsw.Connection, projections: Sequence[type[Projection]]
) -> tuple[OutdatedView, ...]:
    there = query_rows(db, "SELECT 1 FROM sqlite_master WHERE name = 'views'")
    rows = query_rows(db, "SELECT name, version FROM views") if list(there) else ()
    versions: dict[str, int] = dict(rows)
    return tuple(
        OutdatedView(view.name, versions.get(view.name, 0), view.version)
        for view in projections
        if versions.get(view.name) != view.version
    )


def _shapes(db: apsw.Connection) -> tuple[list[OldShape], list[UnknownKind]]:
    known = {wire: cls.schema for wire, cls in catalogue().items()}
    old, unknown = list[OldShape](), list[UnknownKind]()
    counted = query_rows(db, "SELECT kind, schema, count(*) FROM log GROUP BY kind, schema")
    for kind, schema, records in counted:
        current = known.get(kind, 0)
        if schema > current:
            unknown.append(UnknownKind(kind, schema, records))
        elif schema < current:
            old.append(OldShape(kind, schema, current, records))
    return old, unknown
