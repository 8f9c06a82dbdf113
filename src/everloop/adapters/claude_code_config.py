"""Installs Everloop's MCP server and hooks into Claude Code's settings, and removes them.

All other settings stay, in their order. A change is planned first, so that a person can review it;
it is written atomically, and only if the file has not changed since.
"""

import difflib
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from everloop.adapters.files.markdown_folder import PRIVATE, write_atomically
from everloop.errors import Conflict, Invalid, Unavailable

CLAUDE_CODE_HOST: Final = "claude-code"
SERVER: Final = "everloop"
CONTEXT_CHARACTERS_MAX: Final = 10_000  # of hook output; longer output is shown as a preview
BYTES_MAX: Final = 64 * 1024 * 1024

# Claude Code's event, the name of our hook, and whether it runs asynchronously.
HOOKS: Final[Mapping[str, tuple[str, bool]]] = {
    "SessionStart": ("session-start", False),
    "UserPromptSubmit": ("prompt", False),
    "Stop": ("stop", True),
    "SessionEnd": ("session-end", False),
}
TIMEOUT_S: Final = 20
_OUR_COMMAND = re.compile(r"\beverloop\b.* hook (?:session-start|prompt|stop|session-end)$")
_INDENT = re.compile(r"^[{\[]\r?\n([ \t]+)\S")

Scope = Literal["user", "project"]
Document = dict[str, Any]


class ConfigFiles(msgspec.Struct, frozen=True):
    """The paths of Claude Code's MCP servers and hooks."""

    servers: Path
    settings: Path


class ConfigChange(msgspec.Struct, frozen=True):
    """A planned change of one file. None: the file does not exist."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> list[str]:
        """The change as a unified diff."""
        names = (str(self.path), str(self.path))
        before, after = (self.before or "").splitlines(), (self.after or "").splitlines()
        return list(difflib.unified_diff(before, after, *names, lineterm=""))

    def write(self) -> None:
        """Write the change.

        Raises:
            Conflict: the file changed since this was planned.
            Unavailable: it cannot be written.
        """
        target = self.path.resolve()  # a symbolic link, as in a dotfiles repository, stays a link
        if _read(target) != self.before:
            raise Conflict(
                f"{self.path} was changed in the meantime", hint="Run the command again."
            )
        try:
            if self.after is None:
                target.unlink()
            else:
                _replace(target, self.after)
        except OSError as problem:
            raise Unavailable(f"{self.path} cannot be written: {problem.strerror}") from problem


def config_files(scope: Scope, *, home: Path, project: Path) -> ConfigFiles:
    """The files of a scope: `user` for all of a person's projects, `project` for one project."""
    if scope == "user":
        return ConfigFiles(home / ".claude.json", home / ".claude" / "settings.json")
    return ConfigFiles(project / ".mcp.json", project / ".claude" / "settings.json")


def plan_install(where: ConfigFiles, command: Sequence[str]) -> list[ConfigChange]:
    """Plan the installation. `command` runs Everloop. Empty if it is installed already.

    Raises:
        Invalid: a file does not have the format of Claude Code.
    """
    return _plan(where, command)


def plan_uninstall(where: ConfigFiles) -> list[ConfigChange]:
    """Plan the removal of our entries; all others stay.

    Raises:
        Invalid: a file does not have the format of Claude Code.
    """
    return _plan(where, None)


def server_entry(command: Sequence[str]) -> Document:
    """The entry of our MCP server in Claude Code's format."""
    words = [*command, "mcp", "--as", CLAUDE_CODE_HOST]
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def _plan(where: ConfigFiles, command: Sequence[str] | None) -> list[ConfigChange]:
    planned = [
        _plan_file(where.servers, lambda found: _with_server(found, command)),
        _plan_file(where.settings, lambda found: _with_hooks(found, command)),
    ]
    return [change for change in planned if change.before != change.after]


def _plan_file(path: Path, edit: Callable[[Document], Document]) -> ConfigChange:
    before = _read(path.resolve())
    found = _parse(path, before)
    wanted = edit(json.loads(json.dumps(found)))
    if wanted == found:
        return ConfigChange(path, before, before)
    return ConfigChange(path, before, _text(wanted, before) if wanted else None)


def _with_server(found: Document, command: Sequence[str] | None) -> Document:
    servers = _section(found, "mcpServers", dict)
    if command is None:
        servers.pop(SERVER, None)
    else:
        servers[SERVER] = server_entry(command)
    return _with_section(found, "mcpServers", servers)


def _with_hooks(found: Document, command: Sequence[str] | None) -> Document:
    hooks = _section(found, "hooks", dict)
    for event, (word, beside) in HOOKS.items():
        wanted = None if command is None else _hook([*command, "hook", word], beside)
        hooks = _with_section(hooks, event, _with_hook(_section(hooks, event, list), wanted))
    return _with_section(found, "hooks", hooks)


def _with_hook(groups: list[Any], wanted: Document | None) -> list[Any]:
    """The groups of hooks with exactly one of ours, as wanted."""
    if [hook for group in groups for hook in _hooks_of(group) if _is_ours(hook)] == [wanted]:
        return groups
    others = _without_ours(groups)
    return others if wanted is None else [*others, {"hooks": [wanted]}]


def _hooks_of(group: Any) -> list[Any]:
    hooks: Any = cast("Document", group).get("hooks") if isinstance(group, dict) else None
    return list(cast("Sequence[Any]", hooks)) if isinstance(hooks, list) else []


def _hook(words: Sequence[str], beside: bool) -> Document:
    hook: Document = {"type": "command", "command": shlex.join(words), "timeout": TIMEOUT_S}
    return {**hook, "async": True} if beside else hook


def _without_ours(groups: list[Any]) -> list[Any]:
    """The groups of hooks without ours. A group with only ours is removed."""
    kept: list[Any] = []
    for group in groups:
        hooks = _hooks_of(group)
        others = [hook for hook in hooks if not _is_ours(hook)]
        if others == hooks:
            kept.append(group)
        elif others:
            kept.append({**group, "hooks": others})
    return kept


def _is_ours(hook: Any) -> bool:
    command = cast("Document", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OUR_COMMAND.search(command) is not None


def _section(document: Document, name: str, kind: type[Any]) -> Any:
    part = document.get(name, kind())
    if not isinstance(part, kind):
        raise Invalid(
            f"{name!r} does not have the format of Claude Code", hint="Correct the file by hand."
        )
    return part


def _with_section(document: Document, name: str, part: Any) -> Document:
    """The document with a section; an empty section is removed."""
    if part:
        return {**document, name: part}
    return {key: value for key, value in document.items() if key != name}


def _read(path: Path) -> str | None:
    try:
        if path.stat().st_size > BYTES_MAX:
            raise Invalid(f"{path} is too large to be a settings file")
        return path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return None
    except UnicodeDecodeError as problem:
        raise Invalid(f"{path} is not UTF-8 text", hint="Correct the file by hand.") from problem
    except OSError as problem:
        raise Unavailable(f"{path} cannot be read: {problem.strerror}") from problem


def _parse(path: Path, text: str | None) -> Document:
    if text is None or not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise Invalid(
            f"{path} is not JSON: {problem}", hint="Nothing was changed; correct the file first."
        ) from problem
    if not isinstance(found, dict):
        raise Invalid(
            f"{path} does not contain a JSON object",
            hint="Nothing was changed; correct the file first.",
        )
    return cast("Document", found)


def _text(document: Document, before: str | None) -> str:
    """The document as JSON, with the indentation of the old file."""
    met = _INDENT.match(before or "")
    indent = met[1] if met else "  "
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return text if before and not before.endswith("\n") else f"{text}\n"


def _replace(target: Path, text: str) -> None:
    """Replace a file atomically, and keep its permissions."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
    write_atomically(target, text.encode(), mode=mode)
