"""Keeps a copy of the log in a data warehouse: in order, in bounded batches, purges included.

It may be interrupted at any time: the next run asks the warehouse where its copy ends and continues
there. Purged payloads are erased in the copy *before* the purge fact is added to it, so a copy that
contains a purge has always carried it out. This module does not know which warehouse it is.
"""

from collections.abc import Sequence
from typing import Annotated, NamedTuple, Protocol

import msgspec
from msgspec import Meta

from everloop.errors import Conflict
from everloop.log.log import Log
from everloop.log.model.facts import Purged
from everloop.log.model.record import Record, fact_of
from everloop.ports import Progress

REFILL_HINT = (
    "Choose another dataset or table; or drop this table, and the next run fills it again."
)


class SinkLimits(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The bounds of a copy in a warehouse; section `[sink]` of the settings file."""

    rows_max: Annotated[int, Meta(ge=1, description="Most records that one batch carries.")] = (
        50_000
    )
    bytes_max: Annotated[
        int,
        Meta(
            ge=1, description="Payload bytes after which a batch is full; one record always fits."
        ),
    ] = 33_554_432
    follow_s: Annotated[
        float,
        Meta(
            gt=0,
            description="With `--follow`, how long to wait between two batches. BigQuery takes"
            " 1,500 load jobs per table and day; one every 58 seconds is the most.",
        ),
    ] = 120.0
    job_wait_s: Annotated[
        float, Meta(gt=0, description="How long to wait for one job of the warehouse.")
    ] = 600.0
    retry_s: Annotated[
        float, Meta(ge=0, description="How long a call that failed for a moment is repeated.")
    ] = 60.0
    bigquery: Annotated[
        str,
        Meta(
            description="`PROJECT.DATASET` that a running server keeps a copy of the log in."
            " Empty: none."
        ),
    ] = ""
    location: Annotated[
        str, Meta(description="Where a new BigQuery dataset is put, such as `EU`. Empty: `US`.")
    ] = ""
    endpoint: Annotated[
        str,
        Meta(description="The address of a BigQuery emulator, which is given no credentials."),
    ] = ""


class CopyEnd(NamedTuple):
    """The end of a copy: its number of rows, its newest position and that digest."""

    rows: int
    position: int
    digest: bytes | None


class Warehouse(Protocol):
    """A table with one row for each record."""

    def end(self) -> CopyEnd:
        """Where the copy ends; creates the table if it is missing."""
        ...

    def erase(self, positions: Sequence[int]) -> int:
        """Erase the payloads at these positions and return how many there were. Idempotent."""
        ...

    def load(self, records: Sequence[Record]) -> int:
        """Add the next records, all or none, and return where the copy now ends.

        Idempotent: repeated, or called by two processes at once, it adds them once.
        """
        ...

    def refresh_views(self) -> None:
        """Create or update the readable views over the table, where the warehouse keeps any."""
        ...


class SyncResult(NamedTuple):
    """The result of a run: records added, payloads erased, and where the copy now ends."""

    records: int
    erased: int
    head: int


class WarehouseSync:
    """Brings the copy in a warehouse up to date; may be called repeatedly."""

    def __init__(self, log: Log, warehouse: Warehouse, limits: SinkLimits) -> None:
        self._log = log
        self._warehouse = warehouse
        self._limits = limits
        self._after: int | None = None  # where the copy ends, if known
        self._has_views = False

    def catch_up(self, progress: Progress | None = None) -> SyncResult:
        """Copy the records that the warehouse does not have yet.

        Raises:
            Conflict: the table has another log, or rows were deleted or duplicated.
        """
        start = after = self._begin()
        erased, head = 0, self._log.head
        self._after = None  # after a failure, ask the warehouse again
        while batch := next_batch(self._log, after, head, self._limits):
            if gone := purged_positions_before(batch):
                erased += self._warehouse.erase(gone)
            after = self._warehouse.load(batch)
            if progress:
                progress(min(after, head), head)
        self._after = after
        if not self._has_views:  # after the rows: what is wrong with a view delays no row
            self._warehouse.refresh_views()
            self._has_views = True
        return SyncResult(after - start, erased, after)

    def _begin(self) -> int:
        if self._after is not None:
            return self._after
        end = self._warehouse.end()
        if end.rows != end.position:
            raise Conflict(
                f"the copy has {end.rows} rows but ends at position {end.position}:"
                " rows were deleted or duplicated",
                hint=REFILL_HINT,
            )
        if end.position and not self._is_ours(end):
            raise Conflict("the table already contains another log", hint=REFILL_HINT)
        return end.position

    def _is_ours(self, end: CopyEnd) -> bool:
        return (
            end.position <= self._log.head and self._log.record(end.position).digest == end.digest
        )


def next_batch(log: Log, after: int, upto: int, limits: SinkLimits) -> list[Record]:
    """The records after a position that fit into one batch, from one state of the log."""
    batch: list[Record] = []
    size = 0
    with log.file.reading() as reader:
        for record in reader.records(after, upto):
            size += len(record.data or "")
            if batch and (size > limits.bytes_max or len(batch) == limits.rows_max):
                break
            batch.append(record)
    return batch


def purged_positions_before(batch: Sequence[Record]) -> list[int]:
    """The positions before a batch that were purged by a purge in the batch."""
    first = batch[0].position
    purges = (fact_of(record).event for record in batch if record.kind == Purged.wire)
    purged = {
        position for purge in purges if isinstance(purge, Purged) for position in purge.positions
    }
    return sorted(position for position in purged if position < first)
