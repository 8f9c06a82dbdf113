"""Idempotency of memory requests: which recorded facts show that one was already carried out.

See `everloop.log.idempotency`.
"""

import msgspec

from everloop.log import Context
from everloop.log.idempotency import (
    IdempotencyRule,
    IdempotencyRules,
    prefixed_request_id,
    request_id_conflict,
)
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
from everloop.memory.service import MemoryService, RememberResult

MEMORY_TRACES: IdempotencyRules = {
    ReviseItem: IdempotencyRule(
        "revise", (Revised,), ("item_id", "title", "text", "scope", "witnesses")
    ),
    RateItem: IdempotencyRule("rate", (Rated,), ("item_id", "significance")),
    PinItem: IdempotencyRule("pin", (Pinned,), ("item_id",)),
    UnpinItem: IdempotencyRule("pin", (Unpinned,), ("item_id",)),
    RetireItem: IdempotencyRule("retire", (Retired,), ("item_id", "reason")),
}
_REMEMBERED = IdempotencyRule("keep", (Remembered,), ("text", "scope"))
_REPEATED = IdempotencyRule("keep", (Repeated,), ("text",))


def remember_once(
    keeper: MemoryService, new: RememberItem, *, by: Context, request_id: str
) -> RememberResult:
    """Remember an item once per request id, even if two processes handle the request at once.

    The id of the item is derived from the request id, so both would write the same stream.

    Raises:
        Conflict: this request id was used before, for something else.
    """
    identified = msgspec.structs.replace(new, item_id=f"mem-{request_id}")
    name = prefixed_request_id(_REMEMBERED.word, request_id)
    assert name is not None
    result = keeper.remember(identified, by=by, request_id=name)
    with keeper.log.reading() as reader:
        recorded = [fact_of(record) for record in reader.records_of_request(name)][:1]
    for fact in recorded:
        same = _REMEMBERED.matches(fact.event, new) or _REPEATED.matches(fact.event, new)
        if fact.actor != by.actor or not same:
            raise request_id_conflict(request_id)
    return result
