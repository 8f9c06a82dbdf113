"""Rewrites a tenant's tables at the server, so that no dead row keeps erased text.

PostgreSQL keeps a dead row while a session may still see it, and a rewrite copies such rows. So the
rewrite waits until no session can see the old rows.
"""

import time

from everloop.errors import Unavailable
from everloop.log.postgres.connection import Connection, ReconnectingConnection
from everloop.log.postgres.schema import TenantStatements

TRIES = 50
PAUSE_S = 0.1

_CURRENT_XID = "SELECT pg_current_xact_id()::xid::text"
_OLDER_SESSIONS = """SELECT count(*) FROM pg_stat_activity
    WHERE pid <> pg_backend_pid() AND (datname IS NULL OR datname = current_database())
    AND greatest(age(backend_xmin), age(backend_xid)) > age(%s::xid)"""


def scrub_log_table(line: ReconnectingConnection, tenant: TenantStatements) -> None:
    """Rewrite the log table of a tenant, and close the connection.

    Raises:
        Unavailable: a session kept the old rows visible for too long.
    """
    try:
        line.run_with_retry(lambda db: rewrite_table(db, tenant.scrub))
    finally:
        line.disconnect()


def rewrite_table(db: Connection, statement: bytes) -> None:
    """Rewrite a table as soon as no session can see its old rows.

    Raises:
        Unavailable: a session kept the old rows visible for too long.
    """
    (now,) = db.execute(_CURRENT_XID).fetchone() or ("0",)
    for _ in range(TRIES):
        if db.execute(_OLDER_SESSIONS, (now,)).fetchone() == (0,):
            db.execute(statement)
            return
        time.sleep(PAUSE_S)
    raise Unavailable(
        "the text is erased from the log, but a session at the PostgreSQL server still sees it",
        hint="End long transactions there (see `pg_stat_activity`); then run `everloop log scrub`.",
    )
