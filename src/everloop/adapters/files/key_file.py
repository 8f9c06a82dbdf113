"""The keys of model services, in a file of the data home that only its owner can read.

`everloop.settings` reads it between `settings.toml` and the environment. A key and the address that
it belongs to are written together, so that no key is ever sent to another address.
"""

import os
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any

import tomlkit

from everloop.errors import Unavailable
from everloop.model_settings import KEYS_FILE

OWNER_ONLY = 0o600


def write_keys(folder: Path, values: Mapping[str, str]) -> None:
    """Set these fields of `[models]`; an empty value removes one. The file is replaced as a whole.

    Raises:
        Unavailable: the file cannot be written, or is not valid TOML.
    """
    path = folder / KEYS_FILE
    try:
        known: dict[str, Any] = tomllib.loads(path.read_text()) if path.exists() else {}
        models = {**known.get("models", {}), **values}
        kept = {**known, "models": {name: value for name, value in models.items() if value}}
        _replace(path, tomlkit.dumps(kept))
    except OSError as problem:
        raise Unavailable(f"the keys were not written: {problem.strerror}") from problem
    except tomllib.TOMLDecodeError as problem:
        raise Unavailable(
            f"{KEYS_FILE} is not valid TOML: {problem}", hint=f"Fix it, or remove {KEYS_FILE}."
        ) from problem


def _replace(path: Path, text: str) -> None:
    """Write beside the file and rename; at no moment can others read it."""
    new = path.with_name(f"{path.name}.new")
    with suppress(FileNotFoundError):
        new.unlink()
    file = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL, OWNER_ONLY)
    with os.fdopen(file, "w", encoding="utf-8") as out:
        os.fchmod(out.fileno(), OWNER_ONLY)
        out.write(text)
        out.flush()
        os.fsync(out.fileno())
    new.replace(path)
