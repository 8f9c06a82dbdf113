"""What those meet who are not let in yet: few tries, and challenges that hold once and not long."""

import threading
from collections import deque

from fastapi import HTTPException, Request

from everloop.ports import World

MINUTE_US = 60_000_000
CHALLENGE_BYTES = 32
CHALLENGE_LIVES_US = 5 * MINUTE_US
CHALLENGES_MAX = 1_000
PEERS_MAX = 10_000


class Knocks:
    """How often each peer tried to come in within a minute. Safe from any thread."""

    def __init__(self, world: World, tries_max: int) -> None:
        self._clock = world.clock
        self._tries_max = tries_max
        self._tries: dict[str, deque[int]] = {}
        self._lock = threading.Lock()

    def count(self, request: Request) -> None:
        """Count a try.

        Raises:
            HTTPException: there were too many.
        """
        peer = request.client.host if request.client else ""
        now = self._clock.now_us()
        with self._lock:
            tries = self._tries.setdefault(peer, deque())
            while tries and tries[0] <= now - MINUTE_US:
                tries.popleft()
            if len(tries) >= self._tries_max or len(self._tries) > PEERS_MAX:
                self._forget(now)
                raise HTTPException(429, "too many tries; wait a minute", {"Retry-After": "60"})
            tries.append(now)

    def _forget(self, now: int) -> None:
        """Drop those who have not tried for a minute."""
        since = now - MINUTE_US
        self._tries = {peer: t for peer, t in self._tries.items() if t and t[-1] > since}


class Challenges:
    """What a passkey is to sign: each once, and within five minutes. Safe from any thread."""

    def __init__(self, world: World) -> None:
        self._world = world
        self._until: dict[bytes, int] = {}
        self._lock = threading.Lock()

    def new(self) -> bytes:
        """One that was never given."""
        drawn = self._world.entropy.draw(CHALLENGE_BYTES)
        now = self._world.clock.now_us()
        with self._lock:
            held = [(one, until) for one, until in self._until.items() if until > now]
            self._until = dict(held[-CHALLENGES_MAX:])
            self._until[drawn] = now + CHALLENGE_LIVES_US
        return drawn

    def take(self, challenge: bytes) -> bool:
        """Whether it holds; after this it does not."""
        with self._lock:
            until = self._until.pop(challenge, 0)
        return until > self._world.clock.now_us()
