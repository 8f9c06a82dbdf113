"""Voice service: takes calls, checks the PIN, and places one call about a request of the inbox.

The PIN and the token of a connection never reach the log: of the token, its digest does.
"""

import base64
import hashlib
import hmac
from datetime import timedelta
from urllib.parse import urlencode

import msgspec

from everloop.inbox import RequestView
from everloop.log import CommandBus, Context, Log
from everloop.ports import SystemPorts
from everloop.voice.domain import call_rules
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
from everloop.voice.model.decide import can_be_tried_again
from everloop.voice.model.events import CallAnnounced, CallConnected, PinAccepted, PinRefused
from everloop.voice.model.state import (
    CALL,
    CALLBACK_STREAM,
    CALLBACKS,
    INCOMING,
    OUTGOING,
    Call,
    call_stream,
)
from everloop.voice.ports import PlacedCall, Telephone
from everloop.voice.queries import CallView, newest_calls, open_calls, unsettled_calls
from everloop.voice.settings import VoiceSettings

ENGINE = Context(actor="engine")
TOKEN_BYTES = 32
ANSWER_PATH = "/voice/call"
STATUS_PATH = "/voice/status"
ABANDONED = "Everloop ended during the call."
INTERRUPTED = "Everloop ended before it knew whether the call was placed."


class AnnouncedCall(msgspec.Struct, frozen=True):
    """A call that was taken, and the token by which its one connection is opened."""

    call_id: str
    token: str


class VoiceService:
    """Calls of one log."""

    def __init__(
        self,
        log: Log,
        bus: CommandBus,
        ports: SystemPorts,
        settings: VoiceSettings,
        telephone: Telephone,
    ) -> None:
        self._log, self._bus, self._ports = log, bus, ports
        self._settings, self._telephone = settings, telephone
        self._rules = call_rules(settings)

    # -- taking calls ------------------------------------------------------------------------------

    def announce(
        self, call_sid: str, number: str, outgoing_call_id: str = ""
    ) -> AnnouncedCall | None:
        """Take a call that the service announced; None if its number is not allowed.

        Raises:
            Conflict: it was announced before, or an outgoing call was never begun.
        """
        call_id = outgoing_call_id or f"cal-{call_sid}"
        token = (
            base64.urlsafe_b64encode(self._ports.entropy.draw(TOKEN_BYTES)).rstrip(b"=").decode()
        )
        direction = OUTGOING if outgoing_call_id else INCOMING
        command = AnnounceCall(call_id, call_sid, number, direction, _digest(token))
        facts = self._bus.do(command, by=ENGINE).facts
        if not any(isinstance(fact.event, CallAnnounced) for fact in facts):
            return None
        return AnnouncedCall(call_id, token)

    def connect(self, call_id: str, token: str) -> Call:
        """Open the connection of a call with its token.

        Raises:
            Forbidden: the token is unknown, used or expired.
        """
        receipt = self._bus.do(ConnectCall(call_id, _digest(token)), by=ENGINE)
        assert isinstance(receipt.facts[-1].event, CallConnected), "or it was refused"
        call = self.find(call_id)
        assert call is not None, "it was connected just now"
        return call

    def enter_pin(self, call_id: str, digits: str) -> str:
        """Check a PIN and return accepted, wrong or locked. The digits are not recorded."""
        mine, theirs = _digest(self._settings.pin_key), _digest(digits)
        correct = bool(self._settings.pin_key) and hmac.compare_digest(mine, theirs)
        event = self._bus.do(EnterPin(call_id, correct), by=ENGINE).facts[-1].event
        if isinstance(event, PinAccepted):
            return "accepted"
        assert isinstance(event, PinRefused), "a PIN is accepted or refused"
        return event.reason

    def end(self, call_id: str, reason: str) -> None:
        """Record that a call ended. Idempotent."""
        self._bus.do(EndCall(call_id, reason), by=ENGINE)

    def find(self, call_id: str) -> Call | None:
        """A call as it stands; None if there is no such call."""
        return self._log.state(CALL, call_stream(call_id))

    def newest(self, limit: int = 20) -> list[CallView]:
        """The newest calls."""
        with self._log.reading() as reader:
            return newest_calls(reader, limit)

    # -- placing calls -----------------------------------------------------------------------------

    def request_callback(self, subject: str, by: Context) -> None:
        """Ask to be called when something is done."""
        self._bus.do(RequestCallback(subject), by=by)

    def cancel_callback(self, subject: str, by: Context) -> None:
        """No longer ask to be called about something."""
        self._bus.do(SettleCallback(subject), by=by)

    def callbacks(self) -> dict[str, int]:
        """What the user wants to be called about, and the position where they said so."""
        known = self._log.state(CALLBACKS, CALLBACK_STREAM)
        return known.wanted if known else {}

    def call_about(self, request: RequestView) -> Call:
        """Place the one call about a request, unless it was placed or may have been."""
        call_id = f"out-{request.request_id}"
        number = self._settings.called_number
        command = BeginCall(call_id, request.request_id, number, (request.position,))
        if self._bus.do(command, by=ENGINE).facts:
            self._record(call_id, self._place(call_id, number))
        call = self.find(call_id)
        assert call is not None, "it was begun now or before"
        return call

    def can_be_tried_again(self, call: Call) -> bool:
        """Whether a call was certainly not placed, and has an attempt left."""
        return can_be_tried_again(self._rules, call)

    def settle_interrupted(self) -> int:
        """Leave calls uncertain that an earlier process had begun; returns how many there were."""
        with self._log.reading() as reader:
            found = unsettled_calls(reader)
        for call_id in found:
            self._bus.do(LeaveCallUncertain(call_id, INTERRUPTED), by=ENGINE)
        return len(found)

    def end_abandoned(self) -> int:
        """End calls that must be over by now and whose process died; returns how many there were.

        A process ends each of its calls itself after `voice.call_s_max`.
        """
        longest_s = self._settings.call_s_max + self._settings.token_lives_s
        before = self._ports.clock.now() - timedelta(seconds=longest_s)
        with self._log.reading() as reader:
            found = open_calls(reader, before)
        for call_id in found:
            self.end(call_id, ABANDONED)
        return len(found)

    def _place(self, call_id: str, number: str) -> PlacedCall:
        base = self._settings.public_url.rstrip("/")
        asked = urlencode({"id": call_id})
        answer, status = (f"{base}{path}?{asked}" for path in (ANSWER_PATH, STATUS_PATH))
        return self._telephone.place(number, answer, status)

    def _record(self, call_id: str, went: PlacedCall) -> None:
        match went.outcome:
            case "placed":
                self._bus.do(RecordPlacedCall(call_id, went.call_sid), by=ENGINE)
            case "failed":
                self._bus.do(FailCall(call_id, went.status, went.reason), by=ENGINE)
            case _:
                self._bus.do(LeaveCallUncertain(call_id, went.reason), by=ENGINE)


def _digest(secret: str) -> str:
    return hashlib.sha256(secret.encode()).hexdigest()
