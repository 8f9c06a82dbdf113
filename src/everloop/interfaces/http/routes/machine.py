"""Routes for this installation: settings, tool servers, and the log itself."""

from typing import Annotated, Literal

from fastapi import APIRouter, Query
from pydantic import BaseModel, Field

from everloop.adapters import remove_setting, write_setting
from everloop.errors import Conflict, NotFound
from everloop.interfaces.http.dependencies import Deps
from everloop.interfaces.http.errors import ERROR_RESPONSES
from everloop.interfaces.http.schemas.response import ResponseBody
from everloop.interfaces.http.setting_changes import change_policy
from everloop.log import verify_log
from everloop.services import Services
from everloop.settings import (
    SettingDescription,
    describe_settings,
    is_set_in_environment,
    load,
)

router = APIRouter(prefix="/api", responses=ERROR_RESPONSES, tags=["machine"])


class SettingOut(ResponseBody):
    """A setting with its value, default, type and meaning.

    `fixed_because` says why it cannot be changed here, and where it can. `restart`: a change takes
    effect at the next start; `pending`: it was changed and waits for that.
    """

    name: str
    variable: str
    value: str | int | float | bool
    default: str | int | float | bool
    kind: str
    meaning: str
    choices: list[str]
    least: float | None
    most: float | None
    changeable: bool = False
    fixed_because: str = ""
    restart: bool = False
    pending: bool = False


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
    return _list_settings(deps.running)


@router.put("/settings/{name}")
def change(name: str, new: NewValue, deps: Deps) -> SettingOut:
    """Change a setting that is `changeable`. It is saved, and takes effect as `restart` says."""
    running = deps.running
    known = _changeable(running, name)
    home = running.settings.home
    checked = load({known.variable: new.value}, home=home)  # raises if it is out of bounds
    value = next(one.value for one in describe_settings(checked) if one.name == name)
    section, _, field = name.rpartition(".")
    write_setting(running.settings.folder, section, field, value)
    running.choose(load(home=home))
    return _find_setting(running, name)


@router.delete("/settings/{name}")
def reset(name: str, deps: Deps) -> SettingOut:
    """Reset a setting that is `changeable` to its default."""
    running = deps.running
    _changeable(running, name)
    section, _, field = name.rpartition(".")
    remove_setting(running.settings.folder, section, field)
    running.choose(load(home=running.settings.home))
    return _find_setting(running, name)


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
    found = verify_log(deps.engine.log)
    problems = [f"{one.first} to {one.last}: {one.problem}" for one in found.damage]
    return ProofOut(ok=found.ok, records=found.records, problems=problems)


def check_not_overridden(variable: str) -> None:
    """Check that no environment variable overrides what is written to the settings file.

    Raises:
        Conflict: one does.
    """
    if is_set_in_environment(variable):
        raise Conflict(
            f"the environment variable {variable} overrides this setting",
            hint="Unset it and restart Everloop.",
        )


def _list_settings(running: Services) -> list[SettingOut]:
    at_start = {one.name: one.value for one in describe_settings(running.initial_settings)}
    return [_setting(one, at_start[one.name]) for one in describe_settings(running.settings)]


def _find_setting(running: Services, name: str) -> SettingOut:
    return next(one for one in _list_settings(running) if one.name == name)


def _setting(one: SettingDescription, at_start: str | float) -> SettingOut:
    policy = change_policy(one)
    return SettingOut.model_validate(one).model_copy(
        update={
            "changeable": not policy.fixed_because,
            "fixed_because": policy.fixed_because,
            "restart": policy.restart,
            "pending": policy.restart and one.value != at_start,
        }
    )


def _changeable(running: Services, name: str) -> SettingDescription:
    """The setting with this name.

    Raises:
        NotFound: there is none, or it cannot be changed here.
        Conflict: an environment variable overrides it.
    """
    known = next((one for one in describe_settings(running.settings) if one.name == name), None)
    if known is None:
        raise NotFound(f"no setting {name!r}", hint="`everloop settings` lists them.")
    check_not_overridden(known.variable)
    if reason := change_policy(known).fixed_because:
        raise NotFound(f"{name!r} cannot be changed here", hint=reason)
    return known
