"""This installation: models and settings, what was found, and what the log says of itself."""

from typing import Annotated, Literal

import msgspec
from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.adapters.files.settings_file import write_setting
from everloop.adapters.models.discovery import chosen_model
from everloop.adapters.models.offline import NAME as OFFLINE
from everloop.errors import Conflict, NotFound
from everloop.interfaces.http.dependencies import HouseDep
from everloop.interfaces.http.errors import PROBLEMS
from everloop.interfaces.http.schemas.response import Shown
from everloop.log.integrity.verify import verify
from everloop.settings import PREFIX, Described, described, load, set_outside

router = APIRouter(prefix="/api", responses=PROBLEMS, tags=["machine"])

CHANGEABLE = frozenset(
    {
        "models.timeout_s",
        "models.tokens_max",
        "models.tries",
        "thread.answer.silence_s",
        "thread.answer.tokens_max",
        "thread.answer.tool_rounds_max",
    }
)
NO_MODEL = "No language model was found. docs/models.md tells how to add one."


class SettingOut(Shown):
    """A setting: what it is called, what it is, what it means."""

    name: str
    variable: str
    value: str | int | float | bool
    default: str | int | float | bool
    kind: str
    meaning: str
    changeable: bool = False


class FoundModel(Shown):
    """A model that can be asked, and how it was found."""

    name: str
    words: str


class ModelsOut(BaseModel):
    """Which models were found, and which are in use."""

    found: list[FoundModel]
    narrative: str
    classifier: str
    offline: bool  # nothing but the built-in model talks, which only quotes
    hint: str


class Choice(BaseModel):
    """The models of a slot, in order of preference, with commas; empty: the best that is found."""

    slot: Literal["narrative", "classifier"]
    models: Annotated[str, Field(max_length=500, pattern=r"^[A-Za-z0-9_.:/@+ ,-]*$")]


class NewValue(BaseModel):
    """What a setting is to be, written as in the settings file."""

    value: Annotated[str, Field(max_length=500, pattern=r"^[ -~]*$")]


class ToolServerOut(Shown):
    """An MCP server whose tools a model may use, and how it is."""

    name: str
    way: str
    state: Literal["starting", "up", "down", "off"]
    tools: list[str]
    problem: str


class FactOut(BaseModel):
    """A fact of the log."""

    position: int
    kind: str
    stream: str
    branch: str
    actor: str
    recorded_us: int
    data: str | None


class ProofOut(Shown):
    """Whether the log is whole."""

    ok: bool
    records: int
    problems: list[str]


@router.get("/settings")
def settings(house: HouseDep) -> list[SettingOut]:
    """Every setting with its value. Secrets are not shown."""
    return [_setting(one) for one in described(house.running.settings)]


@router.put("/settings/{name}")
def change(name: str, new: NewValue, house: HouseDep) -> SettingOut:
    """Change a setting that is `changeable`, from now on and in the settings file."""
    running = house.running
    known = next((one for one in described(running.settings) if one.name == name), None)
    if known is None or name not in CHANGEABLE:
        raise NotFound(f"{name!r} cannot be changed here", hint="Edit settings.toml and restart.")
    _check_free(known.variable)
    home = running.settings.home
    load({known.variable: new.value}, home=home)  # refuses what is out of bounds
    section, _, field = name.rpartition(".")
    write_setting(running.settings.folder, section, field, new.value)
    running.choose(load(home=home))
    return next(_setting(one) for one in described(running.settings) if one.name == name)


@router.get("/models")
def models(house: HouseDep) -> ModelsOut:
    """Which models were found, and which are in use."""
    running = house.running
    talks = running.narrative().name
    return ModelsOut(
        found=[FoundModel(name=one.name, words=one.words) for one in running.found],
        narrative=talks,
        classifier=running.classifier().name,
        offline=talks == OFFLINE,
        hint=NO_MODEL if talks == OFFLINE else "",
    )


@router.put("/models")
def choose(choice: Choice, house: HouseDep) -> ModelsOut:
    """Go on with other models; nothing of a conversation is lost."""
    running = house.running
    _check_free(f"{PREFIX}MODELS_{choice.slot.upper()}")
    found = running.found if not choice.models else ()
    for_now = msgspec.structs.replace(running.settings.models, **{choice.slot: choice.models})
    chosen_model(for_now, choice.slot, found)  # refuses what is no model
    write_setting(running.settings.folder, "models", choice.slot, choice.models)
    running.choose(load(home=running.settings.home))
    return models(house)


@router.get("/tools")
def tool_servers(house: HouseDep) -> list[ToolServerOut]:
    """The MCP servers that are set, and how each of them is just now."""
    return [ToolServerOut.model_validate(one) for one in house.running.tool_servers.health()]


@router.get("/log")
def tail(
    house: HouseDep,
    before: Annotated[int | None, Query(ge=1)] = None,
    limit: Annotated[int, Query(ge=1, le=200)] = 50,
) -> list[FactOut]:
    """Facts as they are recorded, the newest first."""
    log = house.engine.log
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
def prove(house: HouseDep) -> ProofOut:
    """Check every digest of the log."""
    found = verify(house.engine.log)
    problems = [f"{one.first} to {one.last}: {one.problem}" for one in found.damage]
    return ProofOut(ok=found.ok, records=found.records, problems=problems)


def _check_free(variable: str) -> None:
    """Make sure that what is written to the file will hold.

    Raises:
        Conflict: the environment says something else, and it wins.
    """
    if set_outside(variable):
        raise Conflict(
            f"{variable} is set where Everloop was started, and wins over a choice made here",
            hint="Start it without that variable.",
        )


def _setting(one: Described) -> SettingOut:
    told = SettingOut.model_validate(one)
    changeable = one.name in CHANGEABLE and not set_outside(one.variable)
    return told.model_copy(update={"changeable": changeable})
