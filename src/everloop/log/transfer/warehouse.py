"""Keeping a copy of the log in a warehouse: in order, in bounded batches, erased where we erase.

It may be interrupted at any time: the warehouse is asked where its copy ends, and the copy goes on
there. What a purge erased is erased in the copy *before* the fact of that purge arrives in it, so
a copy that knows of a purge has always carried it out. Which warehouse it is, this file does not
know.
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

ANEW = "Name another dataset or table; or drop this table, and the next run fills it again."


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
    location: Annotated[
        str, Meta(description="Where a new BigQuery dataset is put, such as `EU`. Empty: `US`.")
    ] = ""
    endpoint: Annotated[
        str,
        Meta(description="The address of a BigQuery emulator, which is given no credentials."),
    ] = ""


class End(NamedTuple):
    """How a copy ends: how many rows it has, and its newest position with its digest."""

    rows: int
    position: int
    digest: bytes | None


class Warehouse(Protocol):
    """A place that holds one row for each record."""

    def end(self) -> End:
        """How the copy ends; what is missing to hold one is made."""
        ...

    def erase(self, positions: Sequence[int]) -> int:
        """Erase the payloads at these positions, and say how many were there. May be repeated."""
        ...

    def load(self, records: Sequence[Record]) -> int:
        """Add the records that come next, all or none, and return where the copy now ends.

        Repeated, or tried by two processes at once, it adds them once.
        """
        ...


class Copied(NamedTuple):
    """What a run did: records added, payloads erased, and where the copy now ends."""

    records: int
    erased: int
    head: int


class Sink:
    """Brings a warehouse's copy up to date, again and again."""

    def __init__(self, log: Log, warehouse: Warehouse, limits: SinkLimits) -> None:
        self._log = log
        self._warehouse = warehouse
        self._limits = limits
        self._after: int | None = None  # where the copy ends, as far as we know

    def catch_up(self, progress: Progress | None = None) -> Copied:
        """Copy what the warehouse lacks of the log as it is now.

        Raises:
            Conflict: the warehouse holds another log, or rows of it were deleted or doubled.
        """
        start = after = self._begin()
        erased, head = 0, self._log.head
        self._after = None  # until this went well, the warehouse has to be asked again
        while batch := next_batch(self._log, after, head, self._limits):
            if gone := purged_before(batch):
                erased += self._warehouse.erase(gone)
            after = self._warehouse.load(batch)
            if progress:
                progress(min(after, head), head)
        self._after = after
        return Copied(after - start, erased, after)

    def _begin(self) -> int:
        if self._after is not None:
            return self._after
        end = self._warehouse.end()
        if end.rows != end.position:
            raise Conflict(
                f"the copy has {end.rows} rows and ends at position {end.position}:"
                " rows of it were deleted or doubled",
                hint=ANEW,
            )
        if end.position and not self._is_ours(end):
            raise Conflict("the table already holds another log", hint=ANEW)
        return end.position

    def _is_ours(self, end: End) -> bool:
        return (
            end.position <= self._log.head and self._log.record(end.position).digest == end.digest
        )


def next_batch(log: Log, after: int, upto: int, limits: SinkLimits) -> list[Record]:
    """The records after a position that fit into one batch, as they stood at one moment."""
    batch: list[Record] = []
    size = 0
    with log.file.reading() as reader:
        for record in reader.records(after, upto):
            size += len(record.data or "")
            if batch and (size > limits.bytes_max or len(batch) == limits.rows_max):
                break
            batch.append(record)
    return batch


def purged_before(batch: Sequence[Record]) -> list[int]:
    """The positions before a batch whose payloads were erased by a purge that is in it."""
    first = batch[0].position
    purges = (fact_of(record).event for record in batch if record.kind == Purged.wire)
    named = {place for purge in purges if isinstance(purge, Purged) for place in purge.positions}
    return sorted(place for place in named if place < first)
