"""The machine's own clock, ids, entropy and patience."""

import os
import random
import threading
import time
from datetime import UTC, datetime

from everloop.ports import World


class SystemClock:
    """The time of this machine."""

    def now(self) -> datetime:
        return datetime.now(UTC)

    def now_us(self) -> int:
        return time.time_ns() // 1_000


class SystemEntropy:
    """The operating system's random bytes. To ask it costs less than to keep some at hand."""

    def draw(self, count: int) -> bytes:
        return os.urandom(count)


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
