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

from everloop.log.model.branches import ALL, Branches, Sight
from everloop.log.model.event import is_superseding, lasting_kinds
from everloop.log.model.facts import BranchForked, BranchPlanted, BranchStood, Purged, Retracted
from everloop.log.model.record import Fact
from everloop.log.read.projection import Projection, on
from everloop.log.sql_rows import rows

_CLOSURE = """
WITH RECURSIVE gone(position) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT b.dependant FROM log_because b JOIN gone g ON b.source = g.position
)
SELECT position FROM gone ORDER BY position
"""

# What was derived from a fact, or from what replaced it earlier, outside of its own stream; except
# what stands on the thing itself, whatever that says now.
_STALE = """
SELECT DISTINCT b.dependant FROM log_because b JOIN log d ON d.position = b.dependant
WHERE d.stream <> ?2 AND b.dependant < ?3
AND d.kind NOT IN (SELECT value FROM json_each(?4)) AND (b.source = ?1 OR b.source IN (
    SELECT own.dependant FROM log_because own JOIN log o ON o.position = own.dependant
    WHERE own.source = ?1 AND o.stream = ?2 AND own.dependant < ?3))
"""
_BRANCHES = """
SELECT act, branch, parent, at FROM log_branches
WHERE position > ? AND position <= ? ORDER BY position
"""
_RETRACTIONS = "SELECT position, branch, everywhere FROM log_retractions ORDER BY position DESC"

# The names inside begin with `the_`, so that a caller's table can have any other name.
VISIBLE = """(
    EXISTS (SELECT 1 FROM temp.sight the_sight
            WHERE the_sight.branch = {row}.branch AND {row}.position <= the_sight.cap)
    AND NOT EXISTS (SELECT 1 FROM log_hidden the_hidden
                    JOIN temp.active the_active ON the_active.position = the_hidden.hidden_by
                    WHERE the_hidden.position = {row}.position)
    AND NOT EXISTS (SELECT 1 FROM log_needs the_needs
                    LEFT JOIN temp.sight the_sight ON the_sight.branch = the_needs.branch
                    WHERE the_needs.position = {row}.position
                    AND the_needs.at > ifnull(the_sight.cap, -1))
)"""


def visible(row: str) -> str:
    """The SQL condition that a view's row, which has `position` and `branch`, counts."""
    return VISIBLE.format(row=row)


class Lineage(Projection):
    """Branches, standing, and the hidden and derived facts."""

    name = "lineage"
    version = 3
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
    CREATE INDEX log_needs_stream ON log_needs (stream, branch, at);
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

    def trace(self, db: apsw.Connection, fact: Fact) -> None:
        """Note the sources of a fact, what hides or limits it because of them, what it replaces."""
        _derive(db, fact)
        if is_superseding(fact.event):
            _supersede(db, fact)

    @on(BranchPlanted)
    def _planted(self, db: apsw.Connection, planted: BranchPlanted, fact: Fact) -> None:
        _branch(db, fact, "planted", planted.branch, "", 0)

    @on(BranchForked)
    def _forked(self, db: apsw.Connection, forked: BranchForked, fact: Fact) -> None:
        _branch(db, fact, "forked", forked.branch, forked.parent, forked.at)

    @on(BranchStood)
    def _stood(self, db: apsw.Connection, stood: BranchStood, fact: Fact) -> None:
        _branch(db, fact, "stood", stood.branch, "", 0)

    @on(Retracted)
    def _retracted(self, db: apsw.Connection, retracted: Retracted, fact: Fact) -> None:
        _hide(db, fact, retracted.positions, everywhere=False)

    @on(Purged)
    def _purged(self, db: apsw.Connection, purged: Purged, fact: Fact) -> None:
        _hide(db, fact, purged.positions, everywhere=True)

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Nothing here holds anyone's text; that a purged fact was derived from others stays."""


def closure(db: apsw.Connection, positions: Iterable[int]) -> list[int]:
    """These facts and everything derived from them, on every branch."""
    return [row[0] for row in rows(db, _CLOSURE, (msgspec.json.encode(list(positions)).decode(),))]


def load_branches(db: apsw.Connection, into: Branches, after: int = 0, upto: int = ALL) -> None:
    """Take the branch facts after a position, and up to another, into the in-memory fold."""
    for act, branch, parent, at in rows(db, _BRANCHES, (after, upto)):
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


def _supersede(db: apsw.Connection, fact: Fact) -> None:
    """Hide what others derived from what this fact replaces; its own stream goes on."""
    lasting = msgspec.json.encode(lasting_kinds()).decode()
    replaced = (fact.because[0], fact.stream, fact.position, lasting)
    stale = [row[0] for row in rows(db, _STALE, replaced)]
    if stale:
        _hide(db, fact, stale, everywhere=False)


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
