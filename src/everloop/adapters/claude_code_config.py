"""Claude Code's files: what is written into them for Everloop, and how it is taken out again.

Everything others wrote there stays, in its order. A change is planned first, so that a person can
see it; it is written whole or not at all, and only if the file is still what it was when planned.
"""

import difflib
import json
import re
import shlex
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final, Literal, cast

import msgspec

from everloop.adapters.files.markdown_folder import PRIVATE, write_whole
from everloop.errors import Conflict, Invalid, Unavailable

HOST: Final = "claude-code"
SERVER: Final = "everloop"
CONTEXT_CHARACTERS_MAX: Final = 10_000  # what it takes from a hook; of more it shows a preview
BYTES_MAX: Final = 64 * 1024 * 1024

# Its event, our word for it, and whether it may go on while the host does.
HOOKS: Final[Mapping[str, tuple[str, bool]]] = {
    "SessionStart": ("session-start", False),
    "UserPromptSubmit": ("prompt", False),
    "Stop": ("stop", True),
    "SessionEnd": ("session-end", False),
}
TIMEOUT_S: Final = 20
_OURS = re.compile(r"\beverloop\b.* hook (?:session-start|prompt|stop|session-end)$")
_INDENT = re.compile(r"^[{\[]\r?\n([ \t]+)\S")

Scope = Literal["user", "project"]
Document = dict[str, Any]


class Files(msgspec.Struct, frozen=True):
    """Where it keeps its servers and its hooks."""

    servers: Path
    settings: Path


class Change(msgspec.Struct, frozen=True):
    """What becomes of one file. None: there is no file."""

    path: Path
    before: str | None
    after: str | None

    @property
    def diff(self) -> list[str]:
        """The change as lines, as `diff -u` has them."""
        names = (str(self.path), str(self.path))
        before, after = (self.before or "").splitlines(), (self.after or "").splitlines()
        return list(difflib.unified_diff(before, after, *names, lineterm=""))

    def write(self) -> None:
        """Carry it out.

        Raises:
            Conflict: somebody changed the file since this was planned.
            Unavailable: it cannot be written.
        """
        target = self.path.resolve()  # a link to somebody's collection of settings stays a link
        if _read(target) != self.before:
            raise Conflict(f"{self.path} was changed meanwhile", hint="Run it again.")
        try:
            if self.after is None:
                target.unlink()
            else:
                _replace(target, self.after)
        except OSError as problem:
            raise Unavailable(f"{self.path} cannot be written: {problem.strerror}") from problem


def files(scope: Scope, *, home: Path, project: Path) -> Files:
    """The files of a scope: all of a person's projects, or one project and all who work on it."""
    if scope == "user":
        return Files(home / ".claude.json", home / ".claude" / "settings.json")
    return Files(project / ".mcp.json", project / ".claude" / "settings.json")


def installed(where: Files, command: Sequence[str]) -> list[Change]:
    """What installing changes. `command` is how Everloop is run; nothing if it is there already.

    Raises:
        Invalid: a file there is not what Claude Code writes.
    """
    return _changes(where, command)


def uninstalled(where: Files) -> list[Change]:
    """What taking it out again changes: ours goes, all else stays.

    Raises:
        Invalid: a file there is not what Claude Code writes.
    """
    return _changes(where, None)


def server_entry(command: Sequence[str]) -> Document:
    """The MCP server, as Claude Code writes one down."""
    words = [*command, "mcp", "--as", HOST]
    return {"type": "stdio", "command": words[0], "args": words[1:], "env": {}}


def _changes(where: Files, command: Sequence[str] | None) -> list[Change]:
    planned = [
        _change(where.servers, lambda found: _with_server(found, command)),
        _change(where.settings, lambda found: _with_hooks(found, command)),
    ]
    return [change for change in planned if change.before != change.after]


def _change(path: Path, edit: Callable[[Document], Document]) -> Change:
    before = _read(path.resolve())
    found = _document(path, before)
    wanted = edit(json.loads(json.dumps(found)))
    if wanted == found:
        return Change(path, before, before)
    return Change(path, before, _text(wanted, before) if wanted else None)


def _with_server(found: Document, command: Sequence[str] | None) -> Document:
    servers = _part(found, "mcpServers", dict)
    if command is None:
        servers.pop(SERVER, None)
    else:
        servers[SERVER] = server_entry(command)
    return _kept(found, "mcpServers", servers)


def _with_hooks(found: Document, command: Sequence[str] | None) -> Document:
    hooks = _part(found, "hooks", dict)
    for event, (word, beside) in HOOKS.items():
        wanted = None if command is None else _hook([*command, "hook", word], beside)
        hooks = _kept(hooks, event, _with_hook(_part(hooks, event, list), wanted))
    return _kept(found, "hooks", hooks)


def _with_hook(groups: list[Any], wanted: Document | None) -> list[Any]:
    """The groups of hooks with ours as it is wanted, and no other of ours."""
    if [hook for group in groups for hook in _hooks_of(group) if _ours(hook)] == [wanted]:
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
    """The groups of hooks without what we wrote into them. A group of ours alone goes whole."""
    kept: list[Any] = []
    for group in groups:
        hooks = _hooks_of(group)
        others = [hook for hook in hooks if not _ours(hook)]
        if others == hooks:
            kept.append(group)
        elif others:
            kept.append({**group, "hooks": others})
    return kept


def _ours(hook: Any) -> bool:
    command = cast("Document", hook).get("command") if isinstance(hook, dict) else None
    return isinstance(command, str) and _OURS.search(command) is not None


def _part(document: Document, name: str, kind: type[Any]) -> Any:
    part = document.get(name, kind())
    if not isinstance(part, kind):
        raise Invalid(
            f"{name!r} is not what Claude Code writes there", hint="Look at the file and mend it."
        )
    return part


def _kept(document: Document, name: str, part: Any) -> Document:
    """The document with a part; an empty part that is not needed goes."""
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
        raise Invalid(f"{path} is not text", hint="Look at the file and mend it.") from problem
    except OSError as problem:
        raise Unavailable(f"{path} cannot be read: {problem.strerror}") from problem


def _document(path: Path, text: str | None) -> Document:
    if text is None or not text.strip():
        return {}
    try:
        found = json.loads(text)
    except ValueError as problem:
        raise Invalid(
            f"{path} is not JSON: {problem}", hint="Nothing was changed; mend the file first."
        ) from problem
    if not isinstance(found, dict):
        raise Invalid(f"{path} holds no settings", hint="Nothing was changed; mend the file first.")
    return cast("Document", found)


def _text(document: Document, before: str | None) -> str:
    """The document, indented as the file was."""
    met = _INDENT.match(before or "")
    indent = met[1] if met else "  "
    text = json.dumps(document, indent=indent, ensure_ascii=False)
    return text if before and not before.endswith("\n") else f"{text}\n"


def _replace(target: Path, text: str) -> None:
    """Put a text in place of a file, whole or not at all, with the file's own permissions."""
    target.parent.mkdir(parents=True, exist_ok=True)
    mode = target.stat().st_mode & 0o777 if target.exists() else PRIVATE
    write_whole(target, text.encode(), mode=mode)
