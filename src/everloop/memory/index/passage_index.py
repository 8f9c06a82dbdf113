"""Passage index: keeps the in-memory passage table up to date with the log.

A table belongs to one log: after a purge or a restored backup a new table is started. Readers of an
older state share the newest table, and a search that has begun with a table may finish with it.
"""

import threading
from collections.abc import Callable

from everloop.log import Reader
from everloop.log.read.reader import FileState
from everloop.memory.index.log_identity import LogIdentity
from everloop.memory.index.passage_table import PassageColumns
from everloop.memory.index.snapshot import Arrays, IndexSnapshot, SnapshotHeader
from everloop.memory.projections.fts_index import PassageTable
from everloop.memory.projections.items import ItemTable

SNAPSHOT_ROWS_MIN = 5_000  # with fewer rows, reading the log is as fast as reading a snapshot

_AT = "SELECT digest FROM log WHERE position = ?"


class PassageIndex:
    """Provides the passage table that matches a reader, and saves it as a snapshot."""

    _saved: int  # rows in the snapshot
    _model: str  # whose vectors are in the snapshot
    _seen: FileState | None  # the state read last; all of it is in the table

    def __init__(self, snapshot: IndexSnapshot | None = None) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._log = LogIdentity()
        self._reset()

    def table(self, reader: Reader) -> tuple[PassageColumns, int]:
        """The table with everything that a reader sees, and the reader's newest position."""
        with self._lock:
            state = reader.state
            if state is not None and state is self._seen:
                return self._table, state.head
            head, same = self._log.newest_position(reader)
            if not same:
                self._reset()
            if head and not self._table.head:
                self._restore(reader, head)
            if head > self._table.head:
                self._load(reader, head)
            self._seen = state
            return self._table, head

    def _load(self, reader: Reader, head: int) -> None:
        whole = False
        try:
            self._log.record_read(reader, head)
            self._table.load(reader, head)
            whole = True
        finally:
            if not whole:  # a table that was interrupted while loading cannot be continued
                self._reset()

    def snapshot_due(self, model: str, more: int = 0) -> bool:
        """Whether a snapshot should be saved: the table has grown much since the last one.

        `more` is the number of new rows that were not read yet.
        """
        rows = len(self._table) + more
        grown = rows - self._saved >= self._saved // 4 or model != self._model
        return self._snapshot is not None and rows >= SNAPSHOT_ROWS_MIN and grown

    def save_snapshot(
        self, reader: Reader, model: str, beside: Callable[[PassageColumns], Arrays]
    ) -> None:
        """Save a snapshot of the table for the next process, if one is due.

        `beside` gives the vectors that are saved with it, by row; nothing if some are missing, and
        then no snapshot is saved.
        """
        with self._lock:
            table, rows = self._table, len(self._table)
            header = self._header(reader, table.head, model)
            if header is None or not self.snapshot_due(model) or not (held := beside(table)):
                return
            arrays = table.arrays() | held
            self._saved, self._model = rows, model
        if self._snapshot is not None:
            self._snapshot.save(header, arrays)

    def _restore(self, reader: Reader, head: int) -> None:
        """Start from the snapshot of the last process, if it is of this log."""
        kept = self._snapshot.header() if self._snapshot else None
        if self._snapshot is None or kept is None:
            return
        header = self._header(reader, kept.head, kept.model) if kept.head <= head else None
        if header is not None and (arrays := self._snapshot.load(header)) is not None:
            self._log.record_read(reader, kept.head)
            self._table = PassageColumns(arrays, kept.head)
            self._saved, self._model = len(self._table), kept.model
        elif header != kept:
            self._snapshot.discard()  # of another log, or purged since

    def _header(self, reader: Reader, head: int, model: str) -> SnapshotHeader | None:
        """The snapshot header of a table up to `head`, as this reader sees the log."""
        found = reader.rows(_AT, (head,))
        views = (PassageTable.version, ItemTable.version)
        return (
            SnapshotHeader(head, found[0][0].hex(), self._log.purged, model, views)
            if found
            else None
        )

    def _reset(self) -> None:
        self._table = PassageColumns()
        self._saved, self._model, self._seen = 0, "", None
