"""Optimistic concurrency check for near-duplicate detection.

A new item is compared with all others before its write transaction. Inside the transaction this
module checks that no item of the same scope and kind was recorded since, so that of two processes
or nodes that store the same text at once, the second becomes a repetition of the first.
"""

from everloop.errors import Conflict
from everloop.log import Reader
from everloop.memory.model.commands import RememberCompared

_RECORDED_SINCE = """
SELECT 1 FROM memory_versions v JOIN memory_items i ON i.position = v.item
WHERE v.position > ? AND v.scope = ? AND i.kind = ? LIMIT 1
"""


class StaleComparison(Conflict):
    """The comparison is stale: an item was recorded after it. Compare again."""


def check_comparison_is_current(reader: Reader, command: RememberCompared) -> None:
    """Accept an item that was compared with everything recorded before it.

    Raises:
        StaleComparison: an item of the same scope and kind was recorded since.
    """
    if reader.rows(_RECORDED_SINCE, (command.upto, command.scope, command.kind)):
        raise StaleComparison("another item was stored at the same time", hint="Try again.")
