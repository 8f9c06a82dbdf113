"""State of one request, for its decisions."""

import msgspec

from everloop.errors import Corrupt
from everloop.inbox.model.events import (
    RequestAnswered,
    RequestExpired,
    RequestRaised,
    RequestRead,
    RequestSnoozed,
    RequestWithdrawn,
)
from everloop.log import Fact, Fold


class Closing(msgspec.Struct, frozen=True):
    """How a request was closed: the receipt that everybody who comes later is shown."""

    outcome: str  # answered, expired or withdrawn
    choice: str
    actor: str
    device: str
    at_us: int
    position: int


class InboxRequest(msgspec.Struct, frozen=True):
    """A request, and its closing if it was closed."""

    raised: RequestRaised
    position: int
    closing: Closing | None = None
    snoozed_until_us: int = 0
    read: bool = False


def evolve(known: InboxRequest | None, fact: Fact) -> InboxRequest:
    """The request after a fact."""
    if isinstance(fact.event, RequestRaised):
        return InboxRequest(fact.event, fact.position)
    if known is None:
        raise Corrupt(f"{fact.event.wire} came before inbox.request_raised")
    return msgspec.structs.replace(known, **_changes(fact))


def _changes(fact: Fact) -> dict[str, object]:
    match fact.event:
        case RequestAnswered(choice=choice, device=device):
            return {"closing": _closing(fact, "answered", choice, device), "read": True}
        case RequestExpired(choice=choice):
            return {"closing": _closing(fact, "expired", choice)}
        case RequestWithdrawn():
            return {"closing": _closing(fact, "withdrawn", "")}
        case RequestSnoozed(until_us=until_us):
            return {"snoozed_until_us": until_us, "read": True}
        case RequestRead():
            return {"read": True}
        case _:
            return {}


def _closing(fact: Fact, outcome: str, choice: str, device: str = "") -> Closing:
    return Closing(outcome, choice, fact.actor, device, fact.recorded_us, fact.position)


def request_stream(request_id: str) -> str:
    """The stream of a request."""
    return f"inbox:{request_id}"


REQUEST = Fold("inbox.request", InboxRequest, evolve)
