"""Commands of telephone calls. Only the engine gives them, except for asking to be called."""

from everloop.log import Command


class AnnounceCall(Command, frozen=True):
    """Take a call that the telephone service announced, or refuse it."""

    call_id: str
    call_sid: str
    number: str
    direction: str
    token_digest: str


class ConnectCall(Command, frozen=True):
    """Use the token of a call, to open its connection."""

    call_id: str
    token_digest: str


class EnterPin(Command, frozen=True):
    """Enter a PIN. The digits themselves stay outside: `correct` says whether they were right."""

    call_id: str
    correct: bool


class EndCall(Command, frozen=True):
    """Record that a call ended."""

    call_id: str
    reason: str


class RequestCallback(Command, frozen=True):
    """Ask to be called when something is done."""

    subject: str


class SettleCallback(Command, frozen=True):
    """Record that the call that was asked for was begun, or is no longer wanted."""

    subject: str


class BeginCall(Command, frozen=True):
    """Claim the one outgoing call about a request of the inbox."""

    call_id: str
    request_id: str
    number: str
    because: tuple[int, ...] = ()


class RecordPlacedCall(Command, frozen=True):
    """Record that the telephone service took a call."""

    call_id: str
    call_sid: str


class FailCall(Command, frozen=True):
    """Record that a call was certainly not placed."""

    call_id: str
    status: int
    reason: str


class LeaveCallUncertain(Command, frozen=True):
    """Record that nobody knows whether a call was placed."""

    call_id: str
    reason: str
