"""The bubblewrap sandbox: a read-only system, one writable folder, no network unless granted.

An agent reaches its model service, and nothing else, through `egress_proxy.py` and
`proxy_forwarder.py`. Used where the system has `bwrap` and allows it. Without it a task that
requires a sandbox, or wants to skip permissions, is refused.
"""

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from fnmatch import fnmatch
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple
from urllib.parse import urlsplit

from everloop.errors import Invalid
from everloop.workers import PreparedWorkspace, Task

READ_ONLY = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/etc", "/opt")
NAMES = "/run/systemd/resolve"  # where many systems keep how names are looked up
PROCESSES = "/proc"  # has the environment of the agent itself, and so its key
SETTINGS = (  # patterns of names, for the agents that are known
    *("*.toml", "*.yaml", "*.yml", "*.md", "*.sh", "settings*.json", "config*.json", "mcp*.json"),
    *("hooks", "plugins", "skills", "commands", "agents", "extensions", "prompts", "rules", "bin"),
)
PROBE_S = 10
PROXY_SOCKET = "proxy"
PROXY_FOLDER = "/run/everloop"  # where the sandbox has the folder of that socket
PROXY_PROGRAM = Path(__file__).with_name("egress_proxy.py")
FORWARDER = str(Path(__file__).with_name("proxy_forwarder.py"))
PORT = 3128
PROXY = f"http://127.0.0.1:{PORT}"
PROXY_VARIABLES = ("HTTP_PROXY", "HTTPS_PROXY", "http_proxy", "https_proxy")


@lru_cache(maxsize=1)
def sandbox_problem() -> str:
    """Why there is no sandbox here; empty if there is one."""
    found = shutil.which("bwrap")
    if found is None:
        return "bubblewrap (`bwrap`) is not installed"
    probe = [found, "--ro-bind", "/", "/", "--unshare-pid", "--unshare-net", "true"]
    try:
        ran = subprocess.run(  # noqa: S603 - fixed options
            probe, capture_output=True, timeout=PROBE_S, check=False, text=True
        )
    except (OSError, subprocess.TimeoutExpired) as problem:
        return f"bubblewrap cannot be run: {problem}"
    return "" if ran.returncode == 0 else f"bubblewrap is not allowed here: {ran.stderr.strip()}"


def has_sandbox(task: Task) -> bool:
    """Whether the processes of a task run in a sandbox here."""
    return task.spec.grants.sandbox != "off" and not sandbox_problem()


def git_folder(place: PreparedWorkspace) -> tuple[Path, ...]:
    """Where git keeps the repository of a worktree, so that a worker can look at its history."""
    return (Path(place.repository),) if place.repository else ()


class SandboxNeeds(NamedTuple):
    """What a process must have in its sandbox: folders, and for an agent, its model service.

    `hosts` are what it may reach without a grant; `proxy` is a folder for the way there. `kept` may
    be read only, although it lies in a writable folder.
    """

    writable: tuple[Path, ...]
    readable: tuple[Path, ...] = ()
    hosts: tuple[str, ...] = ()
    proxy: Path | None = None
    kept: tuple[Path, ...] = ()


def hosts_of(addresses: Mapping[str, str]) -> tuple[str, ...]:
    """The hosts of the web addresses among some variables, such as `ANTHROPIC_BASE_URL`."""
    found: list[str] = []
    for value in addresses.values():
        address = urlsplit(value)
        if address.scheme in ("http", "https") and address.hostname:
            usual = 443 if address.scheme == "https" else 80
            found.append(f"{address.hostname}:{address.port or usual}")
    return tuple(found)


def in_sandbox(task: Task, argv: tuple[str, ...], needs: SandboxNeeds) -> tuple[str, ...]:
    """The command inside the sandbox that the task's grants ask for.

    Without the grant it has no network: an agent reaches the hosts of its model service through
    a proxy, a command reaches nothing.

    Raises:
        Invalid: it requires a sandbox, and there is none here.
    """
    grants = task.spec.grants
    problem = sandbox_problem() if grants.sandbox != "off" else "it was switched off"
    if problem and grants.sandbox == "required":
        raise Invalid(
            f"this task requires a sandbox, but {problem}",
            hint="Install bubblewrap, or start the task without a sandbox.",
        )
    if problem and grants.skip_permissions:
        raise Invalid(
            f"permissions are skipped only inside a sandbox or container: {problem}",
            hint="Install bubblewrap; `everloop doctor` says what is missing.",
        )
    if problem:
        return argv
    readable = (*needs.readable, *_programs(argv))
    options = (
        *_options(needs.writable, readable, network=grants.network),
        *_kept_from_changes(task, needs.kept),
    )
    if grants.network or not needs.hosts or needs.proxy is None:
        return (*options, *argv)
    needs.proxy.mkdir(mode=0o700, parents=True, exist_ok=True)
    gated = ["--ro-bind", str(needs.proxy), PROXY_FOLDER, "--setenv", "NODE_USE_ENV_PROXY", "1"]
    for name in PROXY_VARIABLES:
        gated += ["--setenv", name, PROXY]
    gated += ["--ro-bind", FORWARDER, FORWARDER]
    socket = f"{PROXY_FOLDER}/{PROXY_SOCKET}"
    outside = str(needs.proxy / PROXY_SOCKET)
    around = (str(PROXY_PROGRAM), outside, json.dumps(needs.hosts), "--")
    inside = (FORWARDER, str(PORT), socket, "--")
    python = (sys.executable, "-I", "-S")
    return (*python, *around, *options, *gated, *python, *inside, *argv)


def settings_in(folder: Path) -> tuple[Path, ...]:
    """The settings of an agent in the folder with its login: what is in them may run later."""
    return tuple(
        path
        for path in sorted(folder.iterdir())
        if not path.is_symlink() and any(fnmatch(path.name, one) for one in SETTINGS)
    )


def _kept_from_changes(task: Task, kept: tuple[Path, ...]) -> Iterator[str]:
    """Options that keep settings and `.git` of the user's own folder as they are.

    What is in `.git`, git runs.
    """
    for path in map(str, kept):
        yield from ("--ro-bind", path, path)
    if task.spec.workspace.kind == "folder":
        folder = Path(task.spec.workspace.path).expanduser().resolve()
        git = (folder / ".git").resolve()
        if git.exists() and git.is_relative_to(folder):
            yield from ("--ro-bind", str(git), str(git))


def _programs(argv: tuple[str, ...]) -> Iterator[Path]:
    """Where programs are that the system's own folders do not have, and the virtualenv of this one.

    Never a folder that holds the user's files: of `~/.local` only `bin` is shown.
    """
    folders = [Path(one) for one in os.environ.get("PATH", "").split(os.pathsep) if one]
    folders.append(Path(sys.prefix) / "bin")
    if (found := shutil.which(argv[0])) is not None:
        folders.append(Path(found).parent)
    for folder in folders:
        if folder.name != "bin" or not folder.is_absolute():
            continue
        made_from = _interpreter_of(folder.parent)
        yield from (folder.parent, made_from) if made_from else (folder,)


def _interpreter_of(virtualenv: Path) -> Path | None:
    """The installation that a virtualenv was made from; none if it is not a virtualenv."""
    try:
        lines = (virtualenv / "pyvenv.cfg").read_text().splitlines()
    except OSError:
        return None
    homes = (line.partition("=")[2].strip() for line in lines if line.startswith("home"))
    return next((Path(home).parent for home in homes), None)


def _options(
    writable: tuple[Path, ...], readable: tuple[Path, ...], *, network: bool
) -> tuple[str, ...]:
    words = [
        shutil.which("bwrap") or "bwrap",
        "--die-with-parent",
        "--unshare-all",
        "--new-session",
    ]
    words += ["--proc", PROCESSES, "--dev", "/dev", "--tmpfs", "/tmp"]  # noqa: S108 - inside
    if network:
        words += ["--share-net", "--ro-bind-try", NAMES, NAMES]
    for path in (*READ_ONLY, *map(str, readable)):
        words += ["--ro-bind-try", path, path]
    for path in map(str, writable):
        words += ["--bind", path, path]
    return tuple(words)
