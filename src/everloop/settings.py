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
from everloop.lessons.capture.settings import CaptureSettings
from everloop.lessons.feedback.settings import SentimentSettings
from everloop.lessons.manifest.settings import ManifestSettings
from everloop.lessons.settings import GateRules, LessonSettings
from everloop.log.maintenance.backup import BackupPlan
from everloop.log.model.limits import Limits
from everloop.log.transfer.warehouse import SinkLimits
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.thread.settings import ThreadSettings
from everloop.thread.turns.tool_servers import Servers

PREFIX = "EVERLOOP_"
FILE = "settings.toml"
HOST_SESSION = "CLAUDE_CODE_SESSION_ID"  # what Claude Code tells whatever it starts
_PLACE = re.compile(r" - at `\$\.([\w.]+)`$")  # how msgspec ends what it says of a value
_FEW = re.compile(r"\^\((\w+(?:\|\w+)+)\)\$")  # the pattern of a setting with a few values
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
OTHERS = {  # names that others gave to what we need too, and what they are called here
    "ANTHROPIC_API_KEY": "anthropic_key",
    "ANTHROPIC_BASE_URL": "anthropic_url",
    "OPENAI_API_KEY": "openai_key",
    "OPENAI_BASE_URL": "openai_url",
    "OPENROUTER_API_KEY": "openrouter_key",
}


class DoorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who comes in, and how much one may say at a time; section `[doors]`."""

    admit_hosts: Annotated[
        str,
        Meta(
            pattern="^(all|granted)$",
            description="`all`: a host that nobody decided about may ask within every scope."
            " `granted`: only those that you let in with `everloop grants allow`.",
        ),
    ] = "all"
    line_bytes_max: Annotated[
        int, Meta(ge=1_024, description="Longest line that the JSON-RPC door reads, in bytes.")
    ] = 10_000_000
    depth_max: Annotated[
        int, Meta(ge=4, le=500, description="Deepest nesting of a JSON value that it reads.")
    ] = 64
    batch_max: Annotated[
        int, Meta(ge=1, description="Most requests that one JSON-RPC batch may hold.")
    ] = 1_000
    connections_max: Annotated[
        int, Meta(ge=1, description="Most clients that its socket serves at the same time.")
    ] = 64
    results_max: Annotated[
        int, Meta(ge=1, description="Most results that one call of an MCP tool gives.")
    ] = 50
    preview_characters: Annotated[
        int, Meta(ge=80, description="How much of a text an MCP list shows; the rest is by id.")
    ] = 1_000
    text_characters_max: Annotated[
        int, Meta(ge=280, description="Longest text that an MCP tool takes in.")
    ] = 50_000


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What a host's prompt is given by itself; section `[hooks]`."""

    prompt_characters_min: Annotated[
        int, Meta(ge=0, description="A prompt shorter than this is given nothing.")
    ] = 20
    recall_limit: Annotated[
        int, Meta(ge=0, description="Most memories that a prompt is given. 0: none.")
    ] = 5
    recall_mode: Annotated[
        str,
        Meta(
            pattern="^(text|semantic|hybrid)$",
            description="`text` is quick; `hybrid` and `semantic` load the embedder each time.",
        ),
    ] = "text"
    similarity_min: Annotated[
        float, Meta(ge=0, le=1, description="How near a memory must be, 0 to 1, to be given.")
    ] = 0.4
    tokens_max: Annotated[
        int, Meta(ge=100, description="Most tokens that a hook adds to a prompt.")
    ] = 4_000


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the HTTP door listens, and by which names it is known; section `[serve]`."""

    host: Annotated[
        str, Meta(description="The address to listen on. Beyond loopback, name it on purpose.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="The port. 0: any that is free.")] = 7777
    hosts: Annotated[
        str,
        Meta(
            description="Names by which browsers may reach it besides loopback, with commas"
            " between them. Requests for any other name are refused."
        ),
    ] = ""
    secure: Annotated[
        bool, Meta(description="Whether browsers reach it by https, through a proxy or a tunnel.")
    ] = False
    body_bytes_max: Annotated[int, Meta(ge=1_000, description="The largest request.")] = 30_000_000
    import_bytes_max: Annotated[
        int, Meta(ge=1_000, description="The largest export of conversations that is taken in.")
    ] = 2_000_000_000
    code_lives_s: Annotated[
        int, Meta(ge=30, description="How long a code for pairing a device holds, in seconds.")
    ] = 600
    device_lives_days: Annotated[
        int, Meta(ge=1, description="A device must be paired anew after so many days.")
    ] = 365
    beat_s: Annotated[
        float, Meta(gt=0, description="The stream sends a heartbeat so often, in seconds.")
    ] = 15.0
    tries_max: Annotated[
        int, Meta(ge=1, description="How often one peer may try to sign in within a minute.")
    ] = 10
    access_url: Annotated[
        str,
        Meta(
            description="Cloudflare Access: `https://TEAM.cloudflareaccess.com`. Whoever it lets"
            " through is signed in. Empty: its tokens are ignored."
        ),
    ] = ""
    access_audience: Annotated[
        str, Meta(description="The audience tag (AUD) of the Cloudflare Access application.")
    ] = ""

    @property
    def names(self) -> tuple[str, ...]:
        """The names by which browsers may reach it besides loopback."""
        return tuple(name.strip().lower() for name in self.hosts.split(",") if name.strip())


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
    sink: SinkLimits = SinkLimits()
    memory: MemorySettings = MemorySettings()
    lessons: LessonSettings = LessonSettings()
    manifest: ManifestSettings = ManifestSettings()
    models: ModelSettings = ModelSettings()
    thread: ThreadSettings = ThreadSettings()
    serve: ServeSettings = ServeSettings()
    doors: DoorSettings = DoorSettings()
    hooks: HookSettings = HookSettings()
    sentiment: SentimentSettings = SentimentSettings()
    capture: CaptureSettings = CaptureSettings()
    tools: Annotated[
        Servers,
        Meta(description="MCP servers whose tools a model may use, each a section `[tools.NAME]`."),
    ] = {}

    @property
    def folder(self) -> Path:
        """The data home as a path."""
        return Path(self.home).expanduser()


def load(environment: Mapping[str, str] | None = None, *, home: str | None = None) -> Settings:
    """The settings in force.

    Raises:
        Invalid: a setting is unknown or out of bounds, or a variable loosens what guards the user.
    """
    variables = os.environ if environment is None else environment
    chosen = home or variables.get("EVERLOOP_HOME") or variables.get("LOOP_HOME") or "~/.everloop"
    values = _from_file(Path(chosen).expanduser() / FILE)
    written = _checked(values)
    values["home"] = chosen
    _borrow(values, variables)
    for name, value in sorted(variables.items()):
        if name.startswith(PREFIX) and name != "EVERLOOP_HOME":
            _set(values, name, value)
    settings = _checked(values)
    _check_guards(settings, written)
    return settings


def host_session(environment: Mapping[str, str] | None = None) -> str:
    """The run of the host that started this process, by the host's own name; empty if unknown."""
    variables = os.environ if environment is None else environment
    said = variables.get(HOST_SESSION, "")
    return said if _SESSION.fullmatch(said) else ""


def set_outside(variable: str, environment: Mapping[str, str] | None = None) -> bool:
    """Whether the environment sets this, so that no settings file can."""
    return variable in (os.environ if environment is None else environment)


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
        if isinstance(default, dict):  # of named sections, the names are shown
            value, default = ", ".join(sorted(value)), ""
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


def _checked(values: dict[str, Any]) -> Settings:
    try:
        return msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as problem:
        raise Invalid(_complaint(str(problem), values), hint="See docs/settings.md.") from problem


def _complaint(problem: str, values: dict[str, Any]) -> str:
    """What is wrong, in words; of a setting that has a few possible values, which ones."""
    place = _PLACE.search(problem)
    value: Any = values
    shape: inspect.Type | None = inspect.type_info(Settings)
    for name in place[1].split(".") if place else ():
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        shape = _below(shape, name)
    choices = _choices(shape)
    if place is None or not choices:
        return f"a setting is wrong: {problem}"
    *most, last = choices
    return f"{place[1]} cannot be {value!r}: it is {', '.join(most)} or {last}"


def _below(shape: inspect.Type | None, name: str) -> inspect.Type | None:
    """What a section says of a setting in it."""
    if not isinstance(shape, inspect.StructType):
        return None
    return next((field.type for field in shape.fields if field.name == name), None)


def _choices(shape: inspect.Type | None) -> list[str]:
    """The values that a setting can have, if they are few."""
    inner = shape.type if isinstance(shape, inspect.Metadata) else shape
    pattern = inner.pattern if isinstance(inner, inspect.StrType) else None
    few = _FEW.fullmatch(pattern or "")
    return few[1].split("|") if few else []


def _check_guards(settings: Settings, written: Settings) -> None:
    """Let variables make the gate and the doors stricter than the file says, and never looser.

    Whoever starts a process chooses its variables, and that may be an agent with a shell.
    """
    loose = [
        f"lessons.{field.name}"
        for field in msgspec.structs.fields(GateRules)
        if getattr(settings.lessons, field.name) < getattr(written.lessons, field.name)
    ]
    if written.doors.admit_hosts != settings.doors.admit_hosts == "all":
        loose.append("doors.admit_hosts")
    if loose:
        raise Invalid(
            f"no variable may loosen {', '.join(loose)}",
            hint=f"Write it into {FILE} in the data home.",
        )


def _from_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(
            f"{path.name} is not valid TOML: {problem}", hint=f"Correct that line of {path}."
        ) from problem


def _borrow(values: dict[str, Any], variables: Mapping[str, str]) -> None:
    """Take over what other programs' variables say, where the settings file says nothing."""
    section = values.setdefault("models", {})
    for name, setting in OTHERS.items():
        if variables.get(name) and isinstance(section, dict):
            cast("dict[str, Any]", section).setdefault(setting, variables[name])


def _set(values: dict[str, Any], name: str, value: str) -> None:
    if not _put(values, Settings, name.removeprefix(PREFIX).lower(), value):
        raise Invalid(f"{name} is not a setting", hint="`everloop settings` lists them.")


def _put(values: dict[str, Any], section: Any, path: str, value: str) -> bool:
    """Set what a path names in a section or in one below it; False if it names nothing there."""
    if not (isinstance(section, type) and issubclass(section, msgspec.Struct)):
        return False
    for field in msgspec.structs.fields(section):
        if path == field.name:
            values[path] = value
            return True
        inner = path.removeprefix(f"{field.name}_")
        below = values.get(field.name, {})
        if inner != path and _put(below, field.type, inner, value):
            values[field.name] = below
            return True
    return False
