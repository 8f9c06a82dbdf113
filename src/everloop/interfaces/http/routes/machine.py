"""Routes for this installation: settings, models, tool servers, and the log itself."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.adapters.files.settings_file import write_setting
from everloop.adapters.models.discovery import choose_model
from everloop.adapters.models.offline import NAME as OFFLINE
from everloop.errors import Conflict, NotFound
from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.log.integrity.verify import verify
from everloop.settings import (
    PREFIX,
    SettingDescription,
    describe_settings,
    is_set_in_environment,
    load,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["machine"])

CHANGEABLE_SETTINGS = frozenset(
    {
        "models.timeout_s",
        "models.tokens_max",
        "models.tries",
        "thread.answer.silence_s",
        "thread.answer.tokens_max",
        "thread.answer.tool_rounds_max",
    }
)
NO_MODEL_HINT = "No language model was found. docs/models.md explains how to add one."


class SettingOut(ResponseBody):
    """A setting with its value, default, type and meaning."""

    name: str
    variable: str
    value: str | int | float | bool
    default: str | int | float | bool
    kind: str
    meaning: str
    changeable: bool = False


class FoundModel(ResponseBody):
    """An available model, and where it was found."""

    name: str
    words: str


class ModelsOut(BaseModel):
    """The available models, and the ones in use."""

    found: list[FoundModel]
    narrative: str
    classifier: str
    offline: bool  # only the built-in model is available, which can only quote
    hint: str


class Choice(BaseModel):
    """Models of a slot, comma-separated in order of preference; empty: automatic."""

    slot: Literal["narrative", "classifier"]
    models: Annotated[str, Field(max_length=500, pattern=r"^[A-Za-z0-9_.:/@+ ,-]*$")]


class NewValue(BaseModel):
    """A new value of a setting, written as in the settings file."""

    value: Annotated[str, Field(max_length=500, pattern=r"^[ -~]*$")]


class ToolServerOut(ResponseBody):
    """An MCP server whose tools a model may use, and its state."""

    name: str
    way: str
    state: Literal["starting", "up", "down", "off"]
    tools: list[str]
    problem: str


class FactOut(BaseModel):
    """A fact in the log."""

    position: int
    kind: str
    stream: str
    branch: str
    actor: str
    recorded_us: int
    data: str | None


class ProofOut(ResponseBody):
    """The result of verifying the log."""

    ok: bool
    records: int
    problems: list[str]


@router.get("/settings")
def settings(deps: Deps) -> list[SettingOut]:
    """List all settings with their values. Secrets are hidden."""
    return [_setting(one) for one in describe_settings(deps.running.settings)]


@router.put("/settings/{name}")
def change(name: str, new: NewValue, deps: Deps) -> SettingOut:
    """Change a setting that is `changeable`. It takes effect at once and is saved."""
    running = deps.running
    known = next((one for one in describe_settings(running.settings) if one.name == name), None)
    if known is None or name not in CHANGEABLE_SETTINGS:
        raise NotFound(f"{name!r} cannot be changed here", hint="Edit settings.toml and restart.")
    _check_not_overridden(known.variable)
    home = running.settings.home
    load({known.variable: new.value}, home=home)  # raises if the value is out of bounds
    section, _, field = name.rpartition(".")
    write_setting(running.settings.folder, section, field, new.value)
    running.choose(load(home=home))
    return next(_setting(one) for one in describe_settings(running.settings) if one.name == name)


@router.get("/models")
def models(deps: Deps) -> ModelsOut:
    """The available models, and the ones in use."""
    running = deps.running
    narrative = running.narrative().name
    return ModelsOut(
        found=[FoundModel(name=one.name, words=one.words) for one in running.found],
        narrative=narrative,
        classifier=running.classifier().name,
        offline=narrative == OFFLINE,
        hint=NO_MODEL_HINT if narrative == OFFLINE else "",
    )


@router.put("/models")
def choose(choice: Choice, deps: Deps) -> ModelsOut:
    """Choose other models. Conversations continue without loss."""
    running = deps.running
    _check_not_overridden(f"{PREFIX}MODELS_{choice.slot.upper()}")
    found = running.found if not choice.models else ()
    candidate = msgspec.structs.replace(running.settings.models, **{choice.slot: choice.models})
    choose_model(candidate, choice.slot, found)  # raises if a name is not a model
    write_setting(running.settings.folder, "models", choice.slot, choice.models)
    running.choose(load(home=running.settings.home))
    return models(deps)


@router.get("/tools")
def tool_servers(deps: Deps) -> list[ToolServerOut]:
    """The configured MCP servers, and the current state of each."""
    return [ToolServerOut.model_validate(one) for one in deps.running.tool_servers.health()]


@router.get("/log")
def tail(
    deps: Deps,
    before: Annotated[int | None, Query(ge=1)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> list[FactOut]:
    """Recorded facts, newest first."""
    log = deps.engine.log
    upto = log.head if before is None else min(before - 1, log.head)
    records = list(log.records(after=max(0, upto - limit), upto=upto))
    return [
        FactOut(
            position=record.position,
            kind=record.kind,
            stream=record.stream,
            branch=record.branch,
            actor=record.actor,
            recorded_us=record.recorded_us,
            data=None if record.kind.startswith("access.") else record.data,
        )
        for record in reversed(records)
    ]


@router.post("/log/proof")
def prove(deps: Deps) -> ProofOut:
    """Verify the log: check the digest of every record."""
    found = verify(deps.engine.log)
    problems = [f"{one.first} to {one.last}: {one.problem}" for one in found.damage]
    return ProofOut(ok=found.ok, records=found.records, problems=problems)


def _check_not_overridden(variable: str) -> None:
    """Check that no environment variable overrides what is written to the settings file.

    Raises:
        Conflict: one does.
    """
    if is_set_in_environment(variable):
        raise Conflict(
            f"the environment variable {variable} overrides this setting",
            hint="Unset it and restart Everloop.",
        )


def _setting(one: SettingDescription) -> SettingOut:
    setting = SettingOut.model_validate(one)
    changeable = one.name in CHANGEABLE_SETTINGS and not is_set_in_environment(one.variable)
    return setting.model_copy(update={"changeable": changeable})
