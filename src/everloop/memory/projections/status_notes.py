"""Status notes expire: they are true when written and soon outdated.

A note that begins with HANDOFF, RESUME or TO SHIP reports the state of some work. Stored as a
lasting fact, it would turn up as one much later. So it is valid for some days only, unless its
author sets an expiry or says that it lasts; wherever it is shown, its expiry is shown too.
"""

import re
from datetime import MAXYEAR, datetime, timedelta

import msgspec

from everloop.memory.model.commands import RememberItem
from everloop.memory.projections.queries import Item

MARK_WITHIN_CHARACTERS = 200  # characters within which the mark must occur
DURABLE = "durable"
_MARK = re.compile(r"^[\s#>*_\[(-]*(?:HANDOFF|RESUME|TO SHIP)\b", re.MULTILINE)


def is_status_note(text: str) -> bool:
    """Whether a text begins with the mark of a status note, on one of its first lines.

    Only capitals count: a text about a handoff is not a handoff.
    """
    return _MARK.search(text[:MARK_WITHIN_CHARACTERS]) is not None


def expire_status_note(new: RememberItem, now: datetime, days: int) -> RememberItem:
    """Let a status note without an expiry expire `days` after it was true; keep other items."""
    exempt = new.durability != DURABLE or new.derived_from
    if exempt or not (is_status_note(new.title) or is_status_note(new.text)):
        return new
    end = _true_at(new, now) + timedelta(days=days)
    return msgspec.structs.replace(new, durability=end.isoformat())


def _true_at(new: RememberItem, now: datetime) -> datetime:
    """When it happened; now, if `happened_at` is empty or invalid."""
    try:
        at = datetime.fromisoformat(new.happened_at)
    except ValueError:
        return now
    return at if at.tzinfo is not None and at.year < MAXYEAR else now


def format_expiry(item: Item) -> str:
    """The expiry of an item as a suffix to its text; empty for an item that lasts."""
    return f", holds until {item.holds_until:%Y-%m-%d}" if item.holds_until else ""
