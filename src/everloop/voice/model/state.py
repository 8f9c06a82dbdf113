"""State of one call, of the PIN guard, and of the calls that were asked for."""

from typing import Any

import msgspec

from everloop.errors import Corrupt
from everloop.log import Fact, Fold
from everloop.voice.model.events import (
    CallAnnounced,
    CallbackRequested,
    CallbackSettled,
    CallBegun,
    CallConnected,
    CallEnded,
    CallFailed,
    CallLeftUncertain,
    CallPlaced,
    CallRefused,
    PinAccepted,
    PinRefused,
)

BEGUN, PLACED, FAILED, UNCERTAIN = "begun", "placed", "failed", "uncertain"
ANNOUNCED, CONNECTED, ENDED, REFUSED = "announced", "connected", "ended", "refused"
INCOMING, OUTGOING = "incoming", "outgoing"
FAILURES_KEPT = 100


class Call(msgspec.Struct, frozen=True):
    """A call. `since_us` is when its status began, `status_code` that of a failure."""

    call_id: str
    status: str
    since_us: int
    position: int
    number: str = ""
    request_id: str = ""
    attempt: int = 0
    status_code: int = 0
    call_sid: str = ""
    token_digest: str = ""
    expires_us: int = 0


def evolve(known: Call | None, fact: Fact) -> Call:
    """The call after a fact."""
    at, event = fact.recorded_us, fact.event
    match event:
        case CallBegun(call_id=call_id, request_id=request_id, number=number, attempt=attempt):
            return Call(call_id, BEGUN, at, fact.position, number, request_id, attempt)
        case CallRefused(call_id=call_id, number=number):
            refused = known or Call(call_id, REFUSED, at, fact.position, number)
            return msgspec.structs.replace(refused, status=REFUSED, since_us=at)
        case CallAnnounced() as new:
            before = known or Call(new.call_id, ANNOUNCED, at, fact.position, new.number)
            return msgspec.structs.replace(
                before,
                status=ANNOUNCED,
                since_us=at,
                call_sid=new.call_sid,
                token_digest=new.token_digest,
                expires_us=new.expires_us,
            )
        case _:
            if known is None:
                raise Corrupt(f"{event.wire} came before the call began")
            changes = _changes(known, fact)
            return msgspec.structs.replace(known, since_us=at, **changes) if changes else known


def _changes(known: Call, fact: Fact) -> dict[str, Any]:
    match fact.event:
        case CallConnected() | CallEnded() as new:
            return {"status": CONNECTED if isinstance(new, CallConnected) else ENDED}
        case CallPlaced(call_sid=call_sid) if known.status not in (BEGUN, UNCERTAIN):  # answered
            return {"call_sid": known.call_sid or call_sid}
        case CallPlaced(call_sid=call_sid):
            return {"status": PLACED, "call_sid": call_sid}
        case CallFailed(status=status):
            return {"status": FAILED, "status_code": status}
        case CallLeftUncertain():
            return {"status": UNCERTAIN}
        case _:
            return {}


def call_stream(call_id: str) -> str:
    """The stream of a call."""
    return f"call:{call_id}"


CALL = Fold("voice.call", Call, evolve)


class PinGuard(msgspec.Struct, frozen=True):
    """The wrong PINs since the last right one: in which call, and when."""

    failures: tuple[tuple[str, int], ...] = ()


def evolve_pin_guard(known: PinGuard | None, fact: Fact) -> PinGuard:
    """The guard after a fact. A right PIN clears it; an entry while locked does not count."""
    guard = known or PinGuard()
    match fact.event:
        case PinAccepted():
            return PinGuard()
        case PinRefused(call_id=call_id, reason="wrong"):
            failures = (*guard.failures, (call_id, fact.recorded_us))
            return PinGuard(failures[-FAILURES_KEPT:])
        case _:
            return guard


PIN_STREAM = "voice_pin"
PIN_GUARD = Fold("voice.pin_guard", PinGuard, evolve_pin_guard)


class Callbacks(msgspec.Struct, frozen=True):
    """What the user wants to be called about, and the position where they said so."""

    wanted: dict[str, int] = {}


def evolve_callbacks(known: Callbacks | None, fact: Fact) -> Callbacks:
    """The wanted calls after a fact."""
    wanted = known.wanted if known else {}
    match fact.event:
        case CallbackRequested(subject=subject):
            return Callbacks({**wanted, subject: fact.position})
        case CallbackSettled(subject=subject):
            return Callbacks({key: at for key, at in wanted.items() if key != subject})
        case _:
            return Callbacks(wanted)


CALLBACK_STREAM = "voice_callbacks"
CALLBACKS = Fold("voice.callbacks", Callbacks, evolve_callbacks)
