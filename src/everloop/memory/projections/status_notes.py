"""Status notes: true when they are written, and soon no more.

A note that begins with HANDOFF, RESUME or TO SHIP tells where somebody's work stood. Kept like a
fact, it would come up as one long after. So it holds for some days only, unless its writer says
until when, or that it lasts; whoever is shown it later is shown until when it held.
"""

import re
from datetime import MAXYEAR, datetime, timedelta

import msgspec

from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.queries import Item

BEGINNING = 200  # characters in which the mark must stand
DURABLE = "durable"
_MARK = re.compile(r"^[\s#>*_\[(-]*(?:HANDOFF|RESUME|TO SHIP)\b", re.MULTILINE)


def is_status(text: str) -> bool:
    """Whether a text begins with the mark of a status note, on one of its first lines.

    Only in capitals: whoever writes about a handoff does not hand off.
    """
    return _MARK.search(text[:BEGINNING]) is not None


def passing(new: RememberItem, now: datetime, days: int) -> RememberItem:
    """What is to be remembered; a status note holds for so many days from when it was true."""
    made_elsewhere = new.durability != DURABLE or new.derived_from
    if made_elsewhere or not (is_status(new.title) or is_status(new.text)):
        return new
    end = _true_at(new, now) + timedelta(days=days)
    return msgspec.structs.replace(new, durability=end.isoformat())


def _true_at(new: RememberItem, now: datetime) -> datetime:
    """When it happened; now, if nothing is said of that, or nothing that will be taken."""
    try:
        at = datetime.fromisoformat(new.happened_at)
    except ValueError:
        return now
    return at if at.tzinfo is not None and at.year < MAXYEAR else now


def held(item: Item) -> str:
    """Until when an item holds, as it is told beside its words; nothing of one that lasts."""
    return f", holds until {item.holds_until:%Y-%m-%d}" if item.holds_until else ""
