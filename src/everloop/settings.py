"""All settings in one frozen value, from defaults, the settings file and the environment.

The environment wins over `settings.toml` in the data home, which wins over the defaults. A name
in the environment is `EVERLOOP_` and the path to the setting: `EVERLOOP_LOG_POLL_S=0.5`. Nothing
else in Everloop reads the environment.
"""

import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, inspect

from everloop.errors import Invalid
from everloop.log.backups import BackupPlan
from everloop.log.limits import Limits
from everloop.memory.limits import MemorySettings

PREFIX = "EVERLOOP_"
FILE = "settings.toml"


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be set. Each field says what it is for; `docs/settings.md` is made from it."""

    home: Annotated[
        str, Meta(description="The data home. `LOOP_HOME` is honoured if only that is set.")
    ] = "~/.everloop"
    store: Annotated[
        str, Meta(description="A PostgreSQL address, if the log lives there. Empty: a local file.")
    ] = ""
    log: Limits = Limits()
    backups: BackupPlan = BackupPlan()
    memory: MemorySettings = MemorySettings()

    @property
    def folder(self) -> Path:
        """The data home as a path."""
        return Path(self.home).expanduser()


def load(environment: Mapping[str, str] | None = None, *, home: str | None = None) -> Settings:
    """The settings in force.

    Raises:
        Invalid: a setting is unknown or out of bounds.
    """
    variables = os.environ if environment is None else environment
    chosen = home or variables.get("EVERLOOP_HOME") or variables.get("LOOP_HOME") or "~/.everloop"
    values = _from_file(Path(chosen).expanduser() / FILE)
    values["home"] = chosen
    for name, value in sorted(variables.items()):
        if name.startswith(PREFIX) and name != "EVERLOOP_HOME":
            _set(values, name, value)
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as problem:
        raise Invalid(f"a setting is wrong: {problem}", hint="See docs/settings.md.") from problem


class Described(msgspec.Struct, frozen=True):
    """A setting for a person to read: what it is called, what it is, what it means."""

    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    kind: str
    meaning: str


def described(settings: Settings | None = None) -> list[Described]:
    """Every setting with its value (by default, its default). Passwords are not shown."""
    return list(_described(settings or Settings(), Settings(), prefix=""))


def hide_password(address: str) -> str:
    """A database address without its password."""
    try:
        password = urlsplit(address).password
    except ValueError:
        return "(an address that cannot be read)"
    shown = address.replace(f":{password}@", ":…@") if password else address
    return re.sub(r"(password=)[^&]*", r"\1…", shown)


def _described(
    values: msgspec.Struct, defaults: msgspec.Struct, prefix: str
) -> Iterator[Described]:
    for field in msgspec.structs.fields(defaults):
        value, default = getattr(values, field.name), getattr(defaults, field.name)
        if isinstance(default, msgspec.Struct):
            yield from _described(value, default, f"{prefix}{field.name}.")
            continue
        name, shape = f"{prefix}{field.name}", inspect.type_info(field.type)
        yield Described(
            name=name,
            variable=f"{PREFIX}{name.replace('.', '_').upper()}",
            value=_shown(name, value) if isinstance(value, str) else value,
            default=default,
            kind=_kind(shape),
            meaning=_meaning(shape),
        )


def _shown(name: str, value: str) -> str:
    """A value for a person to read; a secret is not."""
    return "…" if value and name.endswith("_key") else hide_password(value)


def _kind(shape: inspect.Type) -> str:
    """The type and bounds of a field, in words."""
    inner = shape.type if isinstance(shape, inspect.Metadata) else shape
    match inner:
        case inspect.IntType(ge=bound):
            return "whole number" + (f", at least {bound}" if bound is not None else "")
        case inspect.FloatType(ge=least, gt=above):
            if above is not None:
                return f"number, above {above}"
            return "number" + (f", at least {least}" if least is not None else "")
        case _:
            return "text"


def _meaning(shape: inspect.Type) -> str:
    if not isinstance(shape, inspect.Metadata):
        return ""
    extra = cast("dict[str, str]", shape.extra_json_schema or {})
    return extra.get("description", "")


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(f"{path.name} is not valid TOML: {problem}") from problem


def _set(values: dict[str, Any], name: str, value: str) -> None:
    path = name.removeprefix(PREFIX).lower()
    for field in msgspec.structs.fields(Settings):
        if path == field.name:
            values[path] = value
            return
        inner = path.removeprefix(f"{field.name}_")
        if inner != path and _has(field.type, inner):
            values.setdefault(field.name, {})[inner] = value
            return
    raise Invalid(f"{name} is not a setting", hint="`everloop settings` lists them.")


def _has(section: Any, name: str) -> bool:
    if not (isinstance(section, type) and issubclass(section, msgspec.Struct)):
        return False
    return any(field.name == name for field in msgspec.structs.fields(section))
