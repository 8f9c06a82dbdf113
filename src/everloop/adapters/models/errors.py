"""What goes wrong when models are called, without the keys they were called with."""

import re

from everloop.errors import ModelFailed

SHOWN_CHARACTERS = 300
_KEY = re.compile(r"\bsk-[\w-]{8,}")  # as Anthropic, OpenAI and OpenRouter write theirs


class Transient(ModelFailed):
    """A failure that may pass: too many calls, an overloaded service, a connection that broke.

    `after_s` is how long the service asks us to wait; None: it did not say.
    """

    def __init__(self, message: str, *, hint: str = "", after_s: float | None = None) -> None:
        super().__init__(message, hint=hint)
        self.after_s = after_s


def shown(problem: object, *secrets: str) -> str:
    """What a service says about a failure, short, on one line, and without our keys."""
    text = _KEY.sub("…", " ".join(str(problem).split()))
    for secret in filter(None, secrets):
        text = text.replace(secret, "…")
    return text if len(text) <= SHOWN_CHARACTERS else f"{text[:SHOWN_CHARACTERS]}…"
