"""System clock, id generator, random source, and backoff for a busy database."""

import os
import random
import threading
import time
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

from everloop.ports import SystemPorts

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
LEAP_NS = 86_400 * 1_000_000_000
LEAP_LASTS_NS = 60 * 1_000_000_000


def _since_boot_ns() -> int:
    """The time since boot, which nobody can set; with the time asleep where the system tells."""
    boottime = getattr(time, "CLOCK_BOOTTIME", None)
    return time.monotonic_ns() if boottime is None else time.clock_gettime_ns(boottime)


class SystemClock:
    """The system time, without leaps into the future that do not last.

    A single wrong reading would otherwise date every later record. A leap of more than a day, as
    the time since boot tells, is believed once it has lasted for a minute: somebody set the clock.
    """

    def __init__(
        self,
        wall_ns: Callable[[], int] = time.time_ns,
        since_boot_ns: Callable[[], int] = _since_boot_ns,
    ) -> None:
        self._wall_ns, self._since_boot_ns = wall_ns, since_boot_ns
        self._offset_ns = wall_ns() - since_boot_ns()  # the clock's time at boot, as last believed
        self._leapt_ns: int | None = None  # when, since boot, a leap was first seen

    def now(self) -> datetime:
        return EPOCH + timedelta(microseconds=self.now_us())

    def now_us(self) -> int:
        since_boot_ns, wall_ns = self._since_boot_ns(), self._wall_ns()
        steady_ns = self._offset_ns + since_boot_ns
        if wall_ns - steady_ns <= LEAP_NS:
            self._leapt_ns = None
        else:
            if self._leapt_ns is None:
                self._leapt_ns = since_boot_ns
            if since_boot_ns - self._leapt_ns < LEAP_LASTS_NS:
                return steady_ns // 1_000
        self._offset_ns = wall_ns - since_boot_ns
        return wall_ns // 1_000


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


def system_ports(lock_wait_s: float) -> SystemPorts:
    """The clock, ids, randomness and busy handler of this machine."""
    entropy = SystemEntropy()
    return SystemPorts(SystemClock(), SystemIds(entropy), entropy, SystemBusyBackoff(lock_wait_s))
