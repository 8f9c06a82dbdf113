"""Snapshots of public surfaces: the signature of every public Python name, the RPC parameters.

`make docs` writes them to `docs/snapshots/`. A test fails when one differs from the code, so a
change of a public surface always shows in the diff (see stability.md).
"""

import enum
import importlib
import inspect
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import msgspec

MODULE_PREFIX = re.compile(r"\b(?:[a-z_]+\.)+(?=[A-Za-z])|<function (?=\w)| at 0x[0-9a-f]+>")
SOURCE = Path(__file__).parents[1] / "src"


def python_api() -> str:
    """Each public name of each package, with its signature or its type."""
    lines: list[str] = []
    for path in sorted(SOURCE.rglob("__init__.py")):
        if "__all__" in path.read_text():
            package = importlib.import_module(".".join(path.parent.relative_to(SOURCE).parts))
            lines += [f"{package.__name__}", *_names(package), ""]
    return "\n".join(lines)


def rpc_parameters() -> str:
    """The JSON schema of the parameters of every RPC method."""
    methods = importlib.import_module("everloop.interfaces.rpc.method_table").METHODS
    schemas = {name: msgspec.json.schema(methods[name].params) for name in sorted(methods)}
    return json.dumps(schemas, indent=1, sort_keys=True) + "\n"


def _names(package: Any) -> Iterator[str]:
    for name in package.__all__:
        yield f"  {name}{_signature(getattr(package, name))}"


def _signature(value: Any) -> str:
    if isinstance(value, type) and issubclass(value, enum.Enum):
        return f": {', '.join(each.name for each in value)}"
    if not callable(value):
        return f": {type(value).__name__}"
    try:
        return MODULE_PREFIX.sub("", str(inspect.signature(value)))
    except ValueError:  # a built-in type, or an alias of types
        return f": {getattr(value, '__name__', type(value).__name__)}"
