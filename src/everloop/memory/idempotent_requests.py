"""Idempotency of memory requests: which recorded facts show that one was already carried out.

See `everloop.log.idempotency`.
"""

import msgspec

from everloop.log import Context
from everloop.log.idempotency import Trace, Traces, other_request, request_name
from everloop.log.model.record import fact_of
from everloop.memory.model.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.model.events import (
    Pinned,
    Rated,
    Remembered,
    Repeated,
    Retired,
    Revised,
    Unpinned,
)
from everloop.memory.service import Keeper, Kept

MEMORY_TRACES: Traces = {
    ReviseItem: Trace("revise", (Revised,), ("item_id", "title", "text", "scope", "witnesses")),
    RateItem: Trace("rate", (Rated,), ("item_id", "significance")),
    PinItem: Trace("pin", (Pinned,), ("item_id",)),
    UnpinItem: Trace("pin", (Unpinned,), ("item_id",)),
    RetireItem: Trace("retire", (Retired,), ("item_id", "reason")),
}
_REMEMBERED = Trace("keep", (Remembered,), ("text", "scope"))
_REPEATED = Trace("keep", (Repeated,), ("text",))


def remember_once(keeper: Keeper, new: RememberItem, *, by: Context, request_id: str) -> Kept:
    """Remember an item once per request id, even if two processes handle the request at once.

    The id of the item is derived from the request id, so both would write the same stream.

    Raises:
        Conflict: this request id was used before, for something else.
    """
    identified = msgspec.structs.replace(new, item_id=f"mem-{request_id}")
    name = request_name(_REMEMBERED.word, request_id)
    assert name is not None
    result = keeper.remember(identified, by=by, request_id=name)
    with keeper.log.reading() as reader:
        recorded = [fact_of(record) for record in reader.requested(name)][:1]
    for fact in recorded:
        same = _REMEMBERED.tells(fact.event, new) or _REPEATED.tells(fact.event, new)
        if fact.actor != by.actor or not same:
            raise other_request(request_id)
    return result
