"""Changing one setting in the settings file, so that what a person wrote there stays as it is."""

import json
import os
import re
import tempfile
import tomllib
from pathlib import Path

from everloop.errors import Unavailable

FILE = "settings.toml"


def write_setting(folder: Path, section: str, name: str, value: str) -> None:
    """Set `name` in `[section]`, in place or at its end; whole or not at all.

    Raises:
        Unavailable: the file cannot be written.
    """
    path = folder / FILE
    try:
        before = path.read_text(encoding="utf-8") if path.exists() else ""
        after = _set(before, section, f"{name} = {json.dumps(value, ensure_ascii=False)}", name)
        tomllib.loads(after)
        with tempfile.NamedTemporaryFile("w", dir=folder, delete=False, encoding="utf-8") as out:
            out.write(after)
            out.flush()
            os.fsync(out.fileno())
        Path(out.name).replace(path)
    except OSError as problem:
        raise Unavailable(f"the settings were not written: {problem.strerror}") from problem
    except tomllib.TOMLDecodeError as problem:
        raise Unavailable(
            f"{name!r} cannot be set in {FILE} as it is written: {problem}",
            hint=f"Set it there by hand, in section [{section}].",
        ) from problem


def _set(text: str, section: str, line: str, name: str) -> str:
    lines = text.splitlines()
    heading = f"[{section}]"
    if heading not in (one.strip() for one in lines):
        return "\n".join([*lines, *([""] if lines else []), heading, line]) + "\n"
    start = next(number for number, one in enumerate(lines) if one.strip() == heading)
    end = next(
        (n for n in range(start + 1, len(lines)) if lines[n].strip().startswith("[")), len(lines)
    )
    ours = re.compile(rf"\s*{re.escape(name)}\s*=")
    for number in range(start + 1, end):
        if ours.match(lines[number]):
            return "\n".join([*lines[:number], line, *lines[number + 1 :]]) + "\n"
    return "\n".join([*lines[: start + 1], line, *lines[start + 1 :]]) + "\n"
