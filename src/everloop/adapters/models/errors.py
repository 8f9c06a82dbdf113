"""Errors of model calls, with API keys redacted."""

import re

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
    """Format an error of a service: short, on one line, API keys redacted."""
    text = _KEY.sub("…", " ".join(str(problem).split()))
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
