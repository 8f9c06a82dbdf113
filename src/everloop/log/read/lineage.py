"""Visibility of facts: branches, retractions, and which facts were derived from which.

The one built-in projection. It decides in SQL whether a fact is visible, and every other view uses
the same three conditions (`VISIBLE`). A fact counts if

1. it is in the lineage of a visible branch,
2. no active retraction covers it or something it was derived from, and
3. its sources on other trees are visible as well.

Retractions are stored per fact (`log_hidden`), so a query never walks the graph.
"""

from collections.abc import Iterable, Sequence
from typing import ClassVar

import apsw
import msgspec

from everloop.log.model.branches import POSITION_MAX, Branches, Sight
from everloop.log.model.event import is_superseding, lasting_kinds
from everloop.log.model.facts import BranchForked, BranchPlanted, BranchStood, Purged, Retracted
from everloop.log.model.record import Fact
from everloop.log.read.projection import Projection, on
from everloop.log.sql_rows import query_rows

_DERIVED_CLOSURE = """
WITH RECURSIVE gone(position) AS (
    SELECT value FROM json_each(?)
    UNION
    SELECT b.dependant FROM log_because b JOIN gone g ON b.source = g.position
)
SELECT position FROM gone ORDER BY position
"""

# Facts of other streams that were derived from a fact or from an earlier replacement of it, except
# lasting kinds, which stay when the text changes.
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

# Aliases begin with `the_`, so that a caller's table can have any other name.
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
    """The SQL condition for a view's row (with `position` and `branch`) to be visible."""
    return VISIBLE.format(row=row)


class Lineage(Projection):
    """Branches, sources of facts, and which retraction hides which fact."""

    name = "lineage"
    version = 4
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
    CREATE INDEX log_because_dependant ON log_because (dependant, source);
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
        """Store the sources of a fact, what hides it because of them, and what it replaces."""
        _insert_sources(db, fact)
        if is_superseding(fact.event):
            _supersede(db, fact)

    @on(BranchPlanted)
    def _planted(self, db: apsw.Connection, planted: BranchPlanted, fact: Fact) -> None:
        _insert_branch(db, fact, "planted", planted.branch, "", 0)

    @on(BranchForked)
    def _forked(self, db: apsw.Connection, forked: BranchForked, fact: Fact) -> None:
        _insert_branch(db, fact, "forked", forked.branch, forked.parent, forked.at)

    @on(BranchStood)
    def _stood(self, db: apsw.Connection, stood: BranchStood, fact: Fact) -> None:
        _insert_branch(db, fact, "stood", stood.branch, "", 0)

    @on(Retracted)
    def _retracted(self, db: apsw.Connection, retracted: Retracted, fact: Fact) -> None:
        _hide(db, fact, retracted.positions, everywhere=False)

    @on(Purged)
    def _purged(self, db: apsw.Connection, purged: Purged, fact: Fact) -> None:
        _hide(db, fact, purged.positions, everywhere=True)

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Keep all rows: there is no text in them, and the sources of purged facts stay."""


def derived_closure(db: apsw.Connection, positions: Iterable[int]) -> list[int]:
    """These facts and everything derived from them, on every branch."""
    return [
        row[0]
        for row in query_rows(
            db, _DERIVED_CLOSURE, (msgspec.json.encode(list(positions)).decode(),)
        )
    ]


def load_branches(
    db: apsw.Connection, into: Branches, after: int = 0, upto: int = POSITION_MAX
) -> None:
    """Add the branch facts in (after, upto] to the branches in memory."""
    for act, branch, parent, at in query_rows(db, _BRANCHES, (after, upto)):
        if act == "planted":
            into.add_root(branch)
        elif act == "forked":
            into.add_fork(branch, parent, at)
        else:
            into.switch(branch)


def active_retractions(
    db: apsw.Connection, sight: Sight, *, without: frozenset[int] = frozenset()
) -> list[int]:
    """The retractions that count in a sight: visible, and not retracted themselves.

    A preview passes `without`: retractions to leave out, as if they had been retracted.
    """
    active: set[int] = set()
    for position, branch, everywhere in query_rows(db, _RETRACTIONS):
        if position in without or not (everywhere or sight.sees(branch, position)):
            continue
        undoing = query_rows(db, "SELECT hidden_by FROM log_hidden WHERE position = ?", (position,))
        if active.isdisjoint(row[0] for row in undoing):
            active.add(position)
    return sorted(active)


def _insert_branch(
    db: apsw.Connection, fact: Fact, act: str, branch: str, parent: str, at: int
) -> None:
    db.execute(
        "INSERT INTO log_branches VALUES (?, ?, ?, ?, ?)", (fact.position, act, branch, parent, at)
    )


def _insert_sources(db: apsw.Connection, fact: Fact) -> None:
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
    _insert_needs(db, fact, sources)


def _supersede(db: apsw.Connection, fact: Fact) -> None:
    """Hide what other streams derived from the fact that this one replaces."""
    lasting = msgspec.json.encode(lasting_kinds()).decode()
    replaced = (fact.because[0], fact.stream, fact.position, lasting)
    stale = [row[0] for row in query_rows(db, _STALE, replaced)]
    if stale:
        _hide(db, fact, stale, everywhere=False)


def _insert_needs(db: apsw.Connection, fact: Fact, sources: str) -> None:
    """Store what a fact needs from other trees: its sources there, and what those need."""
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
    for position in derived_closure(db, positions):
        db.execute(
            "INSERT INTO log_hidden SELECT ?1, ?2, stream FROM log WHERE position = ?1"
            " ON CONFLICT DO NOTHING",
            (position, fact.position),
        )
