"""Errors of model calls, with API keys redacted."""

import re
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

from everloop.errors import ModelFailed

SHOWN_CHARACTERS = 300
_KEY = re.compile(r"\bsk-[\w-]{8,}")  # the key format of Anthropic, OpenAI and OpenRouter


class TransientModelError(ModelFailed):
    """A retryable failure: rate limit, overloaded service, broken connection.

    `after_s` is the Retry-After of the service; None if it gave none.
    """

    def __init__(self, message: str, *, hint: str = "", after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.after_s = after_s


def redact(problem: object, *secrets: str) -> str:
    """Format an error of a service: short, on one line, no backticks, API keys redacted."""
    text = _KEY.sub("…", " ".join(str(problem).replace("`", "").split()))
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"


def service_message(problem: object) -> str:
    """The sentence that a service sent with an error; empty if there is none.

    Services put it at `message`, `error` or `detail` of the body, or at `error.message`.
    """
    body = getattr(problem, "body", None)
    for _ in range(3):  # as deep as services nest it
        if isinstance(body, str):
            return body
        if not isinstance(body, Mapping):
            return ""
        inner = cast("Mapping[str, Any]", body)
        body = inner.get("error") or inner.get("message") or inner.get("detail")
    return ""


def hide_user(url: str) -> str:
    """An address without the user name and password that it may contain."""
    parts = urlsplit(url)
    return url.replace(f"{parts.netloc.rpartition('@')[0]}@", "") if "@" in parts.netloc else url
