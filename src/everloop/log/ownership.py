"""Who does which piece of background work, when several nodes could.

A claim is the right to work on something, usually a stream, until it is released or lost. At most
one node holds it. When a node dies its claims are free again without anybody's doing, so whoever
waits for one takes the work over.

A claim saves double work; it does not make work safe. What is decided is decided in the log, where
a late owner's append meets the newest state. So ask `held` before each step, not only at the first.
"""

import contextlib
import errno
import fcntl
import hashlib
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import TracebackType
from typing import Protocol, Self

from everloop.errors import Unavailable

RETRY_S = 0.1


class Claim:
    """A piece of work that is ours. Release it, or use it in a `with`."""

    def __init__(self, name: str, held: Callable[[], bool], release: Callable[[], None]) -> None:
        self.name = name
        self._held = held
        self._release = release
        self._released = False

    @property
    def held(self) -> bool:
        """Whether it is still ours. Once False it stays so."""
        self._released = self._released or not self._held()
        return not self._released

    def release(self) -> None:
        """Let others have it. Harmless if it is gone already."""
        if self.held:
            self._released = True
            self._release()

    def __enter__(self) -> Self:
        """Use the claim in a `with`."""
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Release it."""
        self.release()


class Owners(Protocol):
    """Where claims are kept: beside a log's file, or at the server that holds the log."""

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is taken, be it by ourselves."""
        ...

    def close(self) -> None:
        """Give every claim back."""
        ...


def claim_within(owners: Owners, name: str, wait_s: float) -> Claim | None:
    """Claim something as soon as it is free, within `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    while (claim := owners.claim(name)) is None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return None
        time.sleep(min(RETRY_S, left_s))
    return claim


class FileOwners:
    """Claims on one machine: a lock of the operating system on a small file for each."""

    def __init__(self, log: Path) -> None:
        self._folder = log.with_name(f"{log.name}.owners")
        self._open: dict[int, Path] = {}

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is taken, be it by ourselves.

        Raises:
            Unavailable: the folder beside the log cannot be written.
        """
        path = self._folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            lock = _locked(path)
        except OSError as problem:
            raise Unavailable(
                f"{self._folder} cannot be written: {problem.strerror}",
                hint="Make the folder writable and free some space.",
            ) from problem
        if lock is None:
            return None
        self._open[lock] = path
        return Claim(name, lambda: self._held(lock, path), lambda: self._let_go(lock))

    def close(self) -> None:
        """Give every claim back."""
        for lock in list(self._open):
            self._let_go(lock)

    def _held(self, lock: int, path: Path) -> bool:
        return self._open.get(lock) == path and _same_file(lock, path)

    def _let_go(self, lock: int) -> None:
        path = self._open.pop(lock, None)
        if path is not None:
            if _same_file(lock, path):
                path.unlink(missing_ok=True)
            os.close(lock)


def _locked(path: Path) -> int | None:
    """An open, locked file at that path; None if another has the lock."""
    while True:
        lock = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as problem:
            os.close(lock)
            if problem.errno in (errno.EWOULDBLOCK, errno.EACCES):
                return None
            raise
        if _same_file(lock, path):
            return lock
        os.close(lock)  # its last owner removed the file between our opening and our locking


def _same_file(lock: int, path: Path) -> bool:
    """Whether the path still names the file that we locked."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False
