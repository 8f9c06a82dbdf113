"""Places calls by Twilio's REST API. Nothing is ever sent twice.

Whether a call was placed is told apart strictly: before the request was sent, certainly not; after
an answer that refuses it, certainly not; in every other case nobody knows.
"""

import base64
import ssl
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from typing import Any
from urllib.parse import urlencode, urlsplit

import msgspec

from everloop.voice import PlacedCall, VoiceSettings

TIMEOUT_S = 15
RING_S = 40  # how long the telephone rings
OK = 200
CREATED = 201
REFUSALS = range(400, 500)
REQUEST_TIMEOUT = 408  # sent by proxies also after the request was passed on
ANSWER_BYTES_MAX = 65_536


class TwilioTelephone:
    """Places calls from the configured number."""

    def __init__(self, settings: VoiceSettings) -> None:
        self._settings = settings

    def place(self, number: str, answer_url: str, status_url: str) -> PlacedCall:
        """Call a number; Twilio asks `answer_url` what to do once somebody answers."""
        form = {
            "To": number,
            "From": self._settings.number,
            "Url": answer_url,
            "Method": "POST",
            "StatusCallback": status_url,
            "StatusCallbackMethod": "POST",
            "StatusCallbackEvent": "completed",
            "Timeout": str(RING_S),
        }
        try:
            connection = self._connect()
        except (OSError, ValueError, HTTPException) as problem:
            return PlacedCall("failed", reason=f"Twilio was not reached: {_named(problem)}")
        try:
            path = f"/2010-04-01/Accounts/{self._settings.account}/Calls.json"
            connection.request("POST", path, urlencode(form), self._headers())
            answer = connection.getresponse()
            return _outcome(answer.status, answer.read(ANSWER_BYTES_MAX))
        except (OSError, HTTPException) as problem:
            return PlacedCall("uncertain", reason=f"Twilio did not answer: {_named(problem)}")
        finally:
            connection.close()

    def account_status(self) -> str:
        """Twilio's word for the state of the account, such as active; or what is wrong."""
        try:
            connection = self._connect()
            path = f"/2010-04-01/Accounts/{self._settings.account}.json"
            connection.request("GET", path, headers=self._headers())
            answer = connection.getresponse()
            said, status = _decode(answer.read(ANSWER_BYTES_MAX)), answer.status
            connection.close()
        except (OSError, ValueError, HTTPException) as problem:
            return f"Twilio was not reached: {_named(problem)}"
        return str(said.get("status", "")) if status == OK else f"refused ({status})"

    def _connect(self) -> HTTPConnection:
        """Open a connection; nothing is sent yet."""
        address = urlsplit(self._settings.api_url)
        host, port = address.hostname or "", address.port
        if address.scheme == "https":
            trusted = ssl.create_default_context()
            connection: HTTPConnection = HTTPSConnection(
                host, port, timeout=TIMEOUT_S, context=trusted
            )
        else:
            connection = HTTPConnection(host, port, timeout=TIMEOUT_S)
        connection.connect()
        return connection

    def _headers(self) -> dict[str, str]:
        secret = f"{self._settings.account}:{self._settings.auth_key}".encode()
        return {
            "authorization": f"Basic {base64.b64encode(secret).decode()}",
            "content-type": "application/x-www-form-urlencoded",
            "accept": "application/json",
        }


def _outcome(status: int, body: bytes) -> PlacedCall:
    said = _decode(body)
    call_sid = said.get("sid")
    if status == CREATED and isinstance(call_sid, str) and call_sid:
        return PlacedCall("placed", call_sid, status)
    if status in REFUSALS and status != REQUEST_TIMEOUT:
        code = said.get("code")
        reason = f"Twilio refused the call ({status}{f', error {code}' if code else ''})"
        return PlacedCall("failed", status=status, reason=reason)
    return PlacedCall("uncertain", status=status, reason=f"Twilio answered with {status}")


def _decode(body: bytes) -> dict[str, Any]:
    try:
        return msgspec.json.decode(body, type=dict[str, Any])
    except msgspec.DecodeError:
        return {}


def _named(problem: Exception) -> str:
    """The kind of a problem; its text could quote the request."""
    return type(problem).__name__
