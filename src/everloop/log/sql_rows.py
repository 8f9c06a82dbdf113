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
    return 0 if row is None else whole_number(row[0])


def whole_number(found: Any) -> int:
    """A number that was read; 0 if there was none.

    Raises:
        apsw.CorruptError: something else was read, as of no healthy file.
    """
    if found is None:
        return 0
    if not isinstance(found, int):
        raise apsw.CorruptError(f"{found!r} stands where the file should hold a number")
    return found


def let_go(db: apsw.Connection) -> None:
    """Close a connection. What was committed is safe by now, so no error here matters to anyone."""
    with suppress(apsw.Error):
        db.close()
