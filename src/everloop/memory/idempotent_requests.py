"""What is asked of memory and may be asked again: see `everloop.log.idempotency`."""

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
_KEPT = Trace("keep", (Remembered,), ("text", "scope"))
_KNOWN = Trace("keep", (Repeated,), ("text",))


def remember_once(keeper: Keeper, new: RememberItem, *, by: Context, request_id: str) -> Kept:
    """As `Keeper.remember`. The item is called by the request: two processes at once make one.

    Raises:
        Conflict: this request was made before, for something else.
    """
    called = msgspec.structs.replace(new, item_id=f"mem-{request_id}")
    name = request_name(_KEPT.word, request_id)
    assert name is not None
    kept = keeper.remember(called, by=by, request_id=name)
    with keeper.log.reading() as reader:
        told = [fact_of(record) for record in reader.requested(name)][:1]
    for fact in told:
        same = _KEPT.tells(fact.event, new) or _KNOWN.tells(fact.event, new)
        if fact.actor != by.actor or not same:
            raise other_request(request_id)
    return kept
