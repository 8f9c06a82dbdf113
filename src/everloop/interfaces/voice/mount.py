"""The telephone as an ASGI application, mounted in the HTTP server under `/voice`.

Twilio has no device: each request proves itself by its signature, and a WebSocket also by the token
that the signed webhook of its call was given. Without a whole configuration nothing is mounted.
"""

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, MutableMapping, Sequence
from contextlib import asynccontextmanager
from typing import Any
from urllib.parse import parse_qs, parse_qsl

from everloop.adapters import SignatureCheck, socket_url
from everloop.errors import EverloopError, Rejected
from everloop.interfaces.voice.call_session import CallSession
from everloop.interfaces.voice.twiml import CALLING, GREETING, connect_relay, reject
from everloop.services import Services
from everloop.voice import ANSWER_PATH, STATUS_PATH, Call, configuration_problems

PATH = "/voice"
RELAY_PATH = "/voice/relay/"
CALL_SID_MAX = 64
FORM_FIELDS_MAX = 100
POLICY_VIOLATION = 1008
XML = b"text/xml; charset=utf-8"

Scope = MutableMapping[str, Any]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]


class VoiceMount:
    """Serves Twilio's webhooks and WebSockets for one engine."""

    path = PATH
    signed = True

    def __init__(self, running: Services) -> None:
        self._running = running
        self._settings = running.settings.voice
        self._check = SignatureCheck(self._settings)
        self._calls = 0

    @classmethod
    def from_settings(cls, running: Services, _: Sequence[str]) -> "VoiceMount | None":
        """The telephone, or None if it is not configured; `everloop doctor` says why."""
        settings = running.settings
        if configuration_problems(settings.voice, settings.serve.host_names):
            return None
        return cls(running)

    @asynccontextmanager
    async def lifespan(self) -> AsyncGenerator[None]:
        """Nothing to open: a call ends with its connection."""
        yield

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Handle a webhook, or the WebSocket of a call."""
        if scope["type"] == "websocket":
            await self._socket(scope, receive, send)
            return
        form = _form(await _body(receive))
        genuine = self._check.accepts_webhook(_target(scope), form, _headers(scope))
        if scope["method"] != "POST" or not genuine:
            await _respond(send, 403, b"text/plain", b"the signature is not Twilio's\n")
            return
        handle = {ANSWER_PATH: self._answer, STATUS_PATH: self._end}.get(scope["path"])
        if handle is None:
            await _respond(send, 404, b"text/plain", b"there is nothing here\n")
            return
        text = await asyncio.to_thread(handle, _outgoing_id(scope), form)
        await _respond(send, 200, XML, text.encode())

    # -- webhooks ----------------------------------------------------------------------------------

    def _answer(self, outgoing_id: str, form: dict[str, str]) -> str:
        """Take a call, or refuse it; the answer is TwiML."""
        call_sid, number = form.get("CallSid", ""), form.get("To" if outgoing_id else "From", "")
        if not 0 < len(call_sid) <= CALL_SID_MAX or self._calls >= self._settings.calls_max:
            return reject()
        try:
            taken = self._running.voice.announce(call_sid, number, outgoing_id)
        except Rejected:  # it was announced before: a replay
            return reject()
        if taken is None:
            return reject()
        url = socket_url(self._settings, f"{RELAY_PATH}{taken.call_id}/{taken.token}")
        return connect_relay(self._settings, url, CALLING if outgoing_id else GREETING)

    def _end(self, outgoing_id: str, form: dict[str, str]) -> str:
        """Take note of how an outgoing call ended: completed, busy, no-answer, failed."""
        call = self._running.voice.find(outgoing_id) if outgoing_id else None
        if call is not None and call.call_sid in ("", form.get("CallSid")):
            self._running.voice.end(outgoing_id, form.get("CallStatus", "") or "ended")
        return ""

    # -- the WebSocket of a call -------------------------------------------------------------------

    async def _socket(self, scope: Scope, receive: Receive, send: Send) -> None:
        await receive()  # websocket.connect
        call = await self._open(scope)
        if call is None:
            await send({"type": "websocket.close", "code": POLICY_VIOLATION})
            return
        await send({"type": "websocket.accept"})
        self._calls += 1
        reason = "it broke off"
        try:
            session = CallSession(self._running, call, _texts(receive), _sender(send))
            reason = await session.run()
        except _Closed:
            reason = "hung up"
        finally:
            self._calls -= 1
            await asyncio.to_thread(self._running.voice.end, call.call_id, reason)
        await _close(send)

    async def _open(self, scope: Scope) -> Call | None:
        """The call of a connection, if its signature and its token are right; uses up the token."""
        target = _target(scope)
        if not self._check.accepts_socket(target, _headers(scope)):
            return None
        call_id, _, token = target.removeprefix(RELAY_PATH).partition("/")
        try:
            return await asyncio.to_thread(self._running.voice.connect, call_id, token)
        except EverloopError:
            return None


class _Closed(Exception):
    """The connection is gone."""


def _texts(receive: Receive) -> Callable[[], Awaitable[str | None]]:
    async def next_text() -> str | None:
        while True:
            message = await receive()
            if message["type"] == "websocket.disconnect":
                return None
            text: str | None = message.get("text")
            if text is not None:
                return text

    return next_text


def _sender(send: Send) -> Callable[[str], Awaitable[None]]:
    async def send_text(text: str) -> None:
        try:
            await send({"type": "websocket.send", "text": text})
        except (OSError, RuntimeError) as problem:  # what servers raise once it is closed
            raise _Closed from problem

    return send_text


async def _close(send: Send) -> None:
    try:
        await send({"type": "websocket.close", "code": 1000})
    except (OSError, RuntimeError):  # the other side was quicker
        return


def _target(scope: Scope) -> str:
    """Path and query exactly as they were called."""
    path: str = scope["path"]
    raw: bytes = scope.get("raw_path") or path.encode()
    query: bytes = scope.get("query_string", b"")
    target = raw.partition(b"?")[0] + (b"?" + query if query else b"")
    return target.decode("latin-1")


def _headers(scope: Scope) -> dict[str, str]:
    return {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}


def _outgoing_id(scope: Scope) -> str:
    query: bytes = scope.get("query_string", b"")
    return parse_qs(query.decode("latin-1")).get("id", [""])[0]


async def _body(receive: Receive) -> bytes:
    body, more = b"", True
    while more:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)
    return body


def _form(body: bytes) -> dict[str, str]:
    """The fields of a form. What is no form, or repeats a field, has none: no signature fits."""
    try:
        pairs = parse_qsl(body.decode(), keep_blank_values=True, max_num_fields=FORM_FIELDS_MAX)
    except ValueError:
        return {}
    return dict(pairs) if len({name for name, _ in pairs}) == len(pairs) else {}


async def _respond(send: Send, status: int, kind: bytes, body: bytes) -> None:
    headers = [
        (b"content-type", kind),
        (b"content-length", str(len(body)).encode()),
        (b"cache-control", b"no-store"),
    ]
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
