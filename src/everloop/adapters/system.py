"""System clock, id generator, random source, and backoff for a busy database."""

import os
import random
import threading
import time
from datetime import UTC, datetime

from everloop.ports import World


class SystemClock:
    """The system time."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_us(self) -> int:
        return time.time_ns() // 1_000


class SystemEntropy:
    """The operating system's random bytes; reading them is cheaper than buffering."""

    def draw(self, count: int) -> bytes:
        return os.urandom(count)


class SystemIds:
    """Time-ordered ids, like UUIDv7: 48 bits of milliseconds, 80 random bits."""

    def __init__(self, entropy: SystemEntropy) -> None:
        self._entropy = entropy

    def new(self, prefix: str) -> str:
        return f"{prefix}-{time.time_ns() // 1_000_000:012x}{self._entropy.draw(10).hex()}"


class SystemBusyBackoff:
    """A SQLite busy handler: exponential backoff with jitter, up to a time limit."""

    def __init__(self, wait_s: float) -> None:
        self._wait_s = wait_s
        self._waiting = threading.local()

    def __call__(self, tries: int) -> bool:
        if tries == 0:
            self._waiting.since = time.monotonic()
        if time.monotonic() - self._waiting.since > self._wait_s:
            return False
        jitter = random.uniform(0.2, 1.0)  # noqa: S311 - jitter, not a secret
        time.sleep(jitter * min(0.0005 * 2 ** min(tries, 10), 0.05))
        return True


def system_world(lock_wait_s: float) -> World:
    """The clock, ids, randomness and busy handler of this machine."""
    entropy = SystemEntropy()
    return World(SystemClock(), SystemIds(entropy), entropy, SystemBusyBackoff(lock_wait_s))
