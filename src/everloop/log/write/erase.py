"""Erases purged payloads from the log for good; their records keep a seal instead."""

from collections.abc import Iterable

import apsw

from everloop.log.model.record import seal_of
from everloop.log.sql_rows import query_one


def erase(db: apsw.Connection, positions: Iterable[int]) -> None:
    """Erase payloads, and delete the snapshots that were folded from them."""
    for position in positions:
        row = query_one(db, _PAYLOAD, (position,))
        if row is not None:
            salt, data, stream = row
            db.execute(_SEAL, (seal_of(salt, data.encode()), position))
            db.execute("DELETE FROM snapshots WHERE stream = ?", (stream,))


_PAYLOAD = "SELECT salt, data, stream FROM log WHERE position = ? AND data IS NOT NULL"
_SEAL = "UPDATE log SET data = NULL, salt = NULL, seal = ? WHERE position = ?"
