"""Checks that a request comes from Twilio: its signature, over our public address.

The address is that of the settings, never one that a request brings along: a proxy or a forger
could choose it. The library is Twilio's own.
"""

import importlib
from collections.abc import Mapping
from typing import Any

from everloop.voice import VoiceSettings

SIGNATURE = "x-twilio-signature"
SIGNATURE_SETTINGS = "x-twilio-webhooks-signature-settings"
SHARED = "HMAC_SHA256"  # signed with a SharedKey instead of the Auth Token


class SignatureCheck:
    """Knows the secrets and the public address."""

    def __init__(self, settings: VoiceSettings) -> None:
        self._library: Any = importlib.import_module("twilio.request_validator")
        self._settings = settings
        self._base = settings.public_url.rstrip("/")

    def accepts_webhook(
        self, target: str, form: Mapping[str, str], headers: Mapping[str, str]
    ) -> bool:
        """Whether a POST to a path, with its query, was signed by Twilio."""
        return self._accepts(f"{self._base}{target}", form, headers)

    def accepts_socket(self, target: str, headers: Mapping[str, str]) -> bool:
        """Whether the handshake of a WebSocket was signed by Twilio."""
        return self._accepts(socket_url(self._settings, target), {}, headers)

    def sign(self, target: str, form: Mapping[str, str]) -> str:
        """The signature that Twilio would send with a POST; for the dry run."""
        validator = self._library.RequestValidator(self._settings.auth_key)
        signature: str = validator.compute_signature(f"{self._base}{target}", form)
        return signature

    def _accepts(self, url: str, form: Mapping[str, str], headers: Mapping[str, str]) -> bool:
        signature = headers.get(SIGNATURE, "")
        algorithm = self._library.get_signature_algorithm(headers.get(SIGNATURE_SETTINGS, ""))
        shared = algorithm.upper() == SHARED
        secret = self._settings.shared_key if shared else self._settings.auth_key
        if not (signature and secret):
            return False
        validator = self._library.RequestValidator(secret)
        return bool(validator.validate(url, form, signature, algorithm))


def socket_url(settings: VoiceSettings, target: str) -> str:
    """The public address of a WebSocket."""
    return f"wss{settings.public_url.rstrip('/').removeprefix('https')}{target}"
