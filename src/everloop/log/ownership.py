"""Exclusive claims on background work, when several nodes could do it.

A claim is the right to work on something, usually a stream, until it is released or lost; at most
one node has it. When a node dies, its claims become free by themselves and a waiting node takes the
work over.

A claim avoids duplicate work; it does not make work safe. Correctness comes from the log, where a
late owner's append is decided on the newest state. So check `held` before each step.
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
    """An exclusive right to a piece of work. Release it, or use it in a `with`."""

    def __init__(self, name: str, held: Callable[[], bool], release: Callable[[], None]) -> None:
        self.name = name
        self._held = held
        self._release = release
        self._released = False

    @property
    def held(self) -> bool:
        """Whether the claim is still ours. Once False, it stays False."""
        self._released = self._released or not self._held()
        return not self._released

    def release(self) -> None:
        """Release the claim. Does nothing if it was released or lost already."""
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


class ClaimStore(Protocol):
    """Stores claims: next to the log's file, or at the PostgreSQL server."""

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is claimed already, even by this node."""
        ...

    def close(self) -> None:
        """Release every claim."""
        ...


def wait_for_claim(owners: ClaimStore, name: str, wait_s: float) -> Claim | None:
    """Claim something as soon as it is free, within `wait_s` seconds."""
    deadline = time.monotonic() + wait_s
    while (claim := owners.claim(name)) is None:
        left_s = deadline - time.monotonic()
        if left_s <= 0:
            return None
        time.sleep(min(RETRY_S, left_s))
    return claim


class FileClaimStore:
    """Claims on one machine: a small file with an operating system lock (flock) for each."""

    def __init__(self, log: Path) -> None:
        self._folder = log.with_name(f"{log.name}.owners")
        self._open: dict[int, Path] = {}

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is claimed already, even by this node.

        Raises:
            Unavailable: the claim folder next to the log cannot be written.
        """
        path = self._folder / hashlib.sha256(name.encode()).hexdigest()[:32]
        try:
            self._folder.mkdir(mode=0o700, exist_ok=True)
            lock = _lock_file(path)
        except OSError as problem:
            raise Unavailable(
                f"{self._folder} cannot be written: {problem.strerror}",
                hint="Make the folder writable and free some space.",
            ) from problem
        if lock is None:
            return None
        self._open[lock] = path
        return Claim(name, lambda: self._held(lock, path), lambda: self._unlock(lock))

    def close(self) -> None:
        """Release every claim."""
        for lock in list(self._open):
            self._unlock(lock)

    def _held(self, lock: int, path: Path) -> bool:
        return self._open.get(lock) == path and _same_file(lock, path)

    def _unlock(self, lock: int) -> None:
        path = self._open.pop(lock, None)
        if path is not None:
            if _same_file(lock, path):
                path.unlink(missing_ok=True)
            os.close(lock)


def _lock_file(path: Path) -> int | None:
    """Open and lock the file at a path; None if another process has the lock."""
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
        os.close(lock)  # its last owner removed the file between our open and our lock


def _same_file(lock: int, path: Path) -> bool:
    """Whether the path still refers to the file that we locked."""
    with contextlib.suppress(FileNotFoundError):
        return os.path.samestat(os.fstat(lock), path.stat())
    return False
