"""Answers for machines: JSON, in ASCII, so that no stored character can act on a terminal."""

import json
from pathlib import Path
from typing import Any

import msgspec


def document(value: Any) -> str:
    """One JSON document on one line."""
    plain = msgspec.to_builtins(value, enc_hook=_plain)
    return json.dumps(plain).replace("\x7f", "\\u007f") + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} has no place in a document")
