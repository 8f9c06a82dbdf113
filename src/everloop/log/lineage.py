"""Which facts count: branches, standing, retractions and what was derived from what.

The one built-in view. It answers, for any sight, whether a fact is visible, and it does so in SQL,
so that every other view filters with the same three conditions (`VISIBLE`). A fact counts when

1. it lies in the lineage of the sight,
2. no retraction that counts in this sight covers it or something it was derived from, and
3. what it was derived from on other trees lies in the sight as well.

What is retracted when is stored per fact (`log_hidden`), so a query never walks the graph.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import apsw
import msgspec

from everloop.log.branches import Branches, Sight
from everloop.log.facts import BranchForked, BranchPlanted, BranchStood, Purged, Retracted
from everloop.log.projection import Projection
from everloop.log.record import Fact
from everloop.log.sql import rows

_CLOSURE = """
WITH RECURSIVE gone(position) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT b.dependant FROM log_because b JOIN gone g ON b.source = g.position
)
SELECT position FROM gone ORDER BY position
"""

_BRANCHES = "SELECT act, branch, parent, at FROM log_branches WHERE position > ? ORDER BY position"
_RETRACTIONS = "SELECT position, branch, everywhere FROM log_retractions ORDER BY position DESC"

VISIBLE = """(
    EXISTS (SELECT 1 FROM temp.sight s WHERE s.branch = {row}.branch AND {row}.position <= s.cap)
    AND NOT EXISTS (SELECT 1 FROM log_hidden h JOIN temp.active a ON a.position = h.hidden_by
                    WHERE h.position = {row}.position)
    AND NOT EXISTS (SELECT 1 FROM log_needs n LEFT JOIN temp.sight s ON s.branch = n.branch
                    WHERE n.position = {row}.position AND n.at > ifnull(s.cap, -1))
)"""


def visible(row: str) -> str:
    """The SQL condition that a view's row, which has `position` and `branch`, counts."""
    return VISIBLE.format(row=row)


class Lineage(Projection):
    """Branches, standing, and the hidden and derived facts."""

    name = "lineage"
    tables: ClassVar[tuple[str, ...]] = (
        "log_branches",
        "log_because",
        "log_needs",
        "log_retractions",
        "log_hidden",
    )
    schema = """
    CREATE TABLE log_branches (
        position INTEGER PRIMARY KEY,
        act      TEXT NOT NULL CHECK (act IN ('planted', 'forked', 'stood')),
        branch   TEXT NOT NULL,
        parent   TEXT NOT NULL,
        at       INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE log_because (
        source    INTEGER NOT NULL,
        dependant INTEGER NOT NULL,
        PRIMARY KEY (source, dependant)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE log_needs (
        position INTEGER NOT NULL,
        branch   TEXT NOT NULL,
        at       INTEGER NOT NULL,
        stream   TEXT NOT NULL,
        PRIMARY KEY (position, branch)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX log_needs_stream ON log_needs (stream);
    CREATE TABLE log_retractions (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        everywhere INTEGER NOT NULL
    ) STRICT;
    CREATE TABLE log_hidden (
        position  INTEGER NOT NULL,
        hidden_by INTEGER NOT NULL,
        stream    TEXT NOT NULL,
        PRIMARY KEY (position, hidden_by)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX log_hidden_stream ON log_hidden (stream, position);
    CREATE INDEX log_hidden_by ON log_hidden (hidden_by);
    """

    def fold(self, db: apsw.Connection, fact: Fact) -> None:
        """Take in branch facts and retractions, and the sources of any fact that names some."""
        if fact.because:
            _derive(db, fact)
        match fact.event:
            case BranchPlanted(branch=branch):
                _branch(db, fact, "planted", branch, "", 0)
            case BranchForked(branch=branch, parent=parent, at=at):
                _branch(db, fact, "forked", branch, parent, at)
            case BranchStood(branch=branch):
                _branch(db, fact, "stood", branch, "", 0)
            case Retracted(positions=positions):
                _hide(db, fact, positions, everywhere=False)
            case Purged(positions=positions):
                _hide(db, fact, positions, everywhere=True)
            case _:
                pass

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Nothing here holds anyone's text; that a purged fact was derived from others stays."""


def closure(db: apsw.Connection, positions: Iterable[int]) -> list[int]:
    """These facts and everything derived from them, on every branch."""
    return [row[0] for row in rows(db, _CLOSURE, (msgspec.json.encode(list(positions)).decode(),))]


def load_branches(db: apsw.Connection, into: Branches, after: int = 0) -> None:
    """Take the branch facts after a position into the in-memory fold."""
    for act, branch, parent, at in rows(db, _BRANCHES, (after,)):
        if act == "planted":
            into.plant(branch)
        elif act == "forked":
            into.fork(branch, parent, at)
        else:
            into.stand(branch)


def active_retractions(
    db: apsw.Connection, sight: Sight, *, without: frozenset[int] = frozenset()
) -> list[int]:
    """The retractions that count in a sight: seen, and not retracted themselves.

    `without` leaves some out, as if they had been retracted: that is how a preview looks ahead.
    """
    active: set[int] = set()
    for position, branch, everywhere in rows(db, _RETRACTIONS):
        if position in without or not (everywhere or sight.sees(branch, position)):
            continue
        undoing = rows(db, "SELECT hidden_by FROM log_hidden WHERE position = ?", (position,))
        if active.isdisjoint(row[0] for row in undoing):
            active.add(position)
    return sorted(active)


def _branch(db: apsw.Connection, fact: Fact, act: str, branch: str, parent: str, at: int) -> None:
    db.execute(
        "INSERT INTO log_branches VALUES (?, ?, ?, ?, ?)", (fact.position, act, branch, parent, at)
    )


def _derive(db: apsw.Connection, fact: Fact) -> None:
    sources = msgspec.json.encode(fact.because).decode()
    db.execute(
        "INSERT INTO log_because SELECT value, ? FROM json_each(?) WHERE true"
        " ON CONFLICT DO NOTHING",
        (fact.position, sources),
    )
    db.execute(
        "INSERT INTO log_hidden SELECT DISTINCT ?, h.hidden_by, ? FROM json_each(?) j"
        " JOIN log_hidden h ON h.position = j.value",
        (fact.position, fact.stream, sources),
    )
    _need(db, fact, sources)


def _need(db: apsw.Connection, fact: Fact, sources: str) -> None:
    """Note what a fact needs from other trees: its own sources there, and what those need."""
    db.execute(
        """
        INSERT INTO log_needs
        SELECT ?1, branch, max(at), ?4 FROM (
            SELECT l.branch, l.position AS at FROM json_each(?2) j
            JOIN log l ON l.position = j.value WHERE l.branch <> ?3
            UNION ALL
            SELECT n.branch, n.at FROM json_each(?2) j JOIN log_needs n ON n.position = j.value
        ) GROUP BY branch
        """,
        (fact.position, sources, fact.branch, fact.stream),
    )


def _hide(db: apsw.Connection, fact: Fact, positions: Sequence[int], *, everywhere: bool) -> None:
    db.execute(
        "INSERT INTO log_retractions VALUES (?, ?, ?)",
        (fact.position, fact.branch, int(everywhere)),
    )
    for position in closure(db, positions):
        db.execute(
            "INSERT INTO log_hidden SELECT ?1, ?2, stream FROM log WHERE position = ?1"
            " ON CONFLICT DO NOTHING",
            (position, fact.position),
        )
