"""A telephone on loopback: speaks Twilio's side of ConversationRelay, with real signatures."""

import importlib
import json
import re
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import httpx
import msgspec
from tests.interfaces.http.serving import WAIT_S, Served, plain_settings, served
from websockets.exceptions import ConnectionClosed
from websockets.sync.client import ClientConnection, connect

from everloop.settings import ServeSettings
from everloop.testing.model import Script
from everloop.voice import VoiceSettings

PUBLIC = "https://home.example.org"
AUTH = "the auth token of the tests"
SHARED = "the shared secret of the tests"
PIN = "802653"
MINE = "+15550100"
OURS = "+15550199"
VOICE = VoiceSettings(
    account="AC" + "1" * 32,
    auth_key=AUTH,
    shared_key=SHARED,
    pin_key=PIN,
    number=OURS,
    callers=MINE,
    public_url=PUBLIC,
    api_url="http://127.0.0.1:9",
)


@contextmanager
def telephone_server(
    folder: Path, answers: Iterable[Script] = (), **changed: object
) -> Generator[Served]:
    """A server whose telephone is configured."""
    settings = msgspec.structs.replace(
        plain_settings(folder),
        voice=msgspec.structs.replace(VOICE, **changed),
        serve=ServeSettings(hosts="home.example.org"),
    )
    with served(folder, answers, settings=settings) as one:
        yield one


def sign(url: str, form: dict[str, str], secret: str = AUTH, algorithm: str = "") -> str:
    """Twilio's signature."""
    library: Any = importlib.import_module("twilio.request_validator")
    validator = library.RequestValidator(secret)
    signature: str = validator.compute_signature(url, form, algorithm or None)
    return signature


def call_form(sid: str = "CA1", number: str = MINE) -> dict[str, str]:
    """What Twilio posts about an incoming call."""
    return {"CallSid": sid, "From": number, "To": OURS, "CallStatus": "ringing"}


def post(
    server: Served, form: dict[str, str], path: str = "/voice/call", **headers: str
) -> httpx.Response:
    """Post a webhook, signed unless the headers have another signature."""
    signed = {"x-twilio-signature": sign(f"{PUBLIC}{path}", form), **headers}
    with server.stranger() as client:
        return client.post(path, data=form, headers=signed)


def relay_path(answer: httpx.Response) -> str:
    """The path of the WebSocket that TwiML names."""
    found = re.search(r'url="(wss://[^"]+)"', answer.text)
    assert found, answer.text
    return str(urlsplit(found[1]).path)


class Caller:
    """One end of a connected call."""

    def __init__(self, socket: ClientConnection, sid: str) -> None:
        self.socket, self.sid = socket, sid

    def send(self, kind: str, **fields: object) -> None:
        """Send a message of Twilio's."""
        self.socket.send(json.dumps({"type": kind, **fields}))

    def set_up(self) -> None:
        """Send the first message."""
        self.send("setup", sessionId="VX1", callSid=self.sid, customParameters={})

    def press(self, keys: str) -> None:
        """Press keys."""
        for key in keys:
            self.send("dtmf", digit=key)

    def say(self, text: str) -> None:
        """Say something."""
        self.send("prompt", voicePrompt=text, lang="en-US", last=True)

    def interrupt(self, heard: str) -> None:
        """Interrupt what is being said."""
        self.send("interrupt", utteranceUntilInterrupt=heard, durationUntilInterruptMs=1)

    def receive(self) -> dict[str, Any]:
        """The next message."""
        message: dict[str, Any] = json.loads(self.socket.recv(WAIT_S))
        return message

    def receive_text(self) -> str:
        """The next piece that is said."""
        return str(self.receive()["token"])

    def hear(self) -> str:
        """All that is said until it is complete."""
        said = ""
        while True:
            message = self.receive()
            assert message["type"] == "text", message
            said += str(message["token"])
            if message["last"]:
                return said.strip()

    def until_closed(self) -> list[dict[str, Any]]:
        """Everything until the connection is closed."""
        got: list[dict[str, Any]] = []
        try:
            while True:
                got.append(self.receive())
        except ConnectionClosed:
            return got

    def let_in(self) -> str:
        """Enter the PIN; what is said then."""
        self.set_up()
        self.press(f"{PIN}#")
        return self.hear()


@contextmanager
def socket_of(
    server: Served, path: str, sid: str = "CA1", signature: str | None = None
) -> Generator[Caller]:
    """Open a WebSocket as Twilio does."""
    signed = (
        sign(f"wss{PUBLIC.removeprefix('https')}{path}", {}) if signature is None else signature
    )
    headers = {"x-twilio-signature": signed} if signed else {}
    url = f"ws://127.0.0.1:{server.port}{path}"
    with connect(url, additional_headers=headers, open_timeout=WAIT_S, proxy=None) as socket:
        yield Caller(socket, sid)


@contextmanager
def calling(server: Served, sid: str = "CA1") -> Generator[Caller]:
    """Call, and be connected."""
    with socket_of(server, relay_path(post(server, call_form(sid))), sid) as caller:
        yield caller
