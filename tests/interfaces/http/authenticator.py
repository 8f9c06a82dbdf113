"""A software WebAuthn authenticator for tests."""

import hashlib
import json
from typing import Any

from cryptography.hazmat.primitives import hashes
from cryptography.hazmat.primitives.asymmetric import ec
from webauthn.helpers import bytes_to_base64url, encode_cbor

PRESENT, VERIFIED, ATTESTED = 0x01, 0x04, 0x40


class Authenticator:
    """A passkey for one site."""

    def __init__(self, site: str, origin: str) -> None:
        self.site, self.origin = site, origin
        self.count = 0
        self.flags = PRESENT | VERIFIED
        self._key = ec.generate_private_key(ec.SECP256R1())
        self._id = hashlib.sha256(b"a key").digest()

    def made(self, options: dict[str, Any]) -> dict[str, Any]:
        """The browser's response to registration options."""
        said = self._said("webauthn.create", options["challenge"])
        known = len(self._id).to_bytes(2, "big") + self._id + self._public()
        data = self._data(ATTESTED) + bytes(16) + known
        attestation = encode_cbor({"fmt": "none", "attStmt": {}, "authData": data})
        return self._answer(
            {
                "clientDataJSON": bytes_to_base64url(said),
                "attestationObject": bytes_to_base64url(attestation),
            }
        )

    def signed(self, options: dict[str, Any]) -> dict[str, Any]:
        """The browser's response to sign-in options."""
        self.count += 1
        said = self._said("webauthn.get", options["challenge"])
        data = self._data(0)
        signature = self._key.sign(data + hashlib.sha256(said).digest(), ec.ECDSA(hashes.SHA256()))
        return self._answer(
            {
                "clientDataJSON": bytes_to_base64url(said),
                "authenticatorData": bytes_to_base64url(data),
                "signature": bytes_to_base64url(signature),
            }
        )

    def _said(self, kind: str, challenge: str) -> bytes:
        told = {"type": kind, "challenge": challenge, "origin": self.origin, "crossOrigin": False}
        return json.dumps(told).encode()

    def _data(self, more: int) -> bytes:
        site = hashlib.sha256(self.site.encode()).digest()
        return site + bytes([self.flags | more]) + self.count.to_bytes(4, "big")

    def _public(self) -> bytes:
        numbers = self._key.public_key().public_numbers()
        x, y = (number.to_bytes(32, "big") for number in (numbers.x, numbers.y))
        return encode_cbor({1: 2, 3: -7, -1: 1, -2: x, -3: y})

    def _answer(self, response: dict[str, str]) -> dict[str, Any]:
        name = bytes_to_base64url(self._id)
        return {"id": name, "rawId": name, "type": "public-key", "response": response}
