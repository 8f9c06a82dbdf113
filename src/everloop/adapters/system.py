"""The machine's own clock, ids, entropy and patience."""

import os
import random
import secrets
import threading
import time
from datetime import UTC, datetime
from weakref import WeakSet

from everloop.ports import World

POOL_BYTES = 4_096


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)


class SystemEntropy:
    """The operating system's random bytes, drawn in larger portions.

    A process that was forked off draws its own: it must not give out what its parent does.
    """

    def __init__(self) -> None:
        self._pool = b""
        self._used = 0
        self._lock = threading.Lock()
        _pools.add(self)

    def draw(self, count: int) -> bytes:
        with self._lock:
            if self._used + count > len(self._pool):
                self._pool, self._used = secrets.token_bytes(max(count, POOL_BYTES)), 0
            start = self._used
            self._used += count
            return self._pool[start : self._used]

    def forget(self) -> None:
        self._pool, self._used = b"", 0


_pools: WeakSet[SystemEntropy] = WeakSet()


def _forget_pools() -> None:
    for pool in _pools:
        pool.forget()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pools)


class SystemIds:
    """Ids that sort by time of making: 48 bits of milliseconds, 80 random ones."""

    def __init__(self, entropy: SystemEntropy) -> None:
        self._entropy = entropy

    def new(self, prefix: str) -> str:
        return f"{prefix}-{time.time_ns() // 1_000_000:012x}{self._entropy.draw(10).hex()}"


class SystemPatience:
    """A busy handler: bounded, growing, jittered waits."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._waiting = threading.local()

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._waiting.since = time.monotonic()
        if time.monotonic() - self._waiting.since > self._wait_s:
            return False
        jitter = random.uniform(0.2, 1.0)  # noqa: S311 - no secret, only manners
        time.sleep(jitter * min(0.0005 * 2 ** min(tries, 10), 0.05))
        return True


def system_world(lock_wait_s: float) -> World:
    """This machine."""
    entropy = SystemEntropy()
    return World(SystemClock(), SystemIds(entropy), entropy, SystemPatience(lock_wait_s))
