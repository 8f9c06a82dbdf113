"""Writes the reference pages from the code: events, settings, command line. `make docs` runs it.

A page is never edited by hand; `tests/test_reference.py` fails when one differs from what this
would write (it asks in a process of its own, because tests declare events too). Everything comes
from where the code itself takes it: the catalogue of events, the metadata of the settings, the rows
of the command line.
"""

import importlib
import sys
from argparse import SUPPRESS, Action, ArgumentParser
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
from docs import promises, public_surfaces
from msgspec import inspect

from everloop.interfaces.cli.output.exit_codes import MEANINGS
from everloop.interfaces.cli.parsing.command_spec import CommandSpec
from everloop.interfaces.cli.parsing.command_table import COMMANDS
from everloop.interfaces.cli.parsing.parser import COMMAND, build_parser
from everloop.log import Event, catalogue
from everloop.settings import FILE, describe_settings

FOLDER = Path(__file__).parent
importlib.import_module("everloop.app")  # it declares the events of every domain
GENERATED = "<!-- Made by `make docs`; edit the code instead. -->"
EVENTS = """\
Everything that can be recorded. A kind is a wire name; it outlives any renaming of its class. The
schema number goes up when a shape changes; old records are lifted as they are read. What the log
adds to each event (position, actor, time, digest …) is in [the glossary](glossary.md)."""
MACHINES = """\
With `--json` there is one JSON document on standard output, also when something fails:
`{"error": {"kind", "message", "hint", "exit_code"}}`. `log tail --follow` writes one document for
each fact, one per line. Nothing is asked then: a command that asks is refused without `--yes`."""
WHO_SPEAKS = """\
Someone at a terminal is recorded as `user`. Without a terminal on standard input, the words come
from a script or an agent's shell, and are recorded as `agent:cli`. No option changes that: an agent
that can run commands must not be able to speak as you. `--yes` answers questions; it does not
change who speaks.

`agent:cli` sees the memories, lessons, skills, personas and teams of the scopes that you let it
into (`everloop grants allow`). What has no scope (the log itself, branches, conversations and
answers made of them, hosts, devices) it sees only if you let it into every scope, with
`everloop grants allow agent:cli '*'`, and as long as nothing is for witnesses alone of whom it is
none. Otherwise such a command ends with exit code 5. What shows nothing of what is recorded works
for every script: `backup`, `restore`, `verify`, `rebuild`, `move`, `doctor`, `log sink`, and
`log export` to a file. A script can take back what scripts and agents wrote; of all that this
touches, it is shown its own facts, and told how many others there are."""


def events() -> str:
    """Every event kind with its fields."""
    kinds = [kind for kind in catalogue().values() if kind.__module__.startswith("everloop.")]
    lines = [
        "# Events",
        GENERATED,
        EVENTS,
        _table(
            ("kind", "schema", "meaning"),
            [(_link(kind.wire), str(kind.schema), _first(kind)) for kind in kinds],
        ),
    ]
    for kind in kinds:
        lines += [f"## `{kind.wire}`", _doc(kind), f"Schema {kind.schema}.", _fields(kind)]
    return _page(lines)


def settings() -> str:
    """Every setting with its default."""
    rows = [
        (f"`{one.name}`", f"`{one.variable}`", one.kind, _default(one.default), one.meaning)
        for one in describe_settings()
    ]
    return _page(
        [
            "# Settings",
            GENERATED,
            f"A setting in the environment wins over `{FILE}` in the data home, which wins over the"
            " default. `everloop settings` shows the values in force. Whoever starts a process also"
            " chooses its variables, so none may lower a threshold of the gate, or open the doors"
            " (`doors.admit_hosts`), against what the file or the default says.",
            _table(("setting", "in the environment", "type", "default", "meaning"), rows),
            f"In `{FILE}`, a name with a dot is a key in a section:",
            "```toml\n[backups]\nkept = 14\n```",
        ]
    )


def commands() -> str:
    """Every command with its arguments."""
    top = build_parser()
    lines = [
        "# Command line",
        GENERATED,
        "```\neverloop [options] COMMAND\n```",
        _table(
            ("command", "what it does"),
            [(_link(_name(spec)), spec.summary) for spec in COMMANDS],
        ),
        "## Options of every command",
        "They may stand before or after the command.",
        _table(("option", "meaning"), list(_options(top))),
        MACHINES,
        "## Who speaks",
        WHO_SPEAKS,
        "## Exit codes",
        _table(("code", "meaning"), [(str(code), words) for code, words in MEANINGS.items()]),
    ]
    for spec in COMMANDS:
        lines += _command(spec, _find(top, spec.words))
    return _page(lines)


PAGES: dict[str, Callable[[], str]] = {
    "events.md": events,
    "settings.md": settings,
    "cli.md": commands,
    "promises.md": promises.page,
    "snapshots/python.txt": public_surfaces.python_api,
    "snapshots/rpc.json": public_surfaces.rpc_parameters,
}


def main(*words: str) -> int:
    """Write every page; with `--check`, only say which ones are stale."""
    stale = [name for name, write in PAGES.items() if _read(FOLDER / name) != write()]
    if "--check" in words:
        sys.stdout.write("".join(f"docs/{name} is stale: run `make docs`\n" for name in stale))
        return 1 if stale else 0
    for name in stale:
        (FOLDER / name).write_text(PAGES[name]())
        sys.stdout.write(f"docs/{name} is new\n")
    return 0


def _read(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def _command(spec: CommandSpec, found: ArgumentParser) -> list[str]:
    arguments = [(_spelling(action), _meaning(action)) for action in _own_actions(found)]
    usage = " ".join(["everloop", *spec.words, *(_brief(action) for action in _own_actions(found))])
    lines = [f"## `{_name(spec)}`", _sentence(spec.summary), f"```\n{usage}\n```"]
    if arguments:
        lines.append(_table(("argument", "meaning"), arguments))
    if spec.notes:
        lines.append(spec.notes)
    return lines


def _own_actions(found: ArgumentParser) -> list[Action]:
    """The arguments of one command: neither help, nor the options that all share."""
    actions: list[Action] = found._actions  # noqa: SLF001 - argparse has no public listing
    return [action for action in actions if action.default != SUPPRESS and action.dest != COMMAND]


def _options(top: ArgumentParser) -> Iterator[tuple[str, str]]:
    actions: list[Action] = top._actions  # noqa: SLF001 - argparse has no public listing
    for action in actions:
        if action.option_strings and action.help:
            yield _spelling(action), _meaning(action)


def _find(top: ArgumentParser, words: tuple[str, ...]) -> ArgumentParser:
    found = top
    for word in words:
        choices: Any = next(
            action.choices
            for action in found._actions  # noqa: SLF001 - argparse has no public listing
            if action.dest == COMMAND
        )
        found = choices[word]
    return found


def _spelling(action: Action) -> str:
    return f"`{', '.join(action.option_strings) or _placeholder(action)}`"


def _brief(action: Action) -> str:
    name = _placeholder(action)
    if not action.option_strings:
        return {"?": f"[{name}]", "*": f"[{name} …]", "+": f"{name} …"}.get(str(action.nargs), name)
    option = action.option_strings[-1]
    if action.nargs == 0:
        return f"[{option}]"
    return f"[{option} {name}{' …' if action.nargs == '+' else ''}]"


def _placeholder(action: Action) -> str:
    return str(action.metavar or action.dest.replace("_", "-")).upper()


def _meaning(action: Action) -> str:
    words = str(action.help)
    if action.choices:
        words += f": {', '.join(f'`{choice}`' for choice in action.choices)}"
    if action.default not in (None, False, [], "", SUPPRESS) and "default" not in words:
        words += f" (default: `{action.default}`)"
    return words


def _fields(kind: type[Event]) -> str:
    rows = [
        (f"`{field.name}`", f"`{_type(inspect.type_info(field.type))}`")
        for field in msgspec.structs.fields(kind)
    ]
    return _table(("field", "type"), rows) if rows else "It has no fields."


def _type(shape: Any) -> str:
    match shape:
        case inspect.VarTupleType(item_type=item) | inspect.ListType(item_type=item):
            return f"list of {_type(item)}"
        case inspect.DictType(key_type=key, value_type=value):
            return f"map of {_type(key)} to {_type(value)}"
        case inspect.UnionType(types=types):
            return " or ".join(_type(one) for one in types)
        case inspect.StructType(cls=cls):
            return str(cls.__name__)
        case _:
            return type(shape).__name__.removesuffix("Type").lower()


def _doc(kind: type[Event]) -> str:
    return " ".join(str(kind.__doc__).split())


def _first(kind: type[Event]) -> str:
    return _doc(kind).partition(". ")[0].removesuffix(".")


def _default(value: str | float) -> str:
    return f"`{value}`" if value != "" else "empty"


def _name(spec: CommandSpec) -> str:
    return f"everloop {' '.join(spec.words)}"


def _link(heading: str) -> str:
    return f"[`{heading}`](#{heading.replace('.', '').replace(' ', '-')})"


def _sentence(summary: str) -> str:
    return f"{summary[0].upper()}{summary[1:]}."


def _table(headings: tuple[str, ...], rows: list[Any]) -> str:
    lines = [headings, ("---",) * len(headings), *rows]
    return "\n".join(f"| {' | '.join(_cell(cell) for cell in line)} |" for line in lines)


def _cell(text: str) -> str:
    return text.replace("|", "\\|")


def _page(parts: list[str]) -> str:
    return "\n\n".join(parts) + "\n"


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
