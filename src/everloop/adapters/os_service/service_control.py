"""Installs, asks and removes the service through the operating system's own programs."""

import shutil
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final, Protocol

import msgspec

from everloop.adapters.claude_code_config import ConfigChange
from everloop.adapters.os_service.definition import launchd_agent, systemd_unit
from everloop.errors import Invalid, Unavailable

UNIT: Final = "everloop.service"
LABEL: Final = "dev.everloop.serve"
TIMEOUT_S: Final = 60.0


class ProgramResult(msgspec.Struct, frozen=True):
    """How a program ended, and what it printed."""

    code: int
    out: str


Run = Callable[[Sequence[str]], ProgramResult]


class ServiceState(msgspec.Struct, frozen=True):
    """Whether its definition is there, whether it runs, and what the system says of it."""

    installed: bool
    running: bool
    words: str


class ServiceManager(Protocol):
    """The service on one kind of operating system."""

    path: Path

    def definition(self, command: Sequence[str], search_path: str) -> str:
        """The text of its definition."""
        ...

    def start(self) -> list[str]:
        """Load the definition, start it now and at every boot; returns remarks for the user."""
        ...

    def stop(self) -> None:
        """Stop it, and start it no more."""
        ...

    def state(self) -> ServiceState:
        """Whether it is installed and runs."""
        ...

    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """The command that shows its output."""
        ...


class SystemdService:
    """A unit of the user's own systemd."""

    def __init__(self, home: Path, run: Run) -> None:
        self.path = home / ".config/systemd/user" / UNIT
        self._run = run

    def definition(self, command: Sequence[str], search_path: str) -> str:
        """The text of the unit."""
        return systemd_unit(command, search_path)

    def start(self) -> list[str]:
        """Enable and start it, and ask for lingering, so that it survives log-out."""
        self._do("daemon-reload")
        self._do("enable", UNIT)
        self._do("restart", UNIT)
        lingering = self._run(["loginctl", "enable-linger"])
        if lingering.code == 0:
            return []
        return ["It stops when you log out. To keep it: sudo loginctl enable-linger $USER"]

    def stop(self) -> None:
        """Stop and disable it. A unit that systemd does not know is none to stop."""
        self._run(["systemctl", "--user", "disable", "--now", UNIT])

    def state(self) -> ServiceState:
        """What `systemctl show` says."""
        shown = "ActiveState,SubState,MainPID,NRestarts"
        ran = self._run(["systemctl", "--user", "show", UNIT, f"--property={shown}"])
        said = dict(line.split("=", 1) for line in ran.out.splitlines() if "=" in line)
        words = ", ".join(f"{name} {value}" for name, value in said.items()) or ran.out.strip()
        return ServiceState(self.path.exists(), said.get("ActiveState") == "active", words)

    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """The command that reads the journal."""
        more = ["--follow"] if follow else ["--no-pager"]
        return ["journalctl", "--user", f"--unit={UNIT}", f"--lines={lines}", *more]

    def _do(self, *words: str) -> None:
        _check(self._run(["systemctl", "--user", *words]), f"systemctl --user {' '.join(words)}")


class LaunchdService:
    """An agent of the user's launchd session. It runs while the user is logged in."""

    def __init__(self, home: Path, run: Run, *, user_id: int, log_file: Path) -> None:
        self.path = home / "Library/LaunchAgents" / f"{LABEL}.plist"
        self._domain = f"gui/{user_id}"
        self._log_file = log_file
        self._run = run

    def definition(self, command: Sequence[str], search_path: str) -> str:
        """The property list."""
        return launchd_agent(LABEL, command, search_path, str(self._log_file))

    def start(self) -> list[str]:
        """Load and start it; one that was loaded before is unloaded first."""
        self.stop()
        self._log_file.parent.mkdir(parents=True, exist_ok=True)
        words = ["launchctl", "bootstrap", self._domain, str(self.path)]
        _check(self._run(words), " ".join(words))
        return ["It runs while you are logged in: macOS ends agents at log-out."]

    def stop(self) -> None:
        """Unload it. An agent that is not loaded is none to stop."""
        self._run(["launchctl", "bootout", f"{self._domain}/{LABEL}"])

    def state(self) -> ServiceState:
        """What `launchctl print` says."""
        ran = self._run(["launchctl", "print", f"{self._domain}/{LABEL}"])
        wanted = ("state =", "pid =", "last exit code =")
        said = [line.strip() for line in ran.out.splitlines() if line.strip().startswith(wanted)]
        running = ran.code == 0 and "state = running" in said
        return ServiceState(self.path.exists(), running, ", ".join(said) or "not loaded")

    def logs(self, lines: int, *, follow: bool) -> list[str]:
        """The command that reads its log file."""
        return ["tail", "-n", str(lines), *(["-f"] if follow else []), str(self._log_file)]


def plan_definition(manager: ServiceManager, text: str | None) -> ConfigChange:
    """The change that writes the definition, or removes it with None."""
    path = manager.path
    before = path.read_text() if path.exists() else None
    return ConfigChange(path, before, text)


def service_manager(
    home: Path, data_home: Path, *, system: str, user_id: int, run: Run | None = None
) -> ServiceManager:
    """The service of this operating system.

    Raises:
        Unavailable: it has neither systemd nor launchd.
    """
    run = run or run_program
    if system == "darwin":
        log_file = data_home / "logs" / "serve.log"
        return LaunchdService(home, run, user_id=user_id, log_file=log_file)
    if system.startswith("linux") and shutil.which("systemctl"):
        return SystemdService(home, run)
    raise Unavailable(
        "this machine has neither systemd nor launchd",
        hint="Let your own supervisor run `everloop serve`, and restart it when it ends.",
    )


def run_program(words: Sequence[str]) -> ProgramResult:
    """Run a program of the operating system to its end.

    Raises:
        Unavailable: it is not there, or does not end.
    """
    try:
        done = subprocess.run(  # noqa: S603 - fixed programs and options of ours
            list(words), capture_output=True, text=True, timeout=TIMEOUT_S, check=False
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        raise Unavailable(f"{words[0]!r} cannot be run: {problem}") from problem
    return ProgramResult(done.returncode, done.stdout + done.stderr)


def show_output(words: Sequence[str]) -> int:
    """Run a program whose output goes to the terminal; returns its exit code.

    Raises:
        Invalid: it is not there.
    """
    try:
        return subprocess.run(list(words), check=False).returncode  # noqa: S603 - as above
    except OSError as problem:
        raise Invalid(f"{words[0]!r} cannot be run: {problem.strerror}") from problem


def _check(ran: ProgramResult, command: str) -> None:
    if ran.code:
        said = ran.out.strip().splitlines()
        raise Unavailable(
            f"`{command}` failed: {said[-1] if said else f'exit code {ran.code}'}",
            hint="The definition is written; run that command yourself to see more.",
        )


def platform_name() -> str:
    """The name of this operating system, as Python spells it."""
    return sys.platform
