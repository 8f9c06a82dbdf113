"""Supervised processes: each attempt has a folder and a small process that watches the command.

The watching process (`shim.py`) outlives the server. Its lock tells whether it lives, whatever its
process id: the server opens and locks a file and hands the open file on, so there is no moment at
which a started process is not locked.
"""

import fcntl
import json
import marshal
import math
import os
import signal
import subprocess
import sys
import time
import uuid
from contextlib import suppress
from pathlib import Path

import msgspec

from everloop.adapters.processes import shim
from everloop.errors import RunnerFailed
from everloop.workers import Launch, ProcessExit, ProcessStatus

MARK = "EVERLOOP_ATTEMPT"  # the environment variable by which what was left behind is found


def read_output(folder: Path, offset: int, limit: int) -> bytes:
    """Output of an attempt from an offset on; nothing before it has begun."""
    try:
        with (folder / "output").open("rb") as file:
            file.seek(offset)
            return file.read(limit)
    except FileNotFoundError:
        return b""


class SupervisedProcesses:
    """The processes of the tasks of one log, on this machine."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._host = ""
        self._ended: dict[Path, ProcessExit] = {}
        self._ended_at: dict[Path, float] = {}  # when their end was seen, all of it before
        self._left: dict[Path, list[int]] = {}  # processes of attempts, as they were found at
        self._left_at = -1.0

    @property
    def host(self) -> str:
        """A name made up once for this folder, which another machine does not have."""
        self._host = self._host or self._read_host()
        return self._host

    def _read_host(self) -> str:
        path = self._folder / "host"
        if not path.exists():
            self._folder.mkdir(mode=0o700, parents=True, exist_ok=True)
            made = path.with_suffix(f".{os.getpid()}")
            made.write_text(uuid.uuid4().hex)
            with suppress(FileExistsError):
                os.link(made, path)
            made.unlink()
        return path.read_text()

    def folder(self, task_id: str, attempt: int) -> Path:
        """The folder of an attempt."""
        return self._folder / "tasks" / task_id / str(attempt)

    def alive(self) -> list[tuple[str, int]]:
        """The attempts whose watching process lives."""
        folders = (self._folder / "tasks").glob("*/[0-9]*")
        return [(one.parent.name, int(one.name)) for one in folders if _is_locked(one / "lock")]

    def start(self, folder: Path, launch: Launch) -> None:
        """Start the process of an attempt, in a session of its own.

        Raises:
            RunnerFailed: it cannot be started.
        """
        try:
            for name in ("home", "tmp"):
                (folder / name).mkdir(mode=0o700, parents=True, exist_ok=True)
            marked = {**launch.env, MARK: str(folder)}
            launch = msgspec.structs.replace(launch, env=marked)
            order = marshal.dumps(msgspec.to_builtins(launch))  # read by the same Python
            (folder / "launch").write_bytes(order)
            lock = os.open(folder / "lock", os.O_RDWR | os.O_CREAT, 0o600)
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _children.append(_spawn(folder, lock))
            finally:
                os.close(lock)
        except OSError as problem:
            raise RunnerFailed(
                f"the process cannot be started: {problem.strerror}",
                hint="Check free space and the number of processes.",
            ) from problem

    def status(self, folder: Path) -> ProcessStatus:
        """What is known of a process, from its folder alone."""
        _reap()
        if (ended := self._ended.get(folder)) is not None:
            return ProcessStatus(alive=False, begun=True, exit=ended)
        alive = _is_locked(folder / "lock")  # before the rest: it may end in between
        begun = (folder / "process.json").exists()
        if alive:
            return ProcessStatus(alive=True, begun=begun)
        with suppress(OSError, msgspec.MsgspecError):
            ended = msgspec.json.decode((folder / "exit.json").read_bytes(), type=ProcessExit)
            self._ended[folder] = ended
            self._ended_at[folder] = time.monotonic()
        return ProcessStatus(alive=False, begun=begun, exit=ended)

    def read(self, folder: Path, offset: int, limit: int) -> bytes:
        """Output from an offset on."""
        return read_output(folder, offset, limit)

    def send(self, folder: Path, line: bytes) -> None:
        """Add a line to the file that the process follows as its input."""
        with (folder / "input").open("ab") as file:
            file.write(line + b"\n")
            file.flush()
            os.fsync(file.fileno())

    def terminate(self, folder: Path) -> None:
        """Ask the watching process to end what it started."""
        if _is_locked(folder / "lock"):
            with suppress(OSError, ValueError, KeyError, ProcessLookupError):
                os.kill(json.loads((folder / "process.json").read_text())["pid"], signal.SIGTERM)

    def sweep(self, folder: Path) -> None:
        """End what a watching process left behind, found by the mark it inherited.

        One look at all processes serves for every attempt that had ended before.
        """
        if self._left_at <= self._ended_at.pop(folder, math.inf):
            self._look_for_left()
        while self._left.get(folder):
            self._look_for_left()  # right before: a number may be another process's by now
            for pid in self._left.get(folder, ()):
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, signal.SIGKILL)

    def _look_for_left(self) -> None:
        self._left, self._left_at = {}, time.monotonic()
        mark = f"{MARK}=".encode()
        for pid in _processes():
            for variable in _environment(pid):
                if variable.startswith(mark):
                    folder = Path(os.fsdecode(variable.removeprefix(mark)))
                    self._left.setdefault(folder, []).append(pid)


_children: "list[subprocess.Popen[bytes]]" = []  # that this process started and has not reaped


def _reap() -> None:
    """Reap the watching processes that ended; those of an earlier server are not ours."""
    _children[:] = [child for child in _children if child.poll() is None]


def _spawn(folder: Path, lock: int) -> "subprocess.Popen[bytes]":
    return subprocess.Popen(  # noqa: S603 - our own programme, fixed options
        [sys.executable, "-I", "-S", str(Path(shim.__file__)), str(folder), str(lock)],
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        env={},
        cwd="/",
        pass_fds=(lock,),
        start_new_session=True,
    )


def _is_locked(path: Path) -> bool:
    try:
        file = os.open(path, os.O_RDWR)
    except OSError:
        return False
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    else:
        return False
    finally:
        os.close(file)


def _processes() -> list[int]:
    return [int(entry) for entry in os.listdir("/proc") if entry.isdigit()]


def _environment(pid: int) -> list[bytes]:
    try:
        state = Path(f"/proc/{pid}/stat").read_bytes().rpartition(b")")[2].split()[0]
        return [] if state == b"Z" else Path(f"/proc/{pid}/environ").read_bytes().split(b"\0")
    except OSError:
        return []
