"""Checks of this machine for `everloop doctor`: programs, disk space, permissions, services."""

import importlib
import importlib.util
import shutil
import stat
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from everloop.adapters.mcp_client import check_servers
from everloop.adapters.models.discovery import DiscoveredModel, discover_models
from everloop.errors import Unavailable
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.turns.tool_servers import ToolHealth, ToolServer

TIMEOUT_S = 5.0


class SystemMachine:
    """This machine, as `everloop doctor` examines it."""

    def program(self, name: str) -> str | None:
        """The path of a program, if it is installed."""
        return shutil.which(name)

    def version(self, name: str) -> str:
        """The output of `--version`; empty on failure or timeout."""
        path = shutil.which(name)
        if path is None:
            return ""
        try:
            done = subprocess.run(  # noqa: S603 - a program the user has, with one fixed option
                [path, "--version"], capture_output=True, text=True, timeout=TIMEOUT_S, check=False
            )
        except (OSError, subprocess.SubprocessError, UnicodeDecodeError):
            return ""
        lines = done.stdout.strip().splitlines()
        return lines[0] if lines and done.returncode == 0 else ""

    def module(self, name: str) -> bool:
        """Whether a Python package is installed."""
        try:
            return importlib.util.find_spec(name) is not None
        except ModuleNotFoundError:  # not even the package that it would be in
            return False

    def free_bytes(self, folder: Path) -> int:
        """The free disk space where a folder is, or would be."""
        while not folder.exists() and folder != folder.parent:
            folder = folder.parent
        return shutil.disk_usage(folder).free

    def mode(self, folder: Path) -> int:
        """The permission bits of a folder."""
        return stat.S_IMODE(folder.stat().st_mode)

    def models(self, settings: ModelSettings) -> list[DiscoveredModel]:
        """The available language models."""
        return discover_models(settings)

    def tool_servers(self, servers: Mapping[str, ToolServer]) -> list[ToolHealth]:
        """The health of the configured MCP servers."""
        return check_servers(servers) if servers else []

    def try_endpoint(self, settings: MemorySettings) -> None:
        """Test the embedding endpoint with one text. numpy is imported only here."""
        from everloop.adapters.embedders import choose  # noqa: PLC0415 - it loads numpy

        choose.endpoint_embedder(settings, timeout_s=TIMEOUT_S).embed(["everloop"])

    def postgres_version(self, url: str) -> str:
        """The version of the PostgreSQL server at a URL."""
        psycopg: Any = importlib.import_module("psycopg")
        try:
            with psycopg.connect(url, connect_timeout=int(TIMEOUT_S)) as db:
                return f"PostgreSQL {db.execute('SHOW server_version').fetchone()[0]}"
        except psycopg.Error as problem:
            first = str(problem).partition("\n")[0]
            raise Unavailable(f"no answer: {first}") from problem
