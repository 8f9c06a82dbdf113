"""Model discovery and choice: from the settings, or from what is available on this machine.

A model is named `service:model`. Models named in the settings are used as given; without any, all
discovered models are used in order of quality; if none is found, the offline model is used.
"""

import http.client
import importlib.util
import shutil
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from functools import partial
from typing import Literal, NamedTuple
from urllib.parse import urlsplit

import msgspec

from everloop.adapters.models.claude_code import ClaudeCodeModel
from everloop.adapters.models.fallback import FallbackModel, RetryPolicy
from everloop.adapters.models.llama_cpp import LocalModel, is_installed
from everloop.adapters.models.offline import NAME as OFFLINE
from everloop.adapters.models.offline import OfflineModel
from everloop.adapters.models.provider import ProviderModel, Service
from everloop.errors import Invalid
from everloop.model_settings import ModelSettings
from everloop.ports import Model

Slot = Literal["narrative", "classifier"]

HOME_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")  # on this machine, without a key
KEYED = ("anthropic", "openai", "openrouter")  # services that are available if their API key is set
LIST_BYTES_MAX = 1_000_000
MODELS_MAX = 50  # listed of one server
HINT = "Name it `service:model`, such as `ollama:llama3.2`; docs/models.md lists the services."


class DiscoveredModel(NamedTuple):
    """An available model, and how it was discovered."""

    name: str
    words: str
    spare: bool = False  # another model of the same server: used only if it is chosen


class _ModelEntry(msgspec.Struct):
    id: str


class _ModelList(msgspec.Struct):
    data: list[_ModelEntry]


def choose_model(
    settings: ModelSettings, slot: Slot, found: Sequence[DiscoveredModel] = ()
) -> FallbackModel:
    """The models of a slot. `found` are the discovered models, for a slot without a setting.

    Raises:
        Invalid: the settings name an unknown service.
    """
    wanted = settings.classifier if slot == "classifier" else ""
    names = _names(wanted or settings.narrative) or [one.name for one in found if not one.spare]
    names = names or [OFFLINE]
    patience = RetryPolicy(settings.tries, settings.backoff_s, settings.backoff_max_s)
    return FallbackModel([create_model(name, settings) for name in names], patience)


def create_model(name: str, settings: ModelSettings) -> Model:
    """Create the model with this name.

    Raises:
        Invalid: the service is unknown, or the name lacks the model.
    """
    service, _, model = name.partition(":")
    if service == OFFLINE:
        return OfflineModel()
    if service == "local":
        return LocalModel()
    if service == "claude":
        return ClaudeCodeModel(model or settings.claude_model)
    if not model:
        raise Invalid(f"{name!r} does not name a model", hint=HINT)
    return ProviderModel(_service(service, settings), model)


def discover_models(settings: ModelSettings) -> list[DiscoveredModel]:
    """Discover all available language models, best first; takes at most about `search_s`."""
    found: list[DiscoveredModel] = []
    if importlib.util.find_spec("any_llm") is not None:
        found += _models_with_key(settings)
    if importlib.util.find_spec("claude_agent_sdk") and shutil.which("claude"):
        found.append(
            DiscoveredModel("claude", "Claude Code is on the path; it uses your own login")
        )
    if importlib.util.find_spec("any_llm") is not None:
        found += _models_of_servers(settings)
    if is_installed():
        found.append(
            DiscoveredModel("local", "a tiny model inside a package; do not expect much of it")
        )
    return found


def _models_with_key(settings: ModelSettings) -> Iterator[DiscoveredModel]:
    for service in KEYED:
        if getattr(settings, f"{service}_key"):
            model = getattr(settings, f"{service}_model")
            yield DiscoveredModel(f"{service}:{model}", f"a key for {service} is set")


def _models_of_servers(settings: ModelSettings) -> list[DiscoveredModel]:
    """The models of all local servers, queried in parallel."""
    names = [*HOME_SERVERS, *(["endpoint"] if settings.endpoint_url else [])]
    urls = [str(getattr(settings, f"{name}_url")) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        listed = pool.map(partial(_models_at, timeout_s=settings.search_s), urls)
        return [
            DiscoveredModel(f"{name}:{model}", f"a server answers at {url}", number > 0)
            for name, url, models in zip(names, urls, listed, strict=True)
            for number, model in enumerate(models)
        ]


def _models_at(url: str, timeout_s: float) -> list[str]:
    """The chat models that a server lists; none if it does not respond."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
            connection.request("GET", f"{parts.path.rstrip('/')}/models")
            answer = connection.getresponse().read(LIST_BYTES_MAX)
        listed = msgspec.json.decode(answer, type=_ModelList).data
    except (OSError, ValueError, http.client.HTTPException, msgspec.MsgspecError, RecursionError):
        return []
    return [one.id for one in listed if "embed" not in one.id.lower()][:MODELS_MAX]


def _service(name: str, settings: ModelSettings) -> Service:
    if name in HOME_SERVERS:
        return Service(name, getattr(settings, f"{name}_url"), free=True)
    if name in KEYED or name == "endpoint":
        url = getattr(settings, f"{name}_url")
        if not url.startswith(("http://", "https://")):
            raise Invalid(
                f"models.{name}_url is not a URL", hint="Set it to an http:// or https:// address."
            )
        return Service(name, url, getattr(settings, f"{name}_key"))
    if name.isidentifier():
        return Service(name)  # any-llm may support it, and reports an error if it does not
    raise Invalid(f"{name!r} is not a model service", hint=HINT)


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
