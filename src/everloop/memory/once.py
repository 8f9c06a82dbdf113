"""Asking twice is asking once: what a request led to when it was made before.

A phone that loses its network does not know whether it was heard, and asks again. With the same
request id nothing happens a second time, and the answer is that of the first; the same id for
something else is refused.
"""

from collections.abc import Callable

import msgspec

from everloop.errors import Conflict
from everloop.log import Command, Context, Event, Receipt
from everloop.log.record import fact_of
from everloop.memory.commands import (
    PinItem,
    RateItem,
    RememberItem,
    RetireItem,
    ReviseItem,
    UnpinItem,
)
from everloop.memory.events import Pinned, Rated, Remembered, Repeated, Retired, Revised, Unpinned
from everloop.memory.keeper import Keeper, Kept

Do = Callable[..., Receipt]


def remember_once(keeper: Keeper, new: RememberItem, *, by: Context, request_id: str) -> Kept:
    """As `Keeper.remember`. The item is called by the request: two processes at once make one.

    Raises:
        Conflict: this request was made before, for something else.
    """
    called = msgspec.structs.replace(new, item_id=f"mem-{request_id}")
    name = _named(new, request_id)
    kept = keeper.remember(called, by=by, request_id=name)
    with keeper.log.reading() as reader:
        told = [fact_of(record) for record in reader.requested(name)][:1]
    if any(fact.actor != by.actor or not _is_of(fact.event, new) for fact in told):
        raise other_request(request_id)
    return kept


def do_once(do: Do, command: Command, *, by: Context, request_id: str) -> Receipt:
    """Carry out a command about an item, or give what the same request led to before.

    Without a `request_id` it is a request of its own.

    Raises:
        Conflict: this request was made before, for something else.
    """
    if not request_id:
        return do(command, by=by)
    receipt = do(command, by=by, request_id=_named(command, request_id))
    if receipt.repeated and not any(_is_of(fact.event, command) for fact in receipt.facts):
        raise other_request(request_id)
    return receipt


def other_request(request_id: str) -> Conflict:
    """That a request id stands for something else."""
    return Conflict(
        f"request {request_id!r} was made before, for something else",
        hint="Use a new request id for a new request.",
    )


def _named(command: Command, request_id: str) -> str:
    """A request id as the log has it: one call may lead to several appends."""
    return f"{_VERBS[type(command)]}-{request_id}"


def _is_of(event: Event, command: Command) -> bool:
    """Whether this is what the command asks for."""
    match event, command:
        case (Remembered() | Repeated()) as told, RememberItem() as asked:
            there = isinstance(told, Repeated) or told.scope == asked.scope
            return there and told.text == asked.text
        case Revised() as told, ReviseItem() as asked:
            title = (asked.title or "").strip() or told.title  # without one, the text gives it
            given = (asked.text, asked.scope, asked.witnesses)
            said = (told.text, told.scope, told.witnesses)
            same = (wanted in (None, now) for wanted, now in zip(given, said, strict=True))
            return title == told.title and all(same)
        case Rated() as told, RateItem() as asked:
            return told.significance == asked.significance
        case Retired() as told, RetireItem() as asked:
            return told.reason == asked.reason
        case (Pinned(), PinItem()) | (Unpinned(), UnpinItem()):
            return True
        case _:
            return False


_VERBS: dict[type[Command], str] = {
    RememberItem: "keep",
    ReviseItem: "revise",
    RateItem: "rate",
    PinItem: "pin",
    UnpinItem: "pin",  # one word for both: a request asks for one of them
    RetireItem: "retire",
}
