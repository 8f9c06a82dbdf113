"""Copy a log from one store to another, record by record, with checked digests.

It may be interrupted at any time: the next run continues where it stopped.
"""

from itertools import islice

from everloop.errors import Conflict, Corrupt
from everloop.log.log import Log
from everloop.ports import Progress

BATCH = 1_000


def move_log(source: Log, target: Log, progress: Progress | None = None) -> int:
    """Copy the records that the target does not have yet, and return how many.

    Raises:
        Conflict: the target has records that the source does not have.
        Corrupt: the copy differs from the source.
    """
    head, start = source.head, target.head
    _check_prefix(source, target, start, head)
    records = source.records(after=start, upto=head)
    done = start
    while batch := list(islice(records, BATCH)):
        target.append_records(batch)
        done = batch[-1].position
        if progress:
            progress(done, head)
    if head and source.record(head).digest != target.record(head).digest:
        raise Corrupt(
            "the copied log does not end with the same digest as the original",
            hint="Move into an empty target again.",
        )
    return done - start


def _check_prefix(source: Log, target: Log, start: int, head: int) -> None:
    if start > head or (start and source.record(start).digest != target.record(start).digest):
        raise Conflict(
            "the target already contains another log",
            hint="Move into an empty target. An interrupted move continues if it is repeated.",
        )
