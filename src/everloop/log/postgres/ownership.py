"""Claims across nodes: session advisory locks at the PostgreSQL server.

All claims of a node live in one session. It gives a sign of life every second; when none came for
`FREED_AFTER_S`, the server ends the session and the claims are free for other nodes. A node whose
last sign is older than `LOST_AFTER_S`, which is sooner, or on whom the server hung up, counts its
claims as lost. So no two nodes believe that they hold the same one, whether one of them was killed,
stopped or cut off.
"""

import contextlib
import hashlib
import select
import threading
import time
from typing import LiteralString

import psycopg

from everloop.errors import EverloopError, Unavailable
from everloop.log.ownership import Claim
from everloop.log.postgres.connection import Connection, Line

SIGN_EVERY_S = 1.0
LOST_AFTER_S = 3.0
FREED_AFTER_S = 6.0
_CLOSED_THERE = getattr(select, "POLLRDHUP", 0)  # where it is missing, POLLHUP must do


class PostgresOwners:
    """The claims of one node."""

    def __init__(self, line: Line, scope: str) -> None:
        line.silent_max_s = FREED_AFTER_S
        self._line = line
        self._scope = scope
        self._claimed: dict[str, object] = {}
        self._session: Connection | None = None
        self._signed = 0.0  # when the newest sign of life began that the server answered
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is taken, be it by ourselves.

        Raises:
            Unavailable: the server cannot be reached.
        """
        with self._lock:
            if self._alive() and name in self._claimed:
                return None
            if not self._try_lock(name):
                return None
            token = self._claimed[name] = object()
            self._start_signs()
        return Claim(name, lambda: self._held(name, token), lambda: self._release(name, token))

    def close(self) -> None:
        """Give every claim back."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._lose()

    def _held(self, name: str, token: object) -> bool:
        return self._claimed.get(name) is token and self._alive()

    def _alive(self) -> bool:
        session = self._session
        recent = time.monotonic() - self._signed < LOST_AFTER_S
        return session is not None and recent and not _hung_up(session)

    def _release(self, name: str, token: object) -> None:
        with self._lock:
            if self._claimed.get(name) is token:
                del self._claimed[name]
                with contextlib.suppress(EverloopError):  # then the session is gone, and it is free
                    self._ask("SELECT pg_advisory_unlock(%s)", self._key(name))

    def _try_lock(self, name: str) -> bool:
        if self._alive():
            with contextlib.suppress(Unavailable):  # it was not, after all; a new session may be
                return self._ask("SELECT pg_try_advisory_lock(%s)", self._key(name))
        self._lose()
        self._session = self._line.connected()
        return self._ask("SELECT pg_try_advisory_lock(%s)", self._key(name))

    def _ask(self, question: LiteralString, key: int) -> bool:
        assert self._session is not None, "there is a session when something is asked"
        began = time.monotonic()
        try:
            row = self._session.execute(question, (key,)).fetchone()
        except psycopg.Error as problem:
            self._lose()
            raise self._line.failed(problem) from problem
        self._signed = began
        return bool(row and row[0])

    def _lose(self) -> None:
        """Count all claims as lost. A new session begins with none."""
        self._claimed.clear()
        self._session = None
        self._line.drop()

    def _start_signs(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._give_signs, name="everloop-owners", daemon=True
            )
            self._thread.start()

    def _give_signs(self) -> None:
        while not self._closed.wait(SIGN_EVERY_S):
            with self._lock, contextlib.suppress(EverloopError):
                if self._session is not None:
                    self._ask("SELECT %s > 0", 1)

    def _key(self, name: str) -> int:
        digest = hashlib.sha256(f"{self._scope}\0{name}".encode()).digest()
        return int.from_bytes(digest[:8], signed=True)


def _hung_up(session: Connection) -> bool:
    """Whether the server's end of a connection is known to be closed."""
    try:
        poll = select.poll()
        poll.register(session.fileno(), _CLOSED_THERE)
        return bool(poll.poll(0))
    except (OSError, psycopg.Error):
        return True
