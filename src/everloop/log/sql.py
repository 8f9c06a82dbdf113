"""Rows from SQLite, typed loosely: the schema says what is in them, not the driver."""

from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, TypeAlias

import apsw

Row: TypeAlias = tuple[Any, ...]
Bindings: TypeAlias = Sequence[Any] | Mapping[str, Any]


def rows(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> list[Row]:
    """All rows of a query."""
    return db.execute(sql, bindings).fetchall()


def one(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> Row | None:
    """The first row of a query, if it has any."""
    row: Row | None = db.execute(sql, bindings).fetchone()
    return row


def number(db: apsw.Connection, sql: str, bindings: Bindings = ()) -> int:
    """The number that a query gives; 0 if it gives none.

    Raises:
        apsw.CorruptError: it gives something else, as no healthy file does.
    """
    row = one(db, sql, bindings)
    if row is None or row[0] is None:
        return 0
    if not isinstance(row[0], int):
        raise apsw.CorruptError(f"{row[0]!r} stands where the file should hold a number")
    return row[0]


def let_go(db: apsw.Connection) -> None:
    """Close a connection. What was committed is safe by now, so no error here matters to anyone."""
    with suppress(apsw.Error):
        db.close()
