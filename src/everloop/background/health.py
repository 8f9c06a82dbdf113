"""Health of background tasks: what each is doing, and what keeps one from working.

A process that runs tasks publishes their health in a small file beside the log. So `everloop
doctor`, which is another process, can show it. The file is locked while its process lives: one
that is not locked was left by a process that died, and is removed.
"""

import fcntl
import os
from contextlib import suppress
from pathlib import Path
from typing import Literal

import msgspec

SUFFIX = ".health"  # of the folder beside the log

TaskState = Literal["starting", "running", "standby", "failing", "stopped"]


class TaskHealth(msgspec.Struct, frozen=True):
    """How one task is. `standby`: another process does this work. `total` 0: nothing to count."""

    name: str
    state: TaskState
    problem: str = ""
    hint: str = ""
    done: int = 0
    total: int = 0


class ProcessHealth(msgspec.Struct, frozen=True):
    """The tasks of one process."""

    pid: int
    tasks: tuple[TaskHealth, ...] = ()


class HealthFile:
    """Publishes the health of this process. Trouble with the file is no trouble for the work."""

    def __init__(self, folder: Path) -> None:
        self._path = folder / f"{os.getpid()}.json"
        self._file: int | None = None
        self._published: tuple[TaskHealth, ...] | None = None

    def publish(self, tasks: tuple[TaskHealth, ...]) -> None:
        """Replace what others read, if it changed."""
        if tasks == self._published:
            return
        with suppress(OSError):
            if self._file is None:
                self._file = self._open()
            text = msgspec.json.encode(ProcessHealth(os.getpid(), tasks))
            os.pwrite(self._file, text.ljust(1), 0)
            os.ftruncate(self._file, len(text))
            self._published = tasks

    def close(self) -> None:
        """Remove the file."""
        if self._file is not None:
            self._path.unlink(missing_ok=True)
            os.close(self._file)
            self._file = None

    def _open(self) -> int:
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        file = os.open(self._path, os.O_RDWR | os.O_CREAT, 0o600)
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return file


def read_health(folder: Path) -> list[ProcessHealth]:
    """The health of every process that runs tasks on this log now."""
    found = (_read(path) for path in sorted(folder.glob("*.json")))
    return [one for one in found if one is not None]


def _read(path: Path) -> ProcessHealth | None:
    try:
        file = os.open(path, os.O_RDONLY)
    except OSError:
        return None
    try:
        fcntl.flock(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except OSError:  # its process lives and holds the lock
        with suppress(OSError, msgspec.MsgspecError):
            return msgspec.json.decode(path.read_bytes(), type=ProcessHealth)
        return None
    else:
        path.unlink(missing_ok=True)
        return None
    finally:
        os.close(file)
