"""Which models there are, and which of them answer: found on this machine, or chosen by setting.

A model is named `service:model`. What the settings name is taken; if they name nothing, everything
that is found answers, the best first; if nothing is found, the offline model does.
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
from everloop.adapters.models.fallback import ModelSlot, Patience
from everloop.adapters.models.llama_cpp import LocalModel, is_installed
from everloop.adapters.models.offline import NAME as OFFLINE
from everloop.adapters.models.offline import OfflineModel
from everloop.adapters.models.provider import ProviderModel, Service
from everloop.errors import Invalid
from everloop.model_settings import ModelSettings
from everloop.ports import Model

Slot = Literal["narrative", "classifier"]

HOME_SERVERS = ("ollama", "lmstudio", "llamacpp", "vllm")  # on this machine, without a key
KEYED = ("anthropic", "openai", "openrouter")  # services that are there if their key is
LIST_BYTES_MAX = 1_000_000
MODELS_MAX = 50  # of one server
HINT = "Name it `service:model`, such as `ollama:llama3.2`; docs/models.md lists the services."


class Found(NamedTuple):
    """A model that can be asked, and how it was found."""

    name: str
    words: str
    spare: bool = False  # another model of the same server: it answers only if it is chosen


class _Listed(msgspec.Struct):
    id: str


class _List(msgspec.Struct):
    data: list[_Listed]


def chosen_model(settings: ModelSettings, slot: Slot, found: Sequence[Found] = ()) -> ModelSlot:
    """The models of a slot. `found` is what `found_models` gave, for a slot that names none.

    Raises:
        Invalid: the settings name a model of a service that is not known.
    """
    wanted = settings.classifier if slot == "classifier" else ""
    names = _names(wanted or settings.narrative) or [one.name for one in found if not one.spare]
    names = names or [OFFLINE]
    patience = Patience(settings.tries, settings.backoff_s, settings.backoff_max_s)
    return ModelSlot([model_named(name, settings) for name in names], patience)


def model_named(name: str, settings: ModelSettings) -> Model:
    """The model of this name.

    Raises:
        Invalid: there is no such service, or the model is missing from the name.
    """
    service, _, model = name.partition(":")
    if service == OFFLINE:
        return OfflineModel()
    if service == "local":
        return LocalModel()
    if service == "claude":
        return ClaudeCodeModel(model or settings.claude_model)
    if not model:
        raise Invalid(f"{name!r} names no model", hint=HINT)
    return ProviderModel(_service(service, settings), model)


def found_models(settings: ModelSettings) -> list[Found]:
    """Every language model that can be asked here, the best first. Looking takes `search_s`."""
    found: list[Found] = []
    if importlib.util.find_spec("any_llm") is not None:
        found += _keyed(settings)
    if importlib.util.find_spec("claude_agent_sdk") and shutil.which("claude"):
        found.append(Found("claude", "Claude Code is on the path; it uses your own login"))
    if importlib.util.find_spec("any_llm") is not None:
        found += _served(settings)
    if is_installed():
        found.append(Found("local", "a tiny model inside a package; do not expect much of it"))
    return found


def _keyed(settings: ModelSettings) -> Iterator[Found]:
    for service in KEYED:
        if getattr(settings, f"{service}_key"):
            model = getattr(settings, f"{service}_model")
            yield Found(f"{service}:{model}", f"a key for {service} is set")


def _served(settings: ModelSettings) -> list[Found]:
    """The servers that answer, each asked at the same time."""
    names = [*HOME_SERVERS, *(["endpoint"] if settings.endpoint_url else [])]
    urls = [str(getattr(settings, f"{name}_url")) for name in names]
    with ThreadPoolExecutor(len(names)) as pool:
        listed = pool.map(partial(_models_at, timeout_s=settings.search_s), urls)
        return [
            Found(f"{name}:{model}", f"a server answers at {url}", number > 0)
            for name, url, models in zip(names, urls, listed, strict=True)
            for number, model in enumerate(models)
        ]


def _models_at(url: str, timeout_s: float) -> list[str]:
    """The models for talking that a server lists; none if there is no such server."""
    parts = urlsplit(url)
    kind = http.client.HTTPSConnection if parts.scheme == "https" else http.client.HTTPConnection
    try:
        with closing(kind(parts.hostname or "", parts.port, timeout=timeout_s)) as connection:
            connection.request("GET", f"{parts.path.rstrip('/')}/models")
            answer = connection.getresponse().read(LIST_BYTES_MAX)
        listed = msgspec.json.decode(answer, type=_List).data
    except (OSError, ValueError, http.client.HTTPException, msgspec.MsgspecError, RecursionError):
        return []
    return [one.id for one in listed if "embed" not in one.id.lower()][:MODELS_MAX]


def _service(name: str, settings: ModelSettings) -> Service:
    if name in HOME_SERVERS:
        return Service(name, getattr(settings, f"{name}_url"), free=True)
    if name in KEYED or name == "endpoint":
        url = getattr(settings, f"{name}_url")
        if not url.startswith(("http://", "https://")):
            raise Invalid(f"models.{name}_url is not an address", hint="Give its http(s) address.")
        return Service(name, url, getattr(settings, f"{name}_key"))
    if name.isidentifier():
        return Service(name)  # any-llm knows more than we do; it says so if it does not know this
    raise Invalid(f"{name!r} is no service", hint=HINT)


def _names(listed: str) -> list[str]:
    return [name.strip() for name in listed.split(",") if name.strip()]
