"""The environment of a worker's process: made up from nothing, so that no secret is inherited."""

import os
from pathlib import Path

from everloop.workers import Task

KEPT = ("PATH", "LANG", "LC_ALL", "LC_CTYPE", "TZ", "TERM")
DEFAULT_PATH = "/usr/local/bin:/usr/bin:/bin"


def scrubbed_environment(task: Task, folder: Path) -> dict[str, str]:
    """A home and a temporary folder of its own, and only the variables that were granted."""
    granted = (*KEPT, *task.spec.grants.variables)
    inherited = {name: os.environ[name] for name in granted if name in os.environ}
    return {
        "PATH": DEFAULT_PATH,
        **inherited,
        "HOME": str(folder / "home"),
        "TMPDIR": str(folder / "tmp"),
        "XDG_CONFIG_HOME": str(folder / "home" / ".config"),
        "XDG_CACHE_HOME": str(folder / "home" / ".cache"),
        "GIT_TERMINAL_PROMPT": "0",
        "GIT_AUTHOR_NAME": "Everloop worker",
        "GIT_AUTHOR_EMAIL": "worker@everloop.invalid",
        "GIT_COMMITTER_NAME": "Everloop worker",
        "GIT_COMMITTER_EMAIL": "worker@everloop.invalid",
        "EVERLOOP_TASK": task.task_id,
        # Apart, so that it is in no diff, and a check does not run what the worker left.
        "PYTHONPYCACHEPREFIX": str(folder / "tmp" / "pycache"),
    }
