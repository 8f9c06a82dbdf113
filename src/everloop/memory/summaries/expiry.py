"""Expiry: retires items that have expired and were not mentioned for some time.

They are retired, not deleted: each can be opened by its id, and retracting the retirement restores
it. Items that a user wrote, pinned or cites are kept. What remains to be done is computed from the
log, so a crash loses nothing.
"""

from contextlib import suppress
from datetime import datetime, timedelta

from everloop.errors import Rejected
from everloop.log import CommandBus, Context, Log, Reader, visible
from everloop.log.model.record import to_microseconds
from everloop.memory.model.commands import RetireItem
from everloop.memory.model.decide import ENGINE
from everloop.memory.model.events import PIVOTAL
from everloop.memory.model.scopes import OWNER, acts_as_user
from everloop.memory.projections.citations import user_citers
from everloop.memory.projections.queries import Item, find_item, load_viewer

REASON = "it expired, and was not mentioned for {days} days"


def retire_expired(log: Log, bus: CommandBus, now: datetime, quiet_days: int) -> list[str]:
    """Retire expired items that were not mentioned for `quiet_days`; returns their ids."""
    with log.reading() as reader:
        found = expired_items(reader, now - timedelta(days=quiet_days))
    retired: list[str] = []
    for item_id in found:
        with suppress(Rejected):  # it was just mentioned
            bus.do(RetireItem(item_id, REASON.format(days=quiet_days)), by=Context(actor=ENGINE))
            retired.append(item_id)
    return retired


def expired_items(reader: Reader, since: datetime) -> list[str]:
    """The items that expired before a time, were not mentioned after it, and may be retired."""
    owner = load_viewer(reader, OWNER)
    found = (
        find_item(reader, owner, row[0]) for row in reader.rows(_QUIET, (to_microseconds(since),))
    )
    return [item.item_id for item in found if _may_be_retired(reader, item)]


def _may_be_retired(reader: Reader, item: Item) -> bool:
    wanted = item.pinned or item.significance == PIVOTAL or acts_as_user(item.author)
    return not (wanted or item.retired or user_citers(reader, item.item_id))


_QUIET = f"""
SELECT i.item_id FROM memory_items i
WHERE i.holds_until > 0 AND i.holds_until < ?1 AND {visible("i")}
AND NOT EXISTS (SELECT 1 FROM log_because b JOIN log d ON d.position = b.dependant
    WHERE b.source = i.position AND d.recorded_at >= ?1)
ORDER BY i.position
"""  # noqa: S608 - our own conditions
