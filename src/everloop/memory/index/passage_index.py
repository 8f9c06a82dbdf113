"""The roster in use, kept up with the log.

A roster is of one log: if the log that a reader sees is not the one that was read (a purge, a
restored backup), a new roster is begun. Readers of an older state share the newest roster, and who
has begun with one may go on with it to the end.
"""

import threading
from collections.abc import Callable

from everloop.log import Reader
from everloop.log.read.reader import State
from everloop.memory.index.log_identity import Recognised
from everloop.memory.index.passage_table import Roster
from everloop.memory.index.snapshot import Arrays, Header, Snapshot
from everloop.memory.projections.items import MemoryShelf, MemoryWords

SAVED_ROWS_MIN = 5_000  # fewer rows than these are as soon read as kept

_AT = "SELECT digest FROM log WHERE position = ?"


class Register:
    """Hands out the roster that fits a reader."""

    _saved: int  # rows in the snapshot,
    _model: str  # beside vectors of this model
    _seen: State | None  # what was read last, and is all in the roster

    def __init__(self, snapshot: Snapshot | None = None) -> None:
        self._snapshot = snapshot
        self._lock = threading.Lock()
        self._log = Recognised()
        self._begin()

    def roster(self, reader: Reader) -> tuple[Roster, int]:
        """The roster with all that a reader sees, and the reader's newest position."""
        with self._lock:
            state = reader.state
            if state is not None and state is self._seen:
                return self._roster, state.head
            head, same = self._log.newest(reader)
            if not same:
                self._begin()
            if head and not self._roster.head:
                self._restore(reader, head)
            if head > self._roster.head:
                self._load(reader, head)
            self._seen = state
            return self._roster, head

    def _load(self, reader: Reader, head: int) -> None:
        whole = False
        try:
            self._log.note(reader, head)
            self._roster.load(reader, head)
            whole = True
        finally:
            if not whole:  # what was broken off in the middle cannot be gone on with
                self._begin()

    def due(self, model: str, more: int = 0) -> bool:
        """Whether it should be kept for the next process: it has grown much since that was done.

        `more` is how many rows are known to have come that were not read yet.
        """
        rows = len(self._roster) + more
        grown = rows - self._saved >= self._saved // 4 or model != self._model
        return self._snapshot is not None and rows >= SAVED_ROWS_MIN and grown

    def save(self, reader: Reader, model: str, beside: Callable[[Roster], Arrays]) -> None:
        """Keep the roster for the next process, if that is due.

        `beside` gives what is kept with it, the vectors of a model by row; nothing if some are
        missing, and then nothing is kept.
        """
        with self._lock:
            roster, rows = self._roster, len(self._roster)
            header = self._header(reader, roster.head, model)
            if header is None or not self.due(model) or not (held := beside(roster)):
                return
            arrays = roster.arrays() | held
            self._saved, self._model = rows, model
        if self._snapshot is not None:
            self._snapshot.save(header, arrays)

    def _restore(self, reader: Reader, head: int) -> None:
        """Begin with what the last process kept, if it is of this log."""
        kept = self._snapshot.header() if self._snapshot else None
        if self._snapshot is None or kept is None:
            return
        header = self._header(reader, kept.head, kept.model) if kept.head <= head else None
        if header is not None and (arrays := self._snapshot.load(header)) is not None:
            self._log.note(reader, kept.head)
            self._roster = Roster(arrays, kept.head)
            self._saved, self._model = len(self._roster), kept.model
        elif header != kept:
            self._snapshot.throw_away()  # of another log, or of what was purged since

    def _header(self, reader: Reader, head: int, model: str) -> Header | None:
        """What a roster up to `head` is of, as this reader sees the log."""
        found = reader.rows(_AT, (head,))
        views = (MemoryWords.version, MemoryShelf.version)
        return Header(head, found[0][0].hex(), self._log.purged, model, views) if found else None

    def _begin(self) -> None:
        self._roster = Roster()
        self._saved, self._model, self._seen = 0, "", None
