"""Decisions about telephone calls: pure functions of one call, or of the PIN guard.

A number on the allow list lets nobody in: caller ids can be forged. It only decides who may enter
the PIN at all. Wrong PINs count over all calls and numbers, for the same reason.
"""

import msgspec

from everloop.errors import Conflict, Forbidden, Invalid
from everloop.log import DecisionContext, Draft, Event
from everloop.log.model.record import to_microseconds
from everloop.voice.model.commands import (
    AnnounceCall,
    BeginCall,
    ConnectCall,
    EndCall,
    EnterPin,
    FailCall,
    LeaveCallUncertain,
    RecordPlacedCall,
    RequestCallback,
    SettleCallback,
)
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
from everloop.voice.model.state import (
    ANNOUNCED,
    BEGUN,
    CONNECTED,
    ENDED,
    FAILED,
    INCOMING,
    OUTGOING,
    PLACED,
    REFUSED,
    UNCERTAIN,
    Call,
    Callbacks,
    PinGuard,
)

ENGINE = "engine"
OWNER = "user"
NOT_ALLOWED = "the number is not on the allow list"
DETAIL_MAX = 300
SUBJECT_MAX = 200
CALLBACKS_MAX = 100
PAUSE_FIRST_S = 5
TRIED_AGAIN = (0, 429)  # statuses by which a call was certainly not placed and may be later


class CallRules(msgspec.Struct, frozen=True):
    """The rules that the settings decide."""

    callers: tuple[str, ...] = ()
    token_lives_s: int = 60
    pin_tries_max: int = 3
    pin_failures_max: int = 5
    pin_lock_s: int = 3_600
    attempts_max: int = 3


def announce_call(
    rules: CallRules, known: Call | None, command: AnnounceCall, asking: DecisionContext
) -> list[Event]:
    """Take an announced call, if its number is allowed. A second announcement is refused."""
    _check_engine(asking)
    expected = (BEGUN, PLACED, UNCERTAIN) if command.direction == OUTGOING else (None,)
    if (known.status if known else None) not in expected:
        raise Conflict(
            f"call {command.call_id!r} was announced before, or was never begun",
            hint="Call again.",
        )
    number_changed = known is not None and known.number != command.number
    if command.number not in rules.callers or number_changed:
        refused = CallRefused(command.call_id, command.call_sid, command.number, NOT_ALLOWED)
        return [refused]
    expires_us = to_microseconds(asking.now) + rules.token_lives_s * 1_000_000
    announced = CallAnnounced(
        command.call_id,
        command.call_sid,
        command.number,
        command.direction if command.direction == OUTGOING else INCOMING,
        command.token_digest,
        expires_us,
    )
    return [announced]


def connect_call(
    known: Call | None, command: ConnectCall, asking: DecisionContext
) -> list[CallConnected]:
    """Open the connection of a call, once, with its token, in time."""
    _check_engine(asking)
    if (
        known is None
        or known.status != ANNOUNCED
        or known.token_digest != command.token_digest
        or known.expires_us <= to_microseconds(asking.now)
    ):
        raise Forbidden("the token is unknown, used or expired", hint="Call again.")
    return [CallConnected(command.call_id)]


def enter_pin(
    rules: CallRules, known: PinGuard | None, command: EnterPin, asking: DecisionContext
) -> list[Event]:
    """Accept a right PIN, unless there were too many wrong ones lately."""
    _check_engine(asking)
    failures = known.failures if known else ()
    since_us = to_microseconds(asking.now) - rules.pin_lock_s * 1_000_000
    recent = [call_id for call_id, at_us in failures if at_us > since_us]
    here = sum(call_id == command.call_id for call_id, _ in failures)
    if len(recent) >= rules.pin_failures_max or here >= rules.pin_tries_max:
        return [PinRefused(command.call_id, "locked")]
    if not command.correct:
        return [PinRefused(command.call_id, "wrong")]
    return [PinAccepted(command.call_id)]


def end_call(known: Call | None, command: EndCall, asking: DecisionContext) -> list[Event]:
    """Record the end of a call. Idempotent."""
    _check_engine(asking)
    if known is None or known.status in (ENDED, REFUSED, FAILED):
        return []
    return [CallEnded(command.call_id, command.reason[:DETAIL_MAX])]


def request_callback(
    known: Callbacks | None, command: RequestCallback, asking: DecisionContext
) -> list[Event]:
    """Note what the user wants to be called about."""
    _check_owner(asking)
    wanted = known.wanted if known else {}
    if not command.subject.strip() or len(command.subject) > SUBJECT_MAX:
        raise Invalid("that is not a subject", hint="Name a task: `task:ID`.")
    if command.subject in wanted:
        return []
    if len(wanted) >= CALLBACKS_MAX:
        raise Invalid("too many calls are wanted", hint="Cancel one of them first.")
    return [CallbackRequested(command.subject)]


def settle_callback(
    known: Callbacks | None, command: SettleCallback, asking: DecisionContext
) -> list[Event]:
    """Note that a call is no longer wanted. Idempotent."""
    if asking.by.actor != ENGINE:
        _check_owner(asking)
    wanted = known.wanted if known else {}
    return [CallbackSettled(command.subject)] if command.subject in wanted else []


def begin_call(
    rules: CallRules, known: Call | None, command: BeginCall, asking: DecisionContext
) -> list[Draft]:
    """Claim an outgoing call: the first one, or the next after one that was never placed."""
    _check_engine(asking)
    if known is not None and not may_try_again(rules, known, to_microseconds(asking.now)):
        return []
    attempt = known.attempt + 1 if known else 1
    begun = CallBegun(command.call_id, command.request_id, command.number, attempt)
    return [Draft(begun, command.because)]


def may_try_again(rules: CallRules, call: Call, now_us: int) -> bool:
    """Whether a call was certainly not placed, and its next attempt is due."""
    if not can_be_tried_again(rules, call):
        return False
    return now_us >= call.since_us + (PAUSE_FIRST_S << (call.attempt - 1)) * 1_000_000


def can_be_tried_again(rules: CallRules, call: Call) -> bool:
    """Whether a call was certainly not placed, and has an attempt left."""
    failed = call.status == FAILED and call.status_code in TRIED_AGAIN
    return failed and call.attempt < rules.attempts_max


def record_placed_call(
    known: Call | None, command: RecordPlacedCall, asking: DecisionContext
) -> list[Event]:
    """Record that the service took a call; it may have been answered already."""
    _check_engine(asking)
    if known is None or known.status not in (BEGUN, UNCERTAIN, ANNOUNCED, CONNECTED, ENDED):
        return []
    return [CallPlaced(command.call_id, command.call_sid)]


def fail_call(known: Call | None, command: FailCall, asking: DecisionContext) -> list[Event]:
    """Record that a call was not placed. One that was announced since, was placed."""
    _check_engine(asking)
    if known is None or known.status != BEGUN:
        return []
    return [CallFailed(command.call_id, command.status, command.reason[:DETAIL_MAX])]


def leave_call_uncertain(
    known: Call | None, command: LeaveCallUncertain, asking: DecisionContext
) -> list[Event]:
    """Record that it is not known whether a call was placed."""
    _check_engine(asking)
    if known is None or known.status != BEGUN:
        return []
    return [CallLeftUncertain(command.call_id, command.reason[:DETAIL_MAX])]


def _check_engine(asking: DecisionContext) -> None:
    if asking.by.actor != ENGINE:
        raise Forbidden("only the engine records calls", hint="Use the telephone.")


def _check_owner(asking: DecisionContext) -> None:
    if asking.by.actor != OWNER:
        raise Forbidden("only the user decides when to be called", hint="Ask the user.")
