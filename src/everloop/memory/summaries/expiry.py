"""Sweeping: what no longer holds, and of which nobody spoke for long, steps back.

It is retired, not deleted: it can be opened by its id, and retracting that brings it back. What a
user wrote, pinned or stands on stays. The work is what the log lacks, so a crash costs nothing.
"""

from collections.abc import Callable
from contextlib import suppress
from datetime import datetime, timedelta

from everloop.errors import Rejected
from everloop.log import Context, Log, Reader, Receipt, visible
from everloop.log.model.record import microseconds
from everloop.memory.model.commands import RetireItem
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import PIVOTAL
from everloop.memory.model.scopes import OWNER, written_by_user
from everloop.memory.projections.citations import user_citers
from everloop.memory.projections.queries import Item, asker, find

REASON = "it no longer holds, and nobody spoke of it for {days} days"


def sweep(log: Log, do: Callable[..., Receipt], now: datetime, quiet_days: int) -> list[str]:
    """Retire what was quiet for so many days; returns the items that stepped back."""
    with log.reading() as reader:
        found = quiet(reader, now - timedelta(days=quiet_days))
    gone: list[str] = []
    for item_id in found:
        with suppress(Rejected):  # somebody spoke of it just now
            do(RetireItem(item_id, REASON.format(days=quiet_days)), by=Context(actor=ENGINE))
            gone.append(item_id)
    return gone


def quiet(reader: Reader, since: datetime) -> list[str]:
    """What held until before a time and was not spoken of after it, and may step back."""
    owner = asker(reader, OWNER)
    found = (find(reader, owner, row[0]) for row in reader.rows(_QUIET, (microseconds(since),)))
    return [item.item_id for item in found if _may_go(reader, item)]


def _may_go(reader: Reader, item: Item) -> bool:
    wanted = item.pinned or item.significance == PIVOTAL or written_by_user(item.author)
    return not (wanted or item.retired or user_citers(reader, item.item_id))


_QUIET = f"""
SELECT i.item_id FROM memory_items i
WHERE i.holds_until > 0 AND i.holds_until < ?1 AND {visible("i")}
AND NOT EXISTS (SELECT 1 FROM log_because b JOIN log d ON d.position = b.dependant
    WHERE b.source = i.position AND d.recorded_at >= ?1)
ORDER BY i.position
"""  # noqa: S608 - our own conditions
