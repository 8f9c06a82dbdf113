"""Lazy public surfaces: a package's `__init__` lists its names, and loads a module at first use.

So `from everloop.memory import MemoryService` works without loading numpy for a command that only
lists threads. The same imports stand in a `TYPE_CHECKING` block of the package, where type checkers
and the import linter see them; a test keeps both lists equal.
"""

import sys
from collections.abc import Callable, Mapping
from importlib import import_module
from typing import Any


def lazy_exports(package: str, exports: Mapping[str, tuple[str, ...]]) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose names lie in these modules of it (PEP 562)."""
    module_of = {name: module for module, names in exports.items() for name in names}

    def load(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(f"{package}.{module_of[name]}"), name)
        setattr(sys.modules[package], name, value)  # found without this function from now on
        return value

    return load
