"""Protects sign-in: a rate limit per peer, and single-use WebAuthn challenges that expire."""

import threading
from collections import deque

from fastapi import HTTPException, Request

from everloop.ports import SystemPorts

MINUTE_US = 60_000_000
CHALLENGE_BYTES = 32
CHALLENGE_LIVES_US = 5 * MINUTE_US
CHALLENGES_MAX = 1_000
PEERS_MAX = 10_000


class SignInRateLimit:
    """Rate limit of sign-in attempts: a sliding window of one minute per peer. Thread-safe."""

    def __init__(self, ports: SystemPorts, tries_max: int) -> None:
        self._clock = ports.clock
        self._tries_max = tries_max
        self._tries: dict[str, deque[int]] = {}
        self._lock = threading.Lock()

    def count(self, request: Request) -> None:
        """Count an attempt.

        Raises:
            HTTPException: 429, there were too many.
        """
        peer = request.client.host if request.client else ""
        now = self._clock.now_us()
        with self._lock:
            tries = self._tries.setdefault(peer, deque())
            while tries and tries[0] <= now - MINUTE_US:
                tries.popleft()
            if len(tries) >= self._tries_max or len(self._tries) > PEERS_MAX:
                self._forget(now)
                raise HTTPException(429, "too many attempts; wait a minute", {"Retry-After": "60"})
            tries.append(now)

    def _forget(self, now: int) -> None:
        """Drop peers without an attempt in the last minute."""
        since = now - MINUTE_US
        self._tries = {peer: t for peer, t in self._tries.items() if t and t[-1] > since}


class PasskeyChallenges:
    """WebAuthn challenges, each valid once and for five minutes. Thread-safe."""

    def __init__(self, ports: SystemPorts) -> None:
        self._ports = ports
        self._until: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def issue(self) -> bytes:
        """Issue a new random challenge."""
        drawn = self._ports.entropy.draw(CHALLENGE_BYTES)
        now = self._ports.clock.now_us()
        with self._lock:
            held = [(one, until) for one, until in self._until.items() if until > now]
            self._until = dict(held[-CHALLENGES_MAX:])
            self._until[drawn] = now + CHALLENGE_LIVES_US
        return drawn

    def consume(self, challenge: bytes) -> bool:
        """Use up a challenge; False if it is unknown, used or expired."""
        with self._lock:
            until = self._until.pop(challenge, 0)
        return until > self._ports.clock.now_us()
