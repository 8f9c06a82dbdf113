"""The models that a service has, asked of the service itself; also how a connection is tested."""

import http.client
from collections.abc import Mapping
from typing import Any, cast
from urllib.parse import urlsplit

import msgspec

from everloop.adapters.models.errors import hide_user, redact, service_message
from everloop.adapters.models.provider import ModelService
from everloop.adapters.network import http_get
from everloop.errors import Invalid, ModelFailed

LIST_BYTES_MAX = 1_000_000
MODELS_MAX = 200  # listed of one service
ANTHROPIC_VERSION = "2023-06-01"


class _ModelEntry(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ModelEntry]


class _Refusal:
    """The body of an error, in the shape that the libraries of services give it."""

    def __init__(self, answer: bytes) -> None:
        try:
            self.body: Any = msgspec.json.decode(answer)
        except (msgspec.MsgspecError, RecursionError):
            self.body = None


def list_models(service: ModelService, timeout_s: float) -> list[str]:
    """The chat models of a service, in its order.

    Raises:
        ModelFailed: it did not answer, or what it said.
    """
    where = hide_user(service.url)
    try:
        status, answer = _get(service, timeout_s)
    except (OSError, ValueError, http.client.HTTPException) as problem:
        why = getattr(problem, "strerror", None) or problem  # without the number of the error
        words = redact(why, service.key) or type(problem).__name__
        raise ModelFailed(
            f"nothing answers at {where}: {words}", hint="Check the address, and that it runs."
        ) from None
    if status != http.client.OK:
        said = redact(service_message(_Refusal(answer)), service.key)
        raise ModelFailed(
            f"{where} answered {status}{': ' if said else ''}{said}",
            hint="Check the key." if status in (401, 403) else "Check the address.",
        )
    try:
        listed = msgspec.json.decode(answer, type=_ModelList).data
    except (msgspec.MsgspecError, RecursionError):
        raise ModelFailed(
            f"{where} is not an OpenAI-compatible server", hint="Check the address."
        ) from None
    return [one.id for one in listed if "embed" not in one.id.lower()][:MODELS_MAX]


def normalise_address(address: str) -> str:
    """The address of an OpenAI-compatible server, with `/v1` if it has no path.

    Raises:
        Invalid: it is not an http or https address.
    """
    text = address.strip()
    whole = text if "://" in text else f"http://{text}"
    try:
        parts = urlsplit(whole)
        named = parts.scheme in ("http", "https") and parts.hostname and (parts.port or True)
        path = parts.path.strip("/")
    except ValueError:
        named, path = False, ""
    if not named or any(letter.isspace() for letter in whole):
        raise Invalid("that is not an address", hint="Write it like http://127.0.0.1:11434/v1.")
    whole = whole.rstrip("/")
    return whole if path else f"{whole}/v1"


def _get(service: ModelService, timeout_s: float) -> tuple[int, bytes]:
    url = service.url.rstrip("/")
    if service.name == "anthropic" and not urlsplit(url).path:
        url = f"{url}/v1"
    headers = _headers(service)
    return http_get(f"{url}/models", headers, timeout_s=timeout_s, bytes_max=LIST_BYTES_MAX)


def _headers(service: ModelService) -> Mapping[str, str]:
    if not service.key:
        return {}
    if service.name == "anthropic":
        return {"x-api-key": service.key, "anthropic-version": ANTHROPIC_VERSION}
    return cast("Mapping[str, str]", {"Authorization": f"Bearer {service.key}"})
