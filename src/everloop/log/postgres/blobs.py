"""Files that the nodes of a log share, at the PostgreSQL server, in a table of each tenant.

It is made when the first file comes. A file is named by its digest and never changes; each node
keeps what it fetched once.
"""

from collections.abc import Callable
from contextlib import suppress
from threading import Lock
from typing import TypeVar

from psycopg.errors import UndefinedTable

from everloop.log.postgres.connection import Connection, Line
from everloop.log.postgres.schema import MIGRATING, Tenant
from everloop.log.postgres.scrub import rewrite

T = TypeVar("T")


class PostgresDepot:
    """The files of one tenant, over a line of its own."""

    def __init__(self, line: Line, tenant: Tenant) -> None:
        self._line = line
        self._sql = tenant.depot
        self._lock = Lock()  # a line is not for two threads

    def put(self, digest: str, content: bytes) -> None:
        """Have a file there.

        Raises:
            Unavailable: the server cannot be reached, or does not take it.
        """

        def put(db: Connection) -> None:
            try:
                db.execute(self._sql.put, (digest, content))
            except UndefinedTable:  # it is the first file
                with db.transaction():
                    db.execute("SELECT pg_advisory_xact_lock(%s)", (MIGRATING,))
                    db.execute(self._sql.make)
                db.execute(self._sql.put, (digest, content))

        self._ask(put)

    def get(self, digest: str) -> bytes | None:
        """What is in a file; None if it is not there.

        Raises:
            Unavailable: the server cannot be reached.
        """
        found = self._ask(lambda db: _found(db, self._sql.get, digest))
        return bytes(found[0]) if found else None

    def has(self, digest: str) -> bool:
        """Whether a file is there.

        Raises:
            Unavailable: the server cannot be reached.
        """
        return self._ask(lambda db: _found(db, self._sql.has, digest)) is not None

    def renew(self, digest: str) -> bool:
        """Whether a file is there; if so, it is as good as new.

        Raises:
            Unavailable: the server cannot be reached.
        """
        return self._ask(lambda db: _changed(db, self._sql.renew, digest)) > 0

    def settle(self, digests: list[str]) -> None:
        """Have files count as old: none of them waits for its message.

        Raises:
            Unavailable: the server cannot be reached.
        """
        self._ask(lambda db: _changed(db, self._sql.settle, digests))

    def drop(self, digests: list[str], *, wanted: list[str], unsent_s: float) -> None:
        """Erase files, so that nothing is left of them; and old ones that are not wanted.

        Raises:
            Unavailable: the server cannot be reached, or somebody there still sees them.
        """

        def drop(db: Connection) -> None:
            with suppress(UndefinedTable), db.transaction():
                if db.execute(self._sql.drop, (digests, wanted, unsent_s)).rowcount:
                    db.execute(self._sql.mark)

        self._ask(drop)
        self.scrub()

    def scrub(self) -> None:
        """Rewrite the table, if it is marked: what was erased is in dead rows there.

        Raises:
            Unavailable: somebody there still sees it.
        """

        def scrub(db: Connection) -> None:
            row = db.execute(self._sql.marked).fetchone()
            if row and row[0]:
                rewrite(db, self._sql.scrub)
                db.execute(self._sql.unmark)

        self._ask(scrub)

    def close(self) -> None:
        """Hang up."""
        with self._lock:
            self._line.drop()

    def _ask(self, act: Callable[[Connection], T]) -> T:
        with self._lock:
            return self._line.insist(act)


def _changed(db: Connection, change: bytes, which: str | list[str]) -> int:
    try:
        return db.execute(change, (which,)).rowcount
    except UndefinedTable:  # no file came yet
        return 0


def _found(db: Connection, question: bytes, digest: str) -> tuple[bytes] | None:
    try:
        return db.execute(question, (digest,), binary=True).fetchone()
    except UndefinedTable:  # no file came yet
        return None
