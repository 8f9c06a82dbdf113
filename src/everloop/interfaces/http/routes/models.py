"""Routes for models: which there are, which answer, and how one is connected.

A key is written to a file that only the user can read. It is never part of a response, a fact or an
error. Only the user connects a service: whoever answers is sent memories.
"""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter
from pydantic import BaseModel, Field

from everloop.access import allow_model_service, require_user, withdraw_model_service
from everloop.adapters import (
    HOME_SERVERS,
    KEYED_SERVICES,
    ModelService,
    choose_model,
    list_models,
    normalise_address,
    service_of,
    write_keys,
    write_setting,
)
from everloop.adapters import OFFLINE_MODEL as OFFLINE
from everloop.errors import Invalid, NotFound
from everloop.interfaces.http.dependencies import ActorDep, Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.routes.machine import check_not_overridden
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log import Context
from everloop.model_settings import ModelSettings
from everloop.services import Services
from everloop.settings import PREFIX, load

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["models"])

ENDPOINT = "endpoint"
NO_MODEL_HINT = "No language model is connected."
TEST_TIMEOUT_S = 15.0

ServiceName = Annotated[str, Field(max_length=40, pattern=r"^[a-z]+$")]
ModelName = Annotated[str, Field(max_length=200, pattern=r"^[A-Za-z0-9_.:/@+-]*$")]


class FoundModel(ResponseBody):
    """An available model, where it was found, and whether it may be used."""

    name: str
    words: str
    service: str
    address: str
    allowed: bool


class ConnectedService(ResponseBody):
    """A service that is connected, without its key."""

    service: str
    address: str
    keyed: bool


class ModelsOut(BaseModel):
    """The available models, the connected services, and the models in use."""

    found: list[FoundModel]
    connected: list[ConnectedService]
    choices: list[str]  # the models that may answer, the built-in one last
    narrative: str
    classifier: str
    offline: bool  # the built-in model answers, which is not a language model
    hint: str


class ModelChoiceIn(BaseModel):
    """Models of a slot, comma-separated in order of preference; empty: automatic."""

    slot: Literal["narrative", "classifier"]
    models: Annotated[str, Field(max_length=500, pattern=r"^[A-Za-z0-9_.:/@+ ,-]*$")]


class Connection(BaseModel):
    """A service by its key, or any OpenAI-compatible server by its address and perhaps a key."""

    service: ServiceName
    key: Annotated[str, Field(max_length=500, pattern=r"^[!-~]*$", repr=False)] = ""
    address: Annotated[str, Field(max_length=300, pattern=r"^[!-~]*$")] = ""
    model: ModelName = ""


class ServiceModels(BaseModel):
    """The models that a service has."""

    service: str
    address: str
    models: list[str]


@router.get("/models")
def models(deps: Deps, refresh: bool = False) -> ModelsOut:
    """The available models, and the ones in use. `refresh` looks for servers again."""
    running = deps.running
    if refresh:
        running.choose(running.settings)
    narrative = running.narrative().name
    return ModelsOut(
        found=[
            FoundModel(
                name=one.name,
                words=one.words,
                service=one.service,
                address=one.address,
                allowed=not one.unasked,
            )
            for one in running.found
        ],
        connected=_connected(running),
        choices=_choices(running),
        narrative=narrative,
        classifier=running.classifier().name,
        offline=narrative == OFFLINE,
        hint=NO_MODEL_HINT if narrative == OFFLINE else "",
    )


@router.put("/models")
def choose(choice: ModelChoiceIn, deps: Deps, by: ActorDep) -> ModelsOut:
    """Choose other models. Conversations continue without loss."""
    require_user(by.actor, "choose the models")
    running = deps.running
    check_not_overridden(f"{PREFIX}MODELS_{choice.slot.upper()}")
    found = running.found if not choice.models else ()
    candidate = msgspec.structs.replace(running.settings.models, **{choice.slot: choice.models})
    choose_model(candidate, choice.slot, found)  # raises if a name is not a model
    write_setting(running.settings.folder, "models", choice.slot, choice.models)
    running.choose(load(home=running.settings.home))
    return models(deps)


@router.post("/models/test")
def test_connection(wanted: Connection, deps: Deps, by: ActorDep) -> ServiceModels:
    """Ask a service which models it has, with a key or address that is not saved."""
    require_user(by.actor, "test a model service")
    service = _service(wanted, deps.running.settings.models)
    return ServiceModels(
        service=service.name, address=service.url, models=list_models(service, TEST_TIMEOUT_S)
    )


@router.get("/models/services/{service}")
def service_models(service: ServiceName, deps: Deps, by: ActorDep) -> ServiceModels:
    """The models of a connected service."""
    require_user(by.actor, "ask a model service")
    running = deps.running
    if service not in {one.service for one in _connected(running)}:
        raise NotFound(f"{service!r} is not connected", hint="Connect it first.")
    known = service_of(service, running.settings.models)
    return ServiceModels(
        service=service, address=known.url, models=list_models(known, TEST_TIMEOUT_S)
    )


@router.put("/models/services")
def connect(wanted: Connection, deps: Deps, by: ActorDep) -> ModelsOut:
    """Connect a service and use one of its models. The key is saved where only the user reads."""
    require_user(by.actor, "connect a model service")
    running = deps.running
    check_not_overridden(f"{PREFIX}MODELS_NARRATIVE")
    address = ""
    if wanted.service in KEYED_SERVICES or wanted.service == ENDPOINT:
        check_not_overridden(f"{PREFIX}MODELS_{wanted.service.upper()}_KEY")
        service = _service(wanted, running.settings.models)
        address = service.url
        fields = {f"{wanted.service}_key": wanted.key}
        if wanted.service == ENDPOINT:
            fields[f"{ENDPOINT}_url"] = address
        write_keys(running.settings.folder, fields)
    else:
        address = _found_address(running, wanted.service)
    _allow(deps, by, wanted.service, address)
    name = f"{wanted.service}:{wanted.model}" if wanted.model else wanted.service
    write_setting(running.settings.folder, "models", "narrative", name)
    running.choose(load(home=running.settings.home))
    return models(deps)


@router.delete("/models/services/{service}")
def disconnect(service: ServiceName, deps: Deps, by: ActorDep) -> ModelsOut:
    """Disconnect a service: its key is deleted, and it is not used any more."""
    require_user(by.actor, "disconnect a model service")
    running = deps.running
    folder = running.settings.folder
    if service in KEYED_SERVICES or service == ENDPOINT:
        write_keys(folder, {f"{service}_key": "", f"{service}_url": ""})
    withdraw_model_service(deps.engine.log, deps.engine, by, service)
    for slot in ("narrative", "classifier"):
        names = [one.strip() for one in getattr(running.settings.models, slot).split(",")]
        kept = [one for one in names if one.partition(":")[0] != service]
        if kept != names:
            write_setting(folder, "models", slot, ", ".join(kept))
    running.choose(load(home=running.settings.home))
    return models(deps)


def _service(wanted: Connection, settings: ModelSettings) -> ModelService:
    """The service that a person describes.

    Raises:
        Invalid: the key or the address is missing.
    """
    if wanted.service in KEYED_SERVICES:
        if not wanted.key:
            raise Invalid("the key is missing", hint="Paste the key of your account.")
        known = service_of(wanted.service, settings)
        return ModelService(wanted.service, known.url, wanted.key)
    if wanted.service == ENDPOINT:
        return ModelService(ENDPOINT, normalise_address(wanted.address), wanted.key)
    if wanted.service in HOME_SERVERS:
        return service_of(wanted.service, settings)
    raise Invalid(f"{wanted.service!r} is not a service", hint="Choose one of the list.")


def _found_address(running: Services, service: str) -> str:
    """The address at which a service was found on this machine.

    Raises:
        NotFound: it was not.
    """
    for one in running.found:
        if one.service == service:
            return one.address
    raise NotFound(f"{service!r} was not found on this machine", hint="Start it, then refresh.")


def _allow(deps: Deps, by: Context, service: str, address: str) -> None:
    allow_model_service(deps.engine.log, deps.engine, by, service, address)


def _connected(running: Services) -> list[ConnectedService]:
    settings = running.settings.models
    keyed = [
        ConnectedService(service=name, address=getattr(settings, f"{name}_url"), keyed=True)
        for name in KEYED_SERVICES
        if getattr(settings, f"{name}_key")
    ]
    if settings.endpoint_url:
        has_key = bool(settings.endpoint_key)
        keyed.append(
            ConnectedService(service=ENDPOINT, address=settings.endpoint_url, keyed=has_key)
        )
    here = {one.service: one.address for one in running.found if not one.unasked}
    known = {one.service for one in keyed}
    return keyed + [
        ConnectedService(service=name, address=address, keyed=False)
        for name, address in here.items()
        if name not in known
    ]


def _choices(running: Services) -> list[str]:
    """The models that may answer: the configured ones first, the built-in one last."""
    settings = running.settings.models
    named = [one.strip() for one in f"{settings.narrative},{settings.classifier}".split(",")]
    found = [one.name for one in running.found if not one.unasked]
    every = [running.narrative().name, *named, *found]
    return [*dict.fromkeys(one for one in every if one and one != OFFLINE), OFFLINE]
