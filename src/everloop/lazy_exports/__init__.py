"""Lazy public surfaces: a package names what it offers, and loads a module at first use.

A package imports its public names in an `if TYPE_CHECKING:` block, where type checkers and the
import linter read them, and ends with `__getattr__ = lazy_exports(…)`. So
`from everloop.memory import SearchQuery` loads no numpy for a command that only lists threads.
The block is read from the source, as `lazy_loader.attach_stub` reads a stub file (SPEC 1 of the
scientific Python projects, PEP 562); from Python 3.15 on, `lazy from … import …` does the same.
"""

import ast
from collections.abc import Callable
from functools import cache
from importlib import import_module
from pathlib import Path
from typing import Any


def lazy_exports(package: str, path: str) -> Callable[[str], Any]:
    """The `__getattr__` of a package whose public names are imported for type checkers only."""
    sources = cache(lambda: exported_names(Path(path)))

    def load(name: str) -> Any:
        if name.startswith("__") or name not in sources():
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        return getattr(import_module(sources()[name]), name)

    return load


def exported_names(path: Path) -> dict[str, str]:
    """Each name that the package's `if TYPE_CHECKING:` block imports, and the module it lies in."""
    return {
        alias.name: statement.module
        for block in ast.parse(path.read_bytes()).body
        if isinstance(block, ast.If)
        for statement in block.body
        if isinstance(statement, ast.ImportFrom) and statement.module
        for alias in statement.names
    }
