"""Changes one setting in `settings.toml` and keeps a person's comments, order and formatting.

The file is replaced as a whole or not at all. Which settings exist, and which values they accept,
is known in `everloop.settings`.
"""

import os
import tempfile
import tomllib
from collections.abc import Callable, MutableMapping
from pathlib import Path
from typing import Any

import tomlkit
from tomlkit.exceptions import TOMLKitError
from tomlkit.items import Table

from everloop.errors import Unavailable

FILE = "settings.toml"


Value = str | int | float | bool


def write_setting(folder: Path, section: str, name: str, value: Value) -> None:
    """Set `name` in `[section]` and add either where it is missing; `section` may be dotted.

    Raises:
        Unavailable: the file cannot be written, or is not valid TOML.
    """
    _rewrite(folder, section, name, lambda before: _with_setting(before, section, name, value))


def remove_setting(folder: Path, section: str, name: str) -> None:
    """Remove `name` from `[section]`, so that its default counts again.

    Raises:
        Unavailable: the file cannot be written, or is not valid TOML.
    """
    _rewrite(folder, section, name, lambda before: _without_setting(before, section, name))


def _rewrite(folder: Path, section: str, name: str, change: Callable[[str], str]) -> None:
    """Replace the file by a changed one."""
    path = folder / FILE
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        tomllib.loads(before)  # names the mistake more clearly than tomlkit does
        after = change(before)
        tomllib.loads(after)  # the library that will read it must accept it
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as out:
            out.write(after)
            out.flush()
            os.fsync(out.fileno())
        Path(out.name).replace(path)
    except OSError as problem:
        raise Unavailable(f"the settings were not written: {problem.strerror}") from problem
    except (TOMLKitError, tomllib.TOMLDecodeError, _NotASection) as problem:
        raise Unavailable(
            f"{name!r} cannot be set in {FILE} as it is written: {problem}",
            hint=f"Set it there by hand, in section [{section}].",
        ) from problem


class _NotASection(Exception):
    """A plain value has the name of a section."""


def _without_setting(text: str, section: str, name: str) -> str:
    document = tomlkit.parse(text)
    table: MutableMapping[str, Any] = document
    for key in section.split("."):
        if key not in table or not isinstance(table[key], MutableMapping):
            return text
        table = table[key]
    if name in table:
        del table[name]
    return tomlkit.dumps(document)


def _with_setting(text: str, section: str, name: str, value: Value) -> str:
    document = tomlkit.parse(text)
    table: MutableMapping[str, Any] = document
    *outer, last = section.split(".")
    for key in (*outer, last):
        if key not in table:
            table[key] = tomlkit.table(is_super_table=key != last)
        if not isinstance(table[key], MutableMapping):
            raise _NotASection(f"{key!r} is a value there, not a section")
        table = table[key]
    _put(table, name, value)
    return tomlkit.dumps(document)


def _put(table: MutableMapping[str, Any], name: str, value: Value) -> None:
    """Set a value; a new one goes before the comment above the next section, not after it."""
    if name in table or not isinstance(table, Table):
        table[name] = value
        return
    lines = table.value.body
    end = len(lines)
    while end and lines[end - 1][0] is None:  # blank lines and comments have no key
        end -= 1
    tail = lines[end:]
    del lines[end:]
    table[name] = value
    lines.extend(tail)
