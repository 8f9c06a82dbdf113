"""Moving a log from one store to another, record by record, digest by digest.

It may be interrupted at any time: moving again goes on where it stopped.
"""

from itertools import islice

from everloop.errors import Conflict, Corrupt
from everloop.log.log import Log
from everloop.ports import Progress

BATCH = 1_000


def move(source: Log, target: Log, progress: Progress | None = None) -> int:
    """Copy what the target lacks, and return how many records that was.

    Raises:
        Conflict: the target holds something that the source does not.
        Corrupt: what arrived is not what was sent.
    """
    head, start = source.head, target.head
    _check_prefix(source, target, start, head)
    records = source.records(after=start, upto=head)
    done = start
    while batch := list(islice(records, BATCH)):
        target.take_over(batch)
        done = batch[-1].position
        if progress:
            progress(done, head)
    if head and source.record(head).digest != target.record(head).digest:
        raise Corrupt(
            "the copy does not end as the original does", hint="Move into an empty place again."
        )
    return done - start


def _check_prefix(source: Log, target: Log, start: int, head: int) -> None:
    if start > head or (start and source.record(start).digest != target.record(start).digest):
        raise Conflict(
            "the target already holds another log",
            hint="Move into an empty place; moving again into the same one goes on.",
        )
