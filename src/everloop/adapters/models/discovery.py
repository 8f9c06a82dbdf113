"""Model discovery and choice: from the settings, or from what is available on this machine.

A model is named `service:model`. Models named in the settings are used as given; without any, all
discovered models are used in order of quality; if none is found, the offline model is used. What
merely runs on this machine is offered, and not used before the user allowed it: a prompt contains
memories, and anything could answer on a well-known port.
"""

import importlib.util
import shutil
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Literal, NamedTuple

from everloop.adapters.models.claude_code import ClaudeCodeModel
from everloop.adapters.models.claude_code_mcp import NAME as CLAUDE_CODE_MCP
from everloop.adapters.models.claude_code_mcp import ClaudeCodeMcpModel
from everloop.adapters.models.fallback import FallbackModel, RetryPolicy
from everloop.adapters.models.list_models import list_models
from everloop.adapters.models.llama_cpp import LocalModel, is_installed
from everloop.adapters.models.offline import OFFLINE_MODEL as OFFLINE
from everloop.adapters.models.offline import OfflineModel
from everloop.adapters.models.provider import ModelService, ProviderModel
from everloop.errors import Forbidden, Invalid, ModelFailed
from everloop.model_settings import ModelSettings
from everloop.ports import Model

Slot = Literal["narrative", "classifier"]

HOME_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")  # on this machine, without a key
KEYED_SERVICES = (
    "anthropic",
    "openai",
    "openrouter",
)  # services that are available if their API key is set
DEFAULTS = ModelSettings()
MODELS_MAX = 50  # listed of one server
HINT = "Name it service:model, such as ollama:llama3.2; docs/models.md lists the services."


class DiscoveredModel(NamedTuple):
    """An available model, and how it was discovered."""

    name: str
    words: str
    spare: bool = False  # another model of the same server: used only if it is chosen
    address: str = ""  # of the server
    unasked: bool = False  # it was found, and the user has not allowed it yet

    @property
    def service(self) -> str:
        """The service that has it."""
        return self.name.partition(":")[0]


def choose_model(
    settings: ModelSettings, slot: Slot, found: Sequence[DiscoveredModel] = ()
) -> FallbackModel:
    """The models of a slot. `found` are the discovered models, for a slot without a setting.

    Raises:
        Invalid: the settings name an unknown service.
    """
    wanted = settings.classifier if slot == "classifier" else ""
    usable = [one.name for one in found if not one.spare and not one.unasked]
    names = _names(wanted or settings.narrative) or usable
    names = names or [OFFLINE]
    patience = RetryPolicy(settings.tries, settings.backoff_s, settings.backoff_max_s)
    models = [create_model(name, settings) for name in names]
    return FallbackModel(models, patience, timeout_s=settings.timeout_s)


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
    if service == CLAUDE_CODE_MCP:
        return ClaudeCodeMcpModel(settings.claude_mcp_command)
    if not model:
        raise Invalid(f"{name!r} does not name a model", hint=HINT)
    return ProviderModel(service_of(service, settings), model)


def choose_named_model(
    name: str, settings: ModelSettings, found: Sequence[DiscoveredModel]
) -> FallbackModel:
    """The model that a person chose for an answer: a usable one, or any of the same service.

    Raises:
        Forbidden: the service is not connected, or not allowed yet.
        Invalid: the service is unknown, or the name lacks the model.
    """
    service = name.partition(":")[0]
    named = [*_names(settings.narrative), *_names(settings.classifier)]
    usable = {one.service for one in found if not one.unasked} | {
        one.partition(":")[0] for one in named
    }
    if service != OFFLINE and service not in usable:
        raise Forbidden(
            f"{service!r} is not connected", hint="Connect it under Settings, Models first."
        )
    patience = RetryPolicy(settings.tries, settings.backoff_s, settings.backoff_max_s)
    return FallbackModel([create_model(name, settings)], patience)


def with_consent(
    found: Sequence[DiscoveredModel], allowed: Mapping[str, str]
) -> list[DiscoveredModel]:
    """The discovered models; those whose service is allowed at this address may be used."""
    return [
        one._replace(unasked=False) if allowed.get(one.service) == one.address else one
        for one in found
    ]


def discover_models(settings: ModelSettings) -> list[DiscoveredModel]:
    """Discover all available language models, best first; takes at most about `search_s`."""
    found: list[DiscoveredModel] = []
    if importlib.util.find_spec("any_llm") is not None:
        found += _models_with_key(settings)
    if importlib.util.find_spec("claude_agent_sdk") and shutil.which("claude"):
        found.append(
            DiscoveredModel(
                "claude", "Claude Code is on the path; it uses your own login", unasked=True
            )
        )
    if importlib.util.find_spec("any_llm") is not None:
        found += _models_of_servers(settings)
    if is_installed():
        found.append(
            DiscoveredModel("local", "a tiny model inside a package; do not expect much of it")
        )
    return found


def _models_with_key(settings: ModelSettings) -> Iterator[DiscoveredModel]:
    for service in KEYED_SERVICES:
        if getattr(settings, f"{service}_key"):
            model = getattr(settings, f"{service}_model")
            yield DiscoveredModel(f"{service}:{model}", f"a key for {service} is set")


def _models_of_servers(settings: ModelSettings) -> list[DiscoveredModel]:
    """The models of all local servers, queried in parallel."""
    names = [*HOME_SERVERS, *(["endpoint"] if settings.endpoint_url else [])]
    services = [
        ModelService(name, getattr(settings, f"{name}_url"), getattr(settings, f"{name}_key", ""))
        for name in names
    ]
    urls = [service.url for service in services]
    with ThreadPoolExecutor(len(names)) as pool:
        listed = pool.map(partial(_models_at, timeout_s=settings.search_s), services)
        return [
            DiscoveredModel(
                f"{name}:{model}",
                f"a server answers at {url}",
                number > 0,
                url,
                unasked=url == getattr(DEFAULTS, f"{name}_url"),
            )
            for name, url, models in zip(names, urls, listed, strict=True)
            for number, model in enumerate(models)
        ]


def _models_at(service: ModelService, timeout_s: float) -> list[str]:
    """The chat models that a server lists; none if it does not respond."""
    try:
        return list_models(service, timeout_s)[:MODELS_MAX]
    except ModelFailed:
        return []


def service_of(name: str, settings: ModelSettings) -> ModelService:
    """The service with this name, with its address and key.

    Raises:
        Invalid: it is unknown, or has no address.
    """
    if name in HOME_SERVERS:
        return ModelService(name, getattr(settings, f"{name}_url"), free=True)
    if name in KEYED_SERVICES or name == "endpoint":
        url = getattr(settings, f"{name}_url")
        if not url.startswith(("http://", "https://")):
            raise Invalid(
                f"models.{name}_url is not a URL", hint="Set it to an http:// or https:// address."
            )
        return ModelService(name, url, getattr(settings, f"{name}_key"))
    if name.isidentifier():
        return ModelService(name)  # any-llm may support it, and reports an error if it does not
    raise Invalid(f"{name!r} is not a model service", hint=HINT)


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
