"""The context window of a model, where its service tells it. Asked at most once a minute.

llama.cpp tells it at `/props`, vLLM, LM Studio and OpenRouter in their lists of models, Ollama for
the models that it has loaded. Where nothing is told, the settings alone decide.
"""

import http.client
from collections.abc import Iterator
from time import monotonic
from typing import Any, cast

import msgspec

from everloop.adapters.network import http_get

BYTES_MAX = 4_000_000
ASK_AGAIN_S = 60.0
TIMEOUT_S = 0.5
_FIELDS = ("n_ctx", "loaded_context_length", "max_model_len", "context_length")


class ContextWindow:
    """The window of one model of one service."""

    def __init__(self, url: str, model: str, key: str = "") -> None:
        self._url, self._model, self._key = url, model, key
        self._known = 0
        self._asked_at = -ASK_AGAIN_S

    def tokens(self) -> int:
        """How many tokens fit into the model's context; 0 if that is not known."""
        if self._url and monotonic() - self._asked_at >= ASK_AGAIN_S:
            self._asked_at = monotonic()
            self._known = next((found for found in self._told() if found), self._known)
        return self._known

    def _told(self) -> Iterator[int]:
        root = self._url.removesuffix("/").removesuffix("/v1")
        told = _get(f"{root}/props", self._key)
        yield _number(told.get("default_generation_settings"), "n_ctx")
        for path in ("/api/v0/models", "/v1/models"):
            yield self._listed(_get(f"{root}{path}", self._key).get("data"))
        yield self._listed(_get(f"{root}/api/ps", self._key).get("models"))

    def _listed(self, models: object) -> int:
        """What a list of models says of ours."""
        try:
            entries = msgspec.convert(models, list[dict[str, Any]])
        except msgspec.ValidationError:
            return 0
        mine = [one for one in entries if self._model in (one.get("id"), one.get("name"))]
        told = (_number(one, field) for one in mine for field in _FIELDS)
        return next((found for found in told if found), 0)


def _number(told: object, field: str) -> int:
    found: Any = cast("dict[str, Any]", told).get(field) if isinstance(told, dict) else None
    return found if isinstance(found, int) and found > 0 else 0


def _get(url: str, key: str) -> dict[str, Any]:
    """A JSON object of a server; empty if it gives none."""
    headers = {"Authorization": f"Bearer {key}"} if key else {}
    try:
        status, body = http_get(url, headers, timeout_s=TIMEOUT_S, bytes_max=BYTES_MAX)
        if status != http.client.OK:
            return {}
        return msgspec.json.decode(body, type=dict[str, Any])
    except (OSError, ValueError, http.client.HTTPException, msgspec.MsgspecError, RecursionError):
        return {}
