"""Helpers to read rows from SQLite, loosely typed: the schema gives the types, not the driver."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import apsw

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[Any] | Mapping[str, Any]


def query_rows(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of a query."""
    return db.execute(sql, bindings).fetchall()


def query_one(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> Row | None:
    """The first row of a query; None if there is none."""
    row: Row | None = db.execute(sql, bindings).fetchone()
    return row


def query_int(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> int:
    """The integer in the first column of a query's first row; 0 for no row or NULL.

    Raises:
        apsw.CorruptError: the value is not an integer, so the file is damaged.
    """
    row = query_one(db, sql, bindings)
    return 0 if row is None else require_int(row[0])


def require_int(found: Any) -> int:
    """Check that a value from the file is an integer; 0 for NULL.

    Raises:
        apsw.CorruptError: the value is not an integer, so the file is damaged.
    """
    if found is None:
        return 0
    if not isinstance(found, int):
        raise apsw.CorruptError(f"the file has {found!r} where a number belongs")
    return found


def close_quietly(db: apsw.Connection) -> None:
    """Close a connection and ignore errors: what was committed is already durable."""
    with suppress(apsw.Error):
        db.close()
