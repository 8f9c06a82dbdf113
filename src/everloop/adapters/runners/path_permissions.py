"""What an agent reads and edits without asking: its workspace, and what is private to its task.

A path counts as inside only if it is so in each way that a program may read it: links before `..`,
or `..` first. What one may read in yet another way (`~`, blanks around it) counts as outside.
"""

import os
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, cast

GIT = ".git"
PATTERN = frozenset("*?[{")
UNCLEAR = ("..", "~", "{/", ",/")  # in a pattern: it may lead out of the folder that it begins with
PROGRAMS = ("command", "cmd", "script")  # names of arguments that are run, whatever they are called


class PathPermissions:
    """The folders of an agent.

    A sandbox holds nothing else of the user but what the agent itself needs, such as its login. So
    reading is free there, except of that: it is withheld.
    """

    def __init__(self, order: dict[str, Any]) -> None:
        self._root = Path(order["cwd"])
        self._private = [Path(one) for one in order["private"]]
        self._withheld = [Path(one) for one in order["withheld"]]
        self._is_sandboxed = bool(order["sandboxed"])

    def may_read(self, paths: Sequence[Any], private: Sequence[Path] = ()) -> bool:
        """Whether all of these may be read unasked; no path means the workspace."""
        folders = (self._root, *self._private, *private)
        return all(
            self._is_inside(one, folders) or (self._is_sandboxed and self._is_open(one))
            for one in paths
        )

    def may_search(self, pattern: Any, folder: Any) -> bool:
        """Whether names that fit a pattern may be looked for unasked."""
        if self._is_sandboxed:
            return True
        if not isinstance(pattern, str) or not isinstance(folder, str):
            return False
        if pattern != pattern.strip() or any(one in pattern for one in UNCLEAR):
            return False
        return self.may_read([folder, os.path.join(folder, _before_wildcard(pattern))])

    def may_edit(self, paths: Sequence[Any]) -> bool:
        """Whether these may be changed unasked: never what git keeps, for git runs what it says."""
        return bool(paths) and all(
            self._is_inside(one, [self._root])
            and not any(_has_git(path) for path in self._readings(one))
            for one in paths
        )

    def may_call(self, arguments: Any, paths: Sequence[str]) -> bool:
        """Whether a call that says it reads may do so unasked, by all that its arguments name."""
        known = bool(paths) or isinstance(arguments, dict)
        clear = self._is_sandboxed or (known and not _runs_something(arguments))
        return clear and self.may_read([*paths, *texts_in(arguments)])

    def _is_inside(self, path: Any, folders: Sequence[Path]) -> bool:
        readings = self._readings(path)
        inside = [one.resolve() for one in folders]
        within = (any(one.is_relative_to(each) for each in inside) for one in readings)
        return bool(readings) and all(within)

    def _is_open(self, path: Any) -> bool:
        """Whether a path neither is, nor holds, nor lies in something that is withheld."""
        readings = self._readings(path)
        closed = [one.resolve() for one in self._withheld]
        return bool(readings) and not any(
            one.is_relative_to(each) or each.is_relative_to(one)
            for one in readings
            for each in closed
        )

    def _readings(self, path: Any) -> tuple[Path, ...]:
        """What a path may name; nothing if that is not clear."""
        if not isinstance(path, str) or path != path.strip() or path.startswith("~"):
            return ()
        whole = self._root / path
        try:
            return whole.resolve(), Path(os.path.normpath(whole)).resolve()
        except (OSError, ValueError, RuntimeError):  # a link to itself, or no name of a file
            return ()


def texts_in(value: Any) -> Iterator[str]:
    """All texts within a value. Each may be a path; what is none stays in the workspace."""
    if isinstance(value, str):
        yield value.removeprefix("file://")
    elif isinstance(value, dict | list):
        held = cast("dict[str, Any] | list[Any]", value)
        for one in held.values() if isinstance(held, dict) else held:
            yield from texts_in(one)


def _has_git(path: Path) -> bool:
    """Whether git's own folder is part of a path; some file systems ignore case."""
    return GIT in map(str.casefold, path.parts)


def _runs_something(arguments: Any) -> bool:
    return isinstance(arguments, dict) and any(name in arguments for name in PROGRAMS)


def _before_wildcard(pattern: str) -> str:
    """The folders of a pattern before the first part that has a wildcard."""
    parts = pattern.split("/")
    wild = next((n for n, one in enumerate(parts) if PATTERN & set(one)), len(parts))
    return "/".join(parts[:wild]) or ("/" if pattern.startswith("/") else "")
