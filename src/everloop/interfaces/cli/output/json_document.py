"""JSON output, in ASCII, so that no stored character can act on a terminal."""

import json
from pathlib import Path
from typing import Any

import msgspec


def encode_document(value: Any) -> str:
    """Encode a value as one line of JSON."""
    plain = msgspec.to_builtins(value, enc_hook=_plain)
    return json.dumps(plain).replace("\x7f", "\\u007f") + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, Path):
        return str(value)
    raise TypeError(f"{type(value).__name__} cannot be encoded as JSON")
