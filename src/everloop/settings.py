"""Configuration: one frozen value from defaults, the settings file and environment variables.

Environment variables override `settings.toml` in the data home, which overrides the defaults;
`keys.toml` beside it has the keys that were entered in the web app. A variable is `EVERLOOP_` plus
the path of the setting: `EVERLOOP_LOG_POLL_S=0.5`. No other module reads the environment.
"""

import math
import os
import re
import tomllib
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Annotated, Any, Literal, cast
from urllib.parse import urlsplit

import msgspec
from msgspec import Meta, inspect

from everloop.errors import Invalid
from everloop.inbox.settings import InboxSettings
from everloop.lessons.capture.settings import CaptureSettings
from everloop.lessons.feedback.settings import FeedbackSettings
from everloop.lessons.manifest.settings import ManifestSettings
from everloop.lessons.settings import RULE_NAMES, LessonSettings
from everloop.log.maintenance.backup import BackupPlan
from everloop.log.model.limits import Limits
from everloop.log.transfer.warehouse import SinkLimits
from everloop.memory.settings import MemorySettings
from everloop.model_settings import KEYS_FILE, ModelSettings
from everloop.notifications.settings import NotificationSettings
from everloop.thread.settings import ThreadSettings
from everloop.turns.tool_servers import ToolServerSettings
from everloop.voice.settings import VoiceSettings
from everloop.workers.github.settings import GitHubSettings
from everloop.workers.settings import WorkerSettings
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.settings import WorldSettings

PREFIX = "EVERLOOP_"
FILE = "settings.toml"
HOST_SESSION = "CLAUDE_CODE_SESSION_ID"  # set by Claude Code for the processes it starts
_ERROR_PATH = re.compile(r" - at `\$\.([\w.]+)`$")  # the path at the end of a msgspec error
_UNKNOWN_FIELD = re.compile(r"Object contains unknown field `([^`]+)`(?: - at `\$\.([^`]+)`)?")
_CHOICES = re.compile(r"\^\((\w+(?:\|\w+)+)\)\$")  # the pattern of a fixed list of values
_SESSION = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,127}")
FOREIGN_VARIABLES = {  # well-known variables of other programs, and our settings for them
    "ANTHROPIC_API_KEY": "anthropic_key",
    "ANTHROPIC_BASE_URL": "anthropic_url",
    "OPENAI_API_KEY": "openai_key",
    "OPENAI_BASE_URL": "openai_url",
    "OPENROUTER_API_KEY": "openrouter_key",
}


class DoorSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Access of hosts, and limits of the JSON-RPC and MCP interfaces; section `[doors]`."""

    admit_hosts: Annotated[
        str,
        Meta(
            pattern="^(all|granted)$",
            description="`all`: a new host gets access to every scope, if you installed it at a"
            " terminal or gave it a token, or if nobody else has written to the log yet."
            " `granted`: only hosts that you allow with `everloop grants allow` get access; the log"
            " keeps that. `everloop grants allow 'agent:*' '*'` lets in every new host.",
        ),
    ] = "all"
    line_bytes_max: Annotated[
        int, Meta(ge=1_024, description="Longest line that the JSON-RPC server accepts, in bytes.")
    ] = 10_000_000
    depth_max: Annotated[
        int, Meta(ge=4, le=500, description="Deepest nesting of a JSON value that it accepts.")
    ] = 64
    batch_max: Annotated[
        int, Meta(ge=1, description="Maximum number of requests in one JSON-RPC batch.")
    ] = 1_000
    connections_max: Annotated[
        int, Meta(ge=1, description="Maximum number of simultaneous connections to its socket.")
    ] = 64
    results_max: Annotated[
        int, Meta(ge=1, description="Maximum number of results of one MCP tool call.")
    ] = 50
    preview_characters: Annotated[
        int, Meta(ge=80, description="Characters of a text shown in MCP lists; all of it by id.")
    ] = 1_000
    session_idle_s: Annotated[
        float, Meta(gt=0, description="Seconds without a request after which an MCP session ends.")
    ] = 1_800.0
    sessions_max: Annotated[
        int, Meta(ge=1, description="Maximum number of simultaneous MCP sessions over HTTP.")
    ] = 1_000
    task_wait_s: Annotated[
        float,
        Meta(
            ge=0, description="How long the MCP tool `claude_code` waits for a result, in seconds."
        ),
    ] = 50.0
    text_characters_max: Annotated[
        int, Meta(ge=280, description="Longest text that an MCP tool accepts, in characters.")
    ] = 50_000


class HookSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What hooks add to a host's prompt automatically; section `[hooks]`."""

    prompt_characters_min: Annotated[
        int, Meta(ge=0, description="Nothing is added to a prompt shorter than this.")
    ] = 20
    recall_limit: Annotated[
        int, Meta(ge=0, description="Maximum number of memories added to a prompt. 0: none.")
    ] = 5
    recall_mode: Annotated[
        str,
        Meta(
            pattern="^(text|semantic|hybrid)$",
            description="`text` is fast; `hybrid` and `semantic` load the embedder every time.",
        ),
    ] = "text"
    similarity_min: Annotated[
        float, Meta(ge=0, le=1, description="Minimum similarity of a memory that is added, 0 to 1.")
    ] = 0.4
    tokens_max: Annotated[
        int, Meta(ge=100, description="Maximum number of tokens that a hook adds to a prompt.")
    ] = 4_000


class ServeSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Address, host names, limits and sign-in of the HTTP server; section `[serve]`."""

    host: Annotated[
        str, Meta(description="The address to listen on. Other than loopback, also pass `--host`.")
    ] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="The port. 0: any free port.")] = 7777
    hosts: Annotated[
        str,
        Meta(
            description="Allowed host names besides loopback, separated by commas."
            " Requests for any other host name are refused."
        ),
    ] = ""
    secure: Annotated[
        bool, Meta(description="Whether browsers connect by https, through a proxy or tunnel.")
    ] = False
    body_bytes_max: Annotated[int, Meta(ge=1_000, description="Largest request, in bytes.")] = (
        30_000_000
    )
    import_bytes_max: Annotated[
        int, Meta(ge=1_000, description="Largest file of conversations to import, in bytes.")
    ] = 2_000_000_000
    sign_in_bytes_max: Annotated[
        int, Meta(ge=4_096, description="Largest request for signing in, in bytes.")
    ] = 65_536
    head_bytes_max: Annotated[
        int,
        Meta(ge=4_096, description="Largest head (address and headers) of a request, in bytes."),
    ] = 65_536
    head_wait_s: Annotated[
        float,
        Meta(
            gt=0,
            description="How long a connection may take to send the head of a request, or the body"
            " of one for signing in, in seconds.",
        ),
    ] = 10.0
    silent_max: Annotated[
        int,
        Meta(ge=8, description="Connections kept that sent no request yet; the oldest goes first."),
    ] = 256
    code_lives_s: Annotated[
        int, Meta(ge=30, description="How long a pairing code is valid, in seconds.")
    ] = 600
    device_lives_days: Annotated[
        int, Meta(ge=1, description="Days after which a device must pair again.")
    ] = 365
    beat_s: Annotated[
        float, Meta(gt=0, description="Interval of heartbeats on the event stream, in seconds.")
    ] = 15.0
    tries_max: Annotated[
        int, Meta(ge=1, description="Sign-in attempts that one address may make in a minute.")
    ] = 10
    access_url: Annotated[
        str,
        Meta(
            description="Cloudflare Access: `https://TEAM.cloudflareaccess.com`. Users that it"
            " authenticates are signed in. Empty: its tokens are ignored."
        ),
    ] = ""
    access_audience: Annotated[
        str, Meta(description="The audience tag (AUD) of the Cloudflare Access application.")
    ] = ""

    @property
    def host_names(self) -> tuple[str, ...]:
        """The allowed host names besides loopback."""
        return tuple(name.strip().lower() for name in self.hosts.split(",") if name.strip())


class ObserveSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What operators see from outside; section `[observe]`."""

    metrics_key: Annotated[
        str,
        Meta(
            pattern="^(.{24,})?$",
            description="The token that Prometheus sends for `/metrics`, at least 24 characters."
            " Empty: there is no `/metrics`.",
        ),
    ] = ""
    logs: Annotated[
        Literal["off", "json"],
        Meta(
            description="`json`: the server writes a line of JSON to standard error for every"
            " request and operation, without anything that you wrote."
        ),
    ] = "off"
    otlp_endpoint: Annotated[
        str,
        Meta(
            pattern="^(https?://.+)?$",
            description="The address of an OpenTelemetry collector (OTLP over HTTP), such as"
            " `http://127.0.0.1:4318`. Empty: no traces.",
        ),
    ] = ""
    otlp_key: Annotated[
        str,
        Meta(description="The bearer token that the collector wants. Empty: none is sent."),
    ] = ""
    export_every_s: Annotated[
        float,
        Meta(ge=0.1, description="How often traces and metrics are sent, in seconds."),
    ] = 15.0


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings. `docs/settings.md` is generated from the descriptions of the fields."""

    home: Annotated[
        str, Meta(description="The data home. `LOOP_HOME` is used if only that is set.")
    ] = "~/.everloop"
    store: Annotated[
        str,
        Meta(description="URL of the PostgreSQL server that stores the log. Empty: a local file."),
    ] = ""
    log: Limits = Limits()
    backups: BackupPlan = BackupPlan()
    sink: SinkLimits = SinkLimits()
    memory: MemorySettings = MemorySettings()
    lessons: LessonSettings = LessonSettings()
    manifest: ManifestSettings = ManifestSettings()
    models: ModelSettings = ModelSettings()
    thread: ThreadSettings = ThreadSettings()
    inbox: InboxSettings = InboxSettings()
    notifications: NotificationSettings = NotificationSettings()
    workers: WorkerSettings = WorkerSettings()
    github: GitHubSettings = GitHubSettings()
    worlds: WorldSettings = WorldSettings()
    exchange: ExchangeLimits = ExchangeLimits()
    serve: ServeSettings = ServeSettings()
    doors: DoorSettings = DoorSettings()
    observe: ObserveSettings = ObserveSettings()
    voice: VoiceSettings = VoiceSettings()
    hooks: HookSettings = HookSettings()
    sentiment: FeedbackSettings = FeedbackSettings()
    capture: CaptureSettings = CaptureSettings()
    tools: Annotated[
        ToolServerSettings,
        Meta(
            description="MCP servers whose tools a model may use, each in a section `[tools.NAME]`."
        ),
    ] = {}

    @property
    def folder(self) -> Path:
        """The data home as a path."""
        return Path(self.home).expanduser()


HOME_VARIABLES = ("EVERLOOP_HOME", "LOOP_HOME")  # the first one that is set counts


def load(environment: Mapping[str, str] | None = None, *, home: str | None = None) -> Settings:
    """Load the settings from defaults, file and environment.

    Raises:
        Invalid: a setting is unknown or out of bounds, or a variable weakens a security setting.
    """
    variables = os.environ if environment is None else environment
    chosen = _chosen_home(variables, home)
    values = _read_file(Path(chosen).expanduser() / FILE)
    from_file = _validate(values)
    _apply_keys(values, Path(chosen).expanduser() / KEYS_FILE)
    values["home"] = chosen
    _apply_foreign_variables(values, variables)
    for name, value in sorted(variables.items()):
        if name.startswith(PREFIX) and name != "EVERLOOP_HOME":
            _set(values, name, value)
    settings = _validate(values)
    _check_guards(settings, from_file)
    return settings


def data_home(environment: Mapping[str, str] | None = None, *, home: str | None = None) -> Path:
    """The data home, also if the settings in it are invalid."""
    variables = os.environ if environment is None else environment
    return Path(_chosen_home(variables, home)).expanduser()


def host_session(environment: Mapping[str, str] | None = None) -> str:
    """The session id of the host that started this process; empty if unknown."""
    variables = os.environ if environment is None else environment
    session = variables.get(HOST_SESSION, "")
    return session if _SESSION.fullmatch(session) else ""


def program_search_path(environment: Mapping[str, str] | None = None) -> str:
    """Where programs are looked for, as in `PATH`."""
    return (os.environ if environment is None else environment).get("PATH", os.defpath)


def is_set_in_environment(variable: str, environment: Mapping[str, str] | None = None) -> bool:
    """Whether an environment variable is set, and so overrides the settings file."""
    return variable in (os.environ if environment is None else environment)


class SettingDescription(msgspec.Struct, frozen=True):
    """A setting for display: name, value, default, type, bounds and meaning."""

    name: str
    variable: str
    value: str | int | float
    default: str | int | float
    kind: str
    meaning: str
    choices: tuple[str, ...] = ()
    least: float | None = None
    most: float | None = None


def describe_settings(settings: Settings | None = None) -> list[SettingDescription]:
    """All settings with their values, by default the defaults. Passwords are hidden."""
    return list(_describe(settings or Settings(), Settings(), prefix=""))


def hide_password(address: str) -> str:
    """A database address without its password."""
    try:
        password = urlsplit(address).password
    except ValueError:
        return "(not a valid URL)"
    shown = address.replace(f":{password}@", ":…@") if password else address
    return re.sub(r"(password=)[^&]*", r"\1…", shown)


def _chosen_home(variables: Mapping[str, str], home: str | None) -> str:
    return home or next(filter(None, map(variables.get, HOME_VARIABLES)), "~/.everloop")


def _describe(
    values: msgspec.Struct, defaults: msgspec.Struct, prefix: str
) -> Iterator[SettingDescription]:
    for field in msgspec.structs.fields(defaults):
        value, default = getattr(values, field.name), getattr(defaults, field.name)
        if isinstance(default, msgspec.Struct):
            yield from _describe(value, default, f"{prefix}{field.name}.")
            continue
        if isinstance(default, dict):  # of named sections, only the names are shown
            value, default = ", ".join(sorted(value)), ""
        if isinstance(default, tuple):
            value, default = ", ".join(value), ", ".join(cast("tuple[str, ...]", default))
        name, shape = f"{prefix}{field.name}", inspect.type_info(field.type)
        yield SettingDescription(
            name=name,
            variable=f"{PREFIX}{name.replace('.', '_').upper()}",
            value=_display(name, value) if isinstance(value, str) else value,
            default=default,
            kind=_kind(shape),
            meaning=_meaning(shape),
            choices=tuple(_choices(shape)),
            least=_bound(shape, "ge"),
            most=_bound(shape, "le"),
        )


def _display(name: str, value: str) -> str:
    """A value for display, with secrets hidden."""
    return "…" if value and name.endswith("_key") else hide_password(value)


def _kind(shape: inspect.Type) -> str:
    """The type and bounds of a field, for display."""
    inner = shape.type if isinstance(shape, inspect.Metadata) else shape
    match inner:
        case inspect.IntType():
            return "whole number" + _bounds(inner)
        case inspect.FloatType():
            return "number" + _bounds(inner)
        case inspect.BoolType():
            return "yes or no"
        case _:
            return "one of a list" if _choices(shape) else "text"


def _bounds(number: inspect.IntType | inspect.FloatType) -> str:
    """The bounds of a number, for display."""
    named = (("at least", number.ge), ("above", number.gt), ("at most", number.le))
    return "".join(f", {words} {bound}" for words, bound in named if bound is not None)


def _bound(shape: inspect.Type, name: str) -> float | None:
    """The lowest or highest value of a number, if it has one."""
    inner = shape.type if isinstance(shape, inspect.Metadata) else shape
    return getattr(inner, name, None)


def _meaning(shape: inspect.Type) -> str:
    if not isinstance(shape, inspect.Metadata):
        return ""
    extra = cast("dict[str, str]", shape.extra_json_schema or {})
    return extra.get("description", "")


def _validate(values: dict[str, Any]) -> Settings:
    try:
        settings = msgspec.convert(values, Settings, strict=False)
    except msgspec.ValidationError as problem:
        raise Invalid(
            _error_message(str(problem), values),
            hint="Correct it in settings.toml or in the environment; docs/settings.md lists all.",
        ) from problem
    for setting in describe_settings(settings):
        if isinstance(setting.value, float) and not math.isfinite(setting.value):
            raise Invalid(
                f"{setting.name} cannot be {setting.value}", hint="Give a number that has an end."
            )
    return settings


def _error_message(problem: str, values: dict[str, Any]) -> str:
    """The error message of an invalid setting, with the allowed values if there is a list."""
    if unknown := _UNKNOWN_FIELD.fullmatch(problem):
        section = (unknown[2] or "").replace("[...]", ".NAME")
        return _unknown_setting(f"{section}.{unknown[1]}".removeprefix("."))
    place = _ERROR_PATH.search(problem)
    value: Any = values
    shape: inspect.Type | None = inspect.type_info(Settings)
    for name in place[1].split(".") if place else ():
        value = cast("dict[str, Any]", value).get(name) if isinstance(value, dict) else None
        shape = _field_type(shape, name)
    choices = _choices(shape)
    if place is None or shape is None or isinstance(value, dict):
        return f"invalid setting: {problem}"
    if not choices:
        kind = _kind(shape)
        wanted = "true or false" if kind == "yes or no" else f"a {kind}"
        said = "that" if place[1].endswith("_key") else repr(value)  # a secret is never printed
        return f"{place[1]} cannot be {said}: use {wanted}"
    *most, last = choices
    return f"{place[1]} cannot be {value!r}: use {', '.join(most)} or {last}"


def _unknown_setting(name: str) -> str:
    """The error message for a setting that does not exist, with the one that is probably meant."""
    from difflib import get_close_matches  # noqa: PLC0415 - slow to load, rarely needed

    similar = get_close_matches(
        name, [setting.name for setting in describe_settings(Settings())], n=1
    )
    meant = f"; did you mean {similar[0]!r}?" if similar else ""
    return f"there is no setting {name!r}{meant}"


def _field_type(shape: inspect.Type | None, name: str) -> inspect.Type | None:
    """The type of a field of a section."""
    if not isinstance(shape, inspect.StructType):
        return None
    return next((field.type for field in shape.fields if field.name == name), None)


def _choices(shape: inspect.Type | None) -> list[str]:
    """The allowed values of a setting, if there is a fixed list."""
    inner = shape.type if isinstance(shape, inspect.Metadata) else shape
    if isinstance(inner, inspect.LiteralType):
        return [str(value) for value in inner.values]
    pattern = inner.pattern if isinstance(inner, inspect.StrType) else None
    few = _CHOICES.fullmatch(pattern or "")
    return few[1].split("|") if few else []


def _check_guards(settings: Settings, from_file: Settings) -> None:
    """Check that environment variables make the gate and host access only stricter.

    The process that starts Everloop sets its variables, and that may be an agent with a shell.
    """
    weakened = [
        f"lessons.{name}"
        for name in RULE_NAMES
        if settings.lessons.is_looser(from_file.lessons, name)
    ]
    if from_file.doors.admit_hosts != settings.doors.admit_hosts == "all":
        weakened.append("doors.admit_hosts")
    if settings.github.comment_answers:  # whose comments answer for the user, and from where
        weakened += [
            f"github.{name}"
            for name in ("comment_answers", "owner", "api_url")
            if getattr(settings.github, name) != getattr(from_file.github, name)
        ]
    if weakened:
        raise Invalid(
            f"an environment variable may not weaken {', '.join(weakened)}",
            hint=f"Set it in {FILE} in the data home instead.",
        )


def _read_file(path: Path) -> dict[str, Any]:
    if not path.exists():
        return {}
    try:
        return tomllib.loads(path.read_text())
    except tomllib.TOMLDecodeError as problem:
        raise Invalid(
            f"{path.name} is not valid TOML: {problem}", hint=f"Fix that line in {path}."
        ) from problem


def _apply_keys(values: dict[str, Any], path: Path) -> None:
    """Use the keys that were entered in the web app; nothing else may be set in their file."""
    entered = _read_file(path).get("models", {})
    section = values.setdefault("models", {})
    for name in msgspec.structs.fields(ModelSettings):
        if name.name.endswith(("_key", "_url")) and name.name in entered:
            section[name.name] = entered[name.name]


def _apply_foreign_variables(values: dict[str, Any], variables: Mapping[str, str]) -> None:
    """Use well-known variables of other programs, unless the settings file has a value."""
    section = values.setdefault("models", {})
    for name, setting in FOREIGN_VARIABLES.items():
        if variables.get(name) and isinstance(section, dict):
            cast("dict[str, Any]", section).setdefault(setting, variables[name])


def _set(values: dict[str, Any], name: str, value: str) -> None:
    if not _set_path(values, Settings, name.removeprefix(PREFIX).lower(), value):
        raise Invalid(f"{name} is not a setting", hint="`everloop settings` lists them.")


def _set_path(values: dict[str, Any], section: Any, path: str, value: str) -> bool:
    """Set the field that a path names in a section or its subsections; False if none does."""
    if not (isinstance(section, type) and issubclass(section, msgspec.Struct)):
        return False
    for field in msgspec.structs.fields(section):
        if path == field.name:
            values[path] = value
            return True
        inner = path.removeprefix(f"{field.name}_")
        below = values.get(field.name, {})
        if inner != path and _set_path(below, field.type, inner, value):
            values[field.name] = below
            return True
    return False
