"""Events of telephone calls: announced, connected, let in by PIN, placed, ended.

No event has audio, the PIN or the token of a connection: of the token, only its digest.
"""

from everloop.log import Event, event


@event("voice.call_announced")
class CallAnnounced(Event, frozen=True):
    """The telephone service announced a call from or to a number that is allowed.

    One connection with the token of this digest may carry it, until `expires_us`. `direction` is
    incoming or outgoing, `call_sid` the service's name of the call.
    """

    call_id: str
    call_sid: str
    number: str
    direction: str
    token_digest: str
    expires_us: int


@event("voice.call_refused")
class CallRefused(Event, frozen=True):
    """A call was not taken, and why."""

    call_id: str
    call_sid: str
    number: str
    reason: str


@event("voice.call_connected")
class CallConnected(Event, frozen=True):
    """The connection of a call was opened. Its token is used up."""

    call_id: str


@event("voice.pin_accepted")
class PinAccepted(Event, frozen=True):
    """The caller entered the right PIN: from here on, they speak as the user."""

    call_id: str


@event("voice.pin_refused")
class PinRefused(Event, frozen=True):
    """A PIN was not accepted: `reason` is wrong, or locked after too many wrong ones."""

    call_id: str
    reason: str


@event("voice.call_ended")
class CallEnded(Event, frozen=True):
    """A call ended, and why: the word of the telephone service, or ours."""

    call_id: str
    reason: str


@event("voice.callback_requested")
class CallbackRequested(Event, frozen=True):
    """The user wants to be called when something is done, such as `task:tsk-1`."""

    subject: str


@event("voice.callback_settled")
class CallbackSettled(Event, frozen=True):
    """The call that was asked for was begun, or is no longer wanted."""

    subject: str


@event("voice.call_begun")
class CallBegun(Event, frozen=True):
    """An outgoing call about a request of the inbox is about to be placed.

    Only the event that follows tells whether it was. Without one, nobody knows.
    """

    call_id: str
    request_id: str
    number: str
    attempt: int


@event("voice.call_placed")
class CallPlaced(Event, frozen=True):
    """The telephone service took an outgoing call."""

    call_id: str
    call_sid: str


@event("voice.call_failed")
class CallFailed(Event, frozen=True):
    """An outgoing call was certainly not placed. `status` 0: nothing was sent to the service."""

    call_id: str
    status: int
    reason: str


@event("voice.call_left_uncertain")
class CallLeftUncertain(Event, frozen=True):
    """Whether an outgoing call was placed is not known. It is never placed again."""

    call_id: str
    reason: str


VoiceEvent = (
    CallAnnounced
    | CallRefused
    | CallConnected
    | PinAccepted
    | PinRefused
    | CallEnded
    | CallbackRequested
    | CallbackSettled
    | CallBegun
    | CallPlaced
    | CallFailed
    | CallLeftUncertain
)
