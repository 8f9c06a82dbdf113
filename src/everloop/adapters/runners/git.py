"""Runs the user's git without what a repository configured: no hooks, no external programs."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from everloop.errors import RunnerFailed

GIT_S = 120
# Set where the server was started by git, as from a hook: they would name another repository.
_OF_ANOTHER = frozenset(
    (
        "GIT_DIR",
        "GIT_WORK_TREE",
        "GIT_INDEX_FILE",
        "GIT_COMMON_DIR",
        "GIT_OBJECT_DIRECTORY",
        "GIT_ALTERNATE_OBJECT_DIRECTORIES",
        "GIT_NAMESPACE",
        "GIT_PREFIX",
    )
)
_SAFE = (
    *("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "diff.external="),
    *("-c", "core.quotePath=false"),  # names in a diff as they are, not in octal numbers
)


def run_git(
    path: Path, *words: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run git in a folder; `variables` are added to its environment.

    Raises:
        RunnerFailed: there is no git, or it takes too long.
    """
    inherited = {name: one for name, one in os.environ.items() if name not in _OF_ANOTHER}
    try:
        return subprocess.run(  # noqa: S603 - no shell; names were checked
            ["git", "-C", str(path), *_SAFE, *words],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**inherited, **(variables or {})},
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise RunnerFailed(f"git cannot be run: {problem}", hint="Install git.") from problem
