"""Rewriting a tenant's tables at the server, so that no dead row keeps erased text.

PostgreSQL keeps a dead row for as long as some session may still see it, and rewriting a table
carries such rows along. So it is rewritten only once nobody can see what was there before.
"""

import time

from everloop.errors import Unavailable
from everloop.log.postgres.connection import Connection, Line
from everloop.log.postgres.schema import Tenant

TRIES = 50
PAUSE_S = 0.1

_NOW = "SELECT pg_current_xact_id()::xid::text"
_LOOKING_BACK = """SELECT count(*) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (datname IS NULL OR datname = current_database())
    AND greatest(age(backend_xmin), age(backend_xid)) > age(%s::xid)"""


def scrub(line: Line, tenant: Tenant) -> None:
    """Rewrite the table. The connection is let go in the end.

    Raises:
        Unavailable: somebody kept seeing the old rows for too long.
    """
    try:
        line.insist(lambda db: rewrite(db, tenant.scrub))
    finally:
        line.drop()


def rewrite(db: Connection, statement: bytes) -> None:
    """Rewrite a table, once nobody can see what was there before.

    Raises:
        Unavailable: somebody kept seeing the old rows for too long.
    """
    (now,) = db.execute(_NOW).fetchone() or ("0",)
    for _ in range(TRIES):
        if db.execute(_LOOKING_BACK, (now,)).fetchone() == (0,):
            db.execute(statement)
            return
        time.sleep(PAUSE_S)
    raise Unavailable(
        "the text is erased from the log, but a session at the PostgreSQL server still sees it",
        hint="End what reads there for long (see `pg_stat_activity`); then `everloop log scrub`.",
    )
