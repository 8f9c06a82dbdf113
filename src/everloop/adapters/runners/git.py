"""Runs the user's git without what a repository configured: no hooks, no external programs."""

import os
import subprocess
from collections.abc import Mapping
from pathlib import Path

from everloop.errors import RunnerFailed

GIT_S = 120
_SAFE = ("-c", "core.hooksPath=/dev/null", "-c", "core.fsmonitor=false", "-c", "diff.external=")


def run_git(
    path: Path, *words: str, variables: Mapping[str, str] | None = None
) -> "subprocess.CompletedProcess[str]":
    """Run git in a folder; `variables` are added to its environment.

    Raises:
        RunnerFailed: there is no git, or it takes too long.
    """
    try:
        return subprocess.run(  # noqa: S603 - no shell; names were checked
            ["git", "-C", str(path), *_SAFE, *words],  # noqa: S607 - the user's own git
            capture_output=True,
            text=True,
            errors="replace",
            timeout=GIT_S,
            check=False,
            stdin=subprocess.DEVNULL,
            env={**os.environ, **variables} if variables else None,
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise RunnerFailed(f"git cannot be run: {problem}", hint="Install git.") from problem
