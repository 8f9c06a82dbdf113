"""Shared files of a log's nodes, in a PostgreSQL table for each tenant (blob storage).

The table is created with the first file. A file is named by its digest and never changes; each node
caches the files that it fetched.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from psycopg.errors import UndefinedTable

from everloop.log.postgres.connection import Connection, ReconnectingConnection
from everloop.log.postgres.schema import MIGRATION_LOCK, TenantStatements
from everloop.log.postgres.scrub import rewrite_table

T = TypeVar("T")


class PostgresBlobStore:
    """The files of one tenant, over a connection of its own."""

    def __init__(self, line: ReconnectingConnection, tenant: TenantStatements) -> None:
        self._line = line
        self._sql = tenant.depot
        self._lock = Lock()  # the connection is not thread-safe

    def put(self, digest: str, content: bytes) -> None:
        """Store a file under its digest, if it is not there yet.

        Raises:
            Unavailable: the server cannot be reached, or refuses it.
        """

        def put(db: Connection) -> None:
            try:
                db.execute(self._sql.put, (digest, content))
            except UndefinedTable:  # this is the first file
                with db.transaction():
                    db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATION_LOCK,))
                    db.execute(self._sql.make)
                db.execute(self._sql.put, (digest, content))

        self._run(put)

    def get(self, digest: str) -> bytes | None:
        """The content of a file; None if there is no such file.

        Raises:
            Unavailable: the server cannot be reached.
        """
        found = self._run(lambda db: _first_row(db, self._sql.get, digest))
        return bytes(found[0]) if found else None

    def has(self, digest: str) -> bool:
        """Whether a file exists.

        Raises:
            Unavailable: the server cannot be reached.
        """
        return self._run(lambda db: _first_row(db, self._sql.has, digest)) is not None

    def touch(self, digest: str) -> bool:
        """Reset the age of a file, so that clean-up leaves it; False if it does not exist.

        Raises:
            Unavailable: the server cannot be reached.
        """
        return self._run(lambda db: _update(db, self._sql.renew, digest)) > 0

    def mark_old(self, digests: list[str]) -> None:
        """Mark files as old: no message that will refer to them is still to come.

        Raises:
            Unavailable: the server cannot be reached.
        """
        self._run(lambda db: _update(db, self._sql.settle, digests))

    def erase(self, digests: list[str], *, wanted: list[str], unsent_s: float) -> None:
        """Erase these files for good, and old files that are not in `wanted`.

        Raises:
            Unavailable: the server cannot be reached, or a session there still sees them.
        """

        def drop(db: Connection) -> None:
            with suppress(UndefinedTable), db.transaction():
                if db.execute(self._sql.drop, (digests, wanted, unsent_s)).rowcount:
                    db.execute(self._sql.mark)

        self._run(drop)
        self.scrub()

    def scrub(self) -> None:
        """Rewrite the table if it is marked, because dead rows still have the erased files.

        Raises:
            Unavailable: a session at the server still sees the dead rows.
        """

        def scrub(db: Connection) -> None:
            row = db.execute(self._sql.marked).fetchone()
            if row and row[0]:
                rewrite_table(db, self._sql.scrub)
                db.execute(self._sql.unmark)

        self._run(scrub)

    def close(self) -> None:
        """Close the connection."""
        with self._lock:
            self._line.disconnect()

    def _run(self, act: Callable[[Connection], T]) -> T:
        with self._lock:
            return self._line.run_with_retry(act)


def _update(db: Connection, change: bytes, which: str | list[str]) -> int:
    try:
        return db.execute(change, (which,)).rowcount
    except UndefinedTable:  # no file was stored yet
        return 0


def _first_row(db: Connection, question: bytes, digest: str) -> tuple[bytes] | None:
    try:
        return db.execute(question, (digest,), binary=True).fetchone()
    except UndefinedTable:  # no file was stored yet
        return None
