"""Rows and facts of a transaction on their way into the file: many together cost less than apart.

While several works share a transaction, what they record waits here, and goes into the log and into
the views with one statement for each table. Whoever wants to read the file has it flushed first, so
that no decision can tell the difference.
"""

from collections.abc import Sequence

from everloop.log.model.record import Fact
from everloop.log.read.projection import Views
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS
from everloop.log.sql_rows import Row

WAITING_MAX = 2_000  # rows; what more costs in memory, it does not save in time

# Short, because SQLite's statement is found by its text, once for every row.
INSERT = f"INSERT INTO log VALUES({','.join('?' * len(COLUMNS.split(',')))})"


class Pending:
    """What was recorded in the transaction at hand, and is not in the file yet."""

    def __init__(self, views: Views) -> None:
        self._views = views
        self._reader: Reader | None = None
        self._rows: list[Row] = []
        self.facts: list[Fact] = []

    def write(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """Put rows into the log, and their facts into every view."""
        if len(rows) == 1:
            reader.cursor.execute(INSERT, rows[0])
        else:
            reader.cursor.executemany(INSERT, rows)
        self._views.fold(reader.db, facts)

    def keep(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """As `write`, but not before somebody reads, or nothing more comes."""
        self._reader = reader
        self._rows += rows
        self.facts += facts
        if len(self.facts) >= WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write what waits. If that is broken off, it still waits, and fails again at the end."""
        if self.facts and self._reader is not None:
            self.write(self._reader, self._rows, self.facts)
            self.clear()

    def clear(self) -> None:
        """Forget what waits."""
        self._reader, self._rows, self.facts = None, [], []
