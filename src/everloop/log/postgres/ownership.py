"""Claims across nodes: session advisory locks at the PostgreSQL server.

All claims of a node belong to one session with a heartbeat every second. If none arrives for
`FREED_AFTER_S`, the server ends the session and the claims are free for other nodes. A node counts
its claims as lost earlier: when its last heartbeat is older than `LOST_AFTER_S`, or the server
closed the connection. So two nodes never both believe that they have a claim, whether one was
killed, stopped or disconnected.
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
from everloop.log.postgres.connection import Connection, ReconnectingConnection

SIGN_EVERY_S = 1.0
LOST_AFTER_S = 3.0
FREED_AFTER_S = 6.0
_PEER_CLOSED = getattr(select, "POLLRDHUP", 0)  # where it is missing, only POLLHUP is reported


class PostgresClaimStore:
    """The claims of one node."""

    def __init__(self, line: ReconnectingConnection, scope: str) -> None:
        line.idle_max_s = FREED_AFTER_S
        self._line = line
        self._scope = scope
        self._claimed: dict[str, object] = {}
        self._session: Connection | None = None
        self._heartbeat_at = 0.0  # start time of the last heartbeat that the server answered
        self._lock = threading.Lock()
        self._closed = threading.Event()
        self._thread: threading.Thread | None = None

    def claim(self, name: str) -> Claim | None:
        """Claim something now; None if it is claimed already, even by this node.

        Raises:
            Unavailable: the server cannot be reached.
        """
        with self._lock:
            if self._alive() and name in self._claimed:
                return None
            if not self._try_lock(name):
                return None
            token = self._claimed[name] = object()
            self._start_heartbeat()
        return Claim(name, lambda: self._held(name, token), lambda: self._release(name, token))

    def close(self) -> None:
        """Release every claim."""
        self._closed.set()
        if self._thread is not None:
            self._thread.join()
        with self._lock:
            self._lose()

    def _held(self, name: str, token: object) -> bool:
        return self._claimed.get(name) is token and self._alive()

    def _alive(self) -> bool:
        session = self._session
        recent = time.monotonic() - self._heartbeat_at < LOST_AFTER_S
        return session is not None and recent and not _is_disconnected(session)

    def _release(self, name: str, token: object) -> None:
        with self._lock:
            if self._claimed.get(name) is token:
                del self._claimed[name]
                with contextlib.suppress(EverloopError):  # the session ended, so the claim is free
                    self._query("SELECT pg_advisory_unlock(%s)", self._key(name))

    def _try_lock(self, name: str) -> bool:
        if self._alive():
            with contextlib.suppress(Unavailable):  # it was not alive; try a new session below
                return self._query("SELECT pg_try_advisory_lock(%s)", self._key(name))
        self._lose()
        self._session = self._line.connect()
        return self._query("SELECT pg_try_advisory_lock(%s)", self._key(name))

    def _query(self, question: LiteralString, key: int) -> bool:
        assert self._session is not None, "queries run only while there is a session"
        began = time.monotonic()
        try:
            row = self._session.execute(question, (key,)).fetchone()
        except psycopg.Error as problem:
            self._lose()
            raise self._line.translate_error(problem) from problem
        self._heartbeat_at = began
        return bool(row and row[0])

    def _lose(self) -> None:
        """Count all claims as lost and end the session."""
        self._claimed.clear()
        self._session = None
        self._line.disconnect()

    def _start_heartbeat(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(
                target=self._send_heartbeats, name="everloop-owners", daemon=True
            )
            self._thread.start()

    def _send_heartbeats(self) -> None:
        while not self._closed.wait(SIGN_EVERY_S):
            with self._lock, contextlib.suppress(EverloopError):
                if self._session is not None:
                    self._query("SELECT %s > 0", 1)

    def _key(self, name: str) -> int:
        digest = hashlib.sha256(f"{self._scope}\0{name}".encode()).digest()
        return int.from_bytes(digest[:8], signed=True)


def _is_disconnected(session: Connection) -> bool:
    """Whether the server has closed the connection, as far as known."""
    try:
        poll = select.poll()
        poll.register(session.fileno(), _PEER_CLOSED)
        return bool(poll.poll(0))
    except (OSError, psycopg.Error):
        return True
