"""Write buffer of a transaction: rows and facts that are written together, which costs less.

While several appends share a transaction, their rows wait here and go into the log and the views
with one statement per table. A read flushes the buffer first, so a decision sees no difference.
"""

from collections.abc import Sequence

from everloop.log.model.record import Fact
from everloop.log.read.projection import ProjectionSet
from everloop.log.read.reader import Reader
from everloop.log.schema import COLUMNS
from everloop.log.sql_rows import Row

WAITING_MAX = 2_000  # rows; more would cost memory and save no time

# Short, because SQLite's statement cache looks it up by its text, once for every row.
INSERT = f"INSERT INTO log VALUES({','.join('?' * len(COLUMNS.split(',')))})"


class WriteBuffer:
    """Rows and facts of the current transaction that are not in the file yet."""

    def __init__(self, views: ProjectionSet) -> None:
        self._views = views
        self._reader: Reader | None = None
        self._rows: list[Row] = []
        self.facts: list[Fact] = []

    def write(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """Insert rows into the log and fold their facts into every view."""
        if len(rows) == 1:
            reader.cursor.execute(INSERT, rows[0])
        else:
            reader.cursor.executemany(INSERT, rows)
        self._views.fold(reader.db, facts)

    def add(self, reader: Reader, rows: Sequence[Row], facts: Sequence[Fact]) -> None:
        """Buffer rows and facts until the next read or the end of the transaction."""
        self._reader = reader
        self._rows += rows
        self.facts += facts
        if len(self.facts) >= WAITING_MAX:
            self.flush()

    def flush(self) -> None:
        """Write the buffer. If that fails, it stays buffered, and the final flush fails again."""
        if self.facts and self._reader is not None:
            self.write(self._reader, self._rows, self.facts)
            self.clear()

    def clear(self) -> None:
        """Discard the buffer."""
        self._reader, self._rows, self.facts = None, [], []
