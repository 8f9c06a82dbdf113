"""Webhook signature: whether a delivery of GitHub comes from who knows the secret (HMAC-SHA256)."""

import hashlib
import hmac

PREFIX = "sha256="


def is_signed(body: bytes, signature: str, secret: str) -> bool:
    """Whether a delivery has the signature that only the secret can make. In constant time."""
    wanted = hmac.new(secret.encode(), body, hashlib.sha256).hexdigest()
    given = signature.removeprefix(PREFIX) if signature.startswith(PREFIX) else ""
    return hmac.compare_digest(wanted.encode(), given.encode("utf-8", "replace"))
