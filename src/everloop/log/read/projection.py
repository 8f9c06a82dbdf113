"""Projections: tables folded from the log, in the same transaction as the append.

A projection declares its tables and one handler for each event it uses. Its rows are immutable and
have the position they came from (and the branch, where queries need it); a change is a newer row.
So purging, branching and reading the past work the same for every view: filter by position.

Guarantee: `rebuild` from an empty table gives the same rows as live folding. Projections are never
migrated: raise `version`, and they are dropped and folded again.
"""

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any, ClassVar, TypeVar

import apsw

from everloop.log.model.branches import POSITION_MAX
from everloop.log.model.event import Event
from everloop.log.model.record import Fact
from everloop.log.sql_rows import Row, query_int, query_rows

Handler = Callable[[Any, apsw.Connection, Any, Fact], None]
RowInsert = tuple[str, Row]  # a statement that adds a row, and the row
Adder = Callable[[Any, Any, Fact], Iterable[RowInsert]]
_Handling = tuple["Projection", Handler]
_Adding = tuple["Projection", Adder]
H = TypeVar("H", bound=Callable[..., None])
A = TypeVar("A", bound=Callable[..., Iterable[RowInsert]])

# A view's position is how far it has been folded, or ALL if every writer folds it. A writer that
# does not know a view sets its position before the first append (`ProjectionSet.mark_current`). So
# a commit need not store the position of each view, which would be one more page to write.
_SCHEMA = """
CREATE TABLE IF NOT EXISTS views (
    name     TEXT PRIMARY KEY,
    version  INTEGER NOT NULL,
    position INTEGER NOT NULL
) STRICT
"""


def on(*kinds: type[Event]) -> Callable[[H], H]:
    """Mark a method `(self, db, event, fact)` as the handler of these events."""

    def mark(handler: H) -> H:
        handler.__dict__["everloop_kinds"] = tuple(kind.wire for kind in kinds)
        return handler

    return mark


def adds(*kinds: type[Event]) -> Callable[[A], A]:
    """Mark a method `(self, event, fact)` that returns the rows these events insert.

    It is pure: it returns statements with their rows and reads nothing. So the rows of many facts
    are inserted together, which is much cheaper. Statements run in the order in which they first
    appear, each with all of its rows.
    """

    def mark(adder: A) -> A:
        adder.__dict__["everloop_added"] = tuple(kind.wire for kind in kinds)
        return adder

    return mark


class Projection:
    """A view folded from the log. Subclasses declare tables, schema and event handlers.

    A handler is marked `@adds` if it only inserts rows, else `@on`.
    """

    name: ClassVar[str]
    version: ClassVar[int] = 1
    tables: ClassVar[tuple[str, ...]]
    schema: ClassVar[str]
    handlers: ClassVar[dict[str, Handler]] = {}
    adders: ClassVar[dict[str, Adder]] = {}

    def __init_subclass__(cls) -> None:
        """Collect the methods that `@on` and `@adds` marked."""
        cls.handlers, cls.adders = dict(cls.handlers), dict(cls.adders)
        for member in vars(cls).values():
            for kind in getattr(member, "everloop_kinds", ()):
                cls.handlers[kind] = member
            for kind in getattr(member, "everloop_added", ()):
                cls.adders[kind] = member

    def trace(self, db: apsw.Connection, fact: Fact) -> None:
        """Handle the sources of a fact; called for every fact with `because`, of any kind.

        It may read the log and what `@on` and `trace` wrote; `@adds` rows may still be buffered.
        """

    def fold(self, db: apsw.Connection, fact: Fact) -> None:
        """Fold one fact. Override it only to see every kind."""
        if fact.because:
            self.trace(db, fact)
        event = fact.event
        if handler := self.handlers.get(event.wire):
            handler(self, db, event, fact)
        if adder := self.adders.get(event.wire):
            for statement, row in adder(self, event, fact):
                db.execute(statement, row)

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete the rows that came from these positions, because their text was purged."""
        for table in self.tables:
            db.executemany(
                f"DELETE FROM {table} WHERE position = ?",  # noqa: S608 - our own table names
                [(position,) for position in positions],
            )

    def dump(self, db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
        """Every row of every table in a fixed order, to compare two views."""
        for table in self.tables:
            content = query_rows(db, f"SELECT * FROM {table}")  # noqa: S608 - our own names
            yield (table, *sorted(content, key=repr))

    @property
    def sees_every_kind(self) -> bool:
        """Whether `fold` was overridden."""
        return type(self).fold is not Projection.fold


class ProjectionSet:
    """The registered projections of one file, and how far each has been folded."""

    def __init__(self, projections: Iterable[Projection]) -> None:
        self.all = tuple(projections)
        self._every_kind = tuple(view for view in self.all if view.sees_every_kind)
        self._by_handler = tuple(view for view in self.all if not view.sees_every_kind)
        self._by_kind: dict[str, tuple[list[_Handling], list[_Adding]]] = {}
        for view in self._by_handler:
            for kind, handler in view.handlers.items():
                self._by_kind.setdefault(kind, ([], []))[0].append((view, handler))
            for kind, adder in view.adders.items():
                self._by_kind.setdefault(kind, ([], []))[1].append((view, adder))
        named = ", ".join(f"'{view.name}'" for view in self.all)
        ours = (
            f"UPDATE views SET position = {POSITION_MAX}"  # noqa: S608 - our own names
            f" WHERE position < {POSITION_MAX} AND name IN ({named})"
        )
        others = f"UPDATE views SET position = ?1 WHERE position > ?1 AND name NOT IN ({named})"  # noqa: S608
        self._keep_up_sql = (ours, others)
        self._min_position = f"SELECT min(position) FROM views WHERE name IN ({named})"  # noqa: S608

    def install(self, db: apsw.Connection) -> None:
        """Create missing views; reset those of another version or without a table."""
        db.execute(_SCHEMA)
        for view in self._outdated(db):
            self.reset(db, view)

    def needs_install(self, db: apsw.Connection) -> bool:
        """Whether a view is missing, incomplete, or of another version than ours."""
        if not db.execute("SELECT 1 FROM sqlite_master WHERE name = 'views'").fetchone():
            return True
        return bool(self._outdated(db))

    def _outdated(self, db: apsw.Connection) -> list[Projection]:
        """The views that must be folded from the beginning."""
        known: dict[str, int] = dict(query_rows(db, "SELECT name, version FROM views"))
        there = {name for (name,) in query_rows(db, "SELECT name FROM sqlite_master")}
        return [
            view
            for view in self.all
            if known.get(view.name) != view.version or not there.issuperset(view.tables)
        ]

    def reset(self, db: apsw.Connection, view: Projection) -> None:
        """Empty a view, so that it is folded from the beginning."""
        for table in view.tables:
            db.execute(f"DROP TABLE IF EXISTS {table}")
        db.execute(view.schema)
        db.execute("REPLACE INTO views VALUES (?, ?, 0)", (view.name, view.version))

    def position(self, db: apsw.Connection) -> int:
        """The position up to which all views have been folded."""
        return min(
            query_int(db, self._min_position), query_int(db, "SELECT max(position) FROM log")
        )

    def lagging(self, db: apsw.Connection, head: int) -> list[tuple[Projection, int]]:
        """The views that are not folded up to `head`, each with its position."""
        at: dict[str, int] = dict(query_rows(db, "SELECT name, position FROM views"))
        return [(view, at[view.name]) for view in self.all if at[view.name] < head]

    def fold(self, db: apsw.Connection, facts: Iterable[Fact]) -> None:
        """Fold facts into every view, in order; rows that are only inserted go in together."""
        by_kind = self._by_kind
        added: dict[str, list[Row]] = {}
        for fact in facts:
            if fact.because or self._every_kind:
                self._fold_every_kind(db, fact, added)
            event = fact.event
            if (kind := event.wire) in by_kind:
                handling, adding = by_kind[kind]
                if handling:
                    _insert_rows(db, added)  # handlers may read them
                    for view, handler in handling:
                        handler(view, db, event, fact)
                for view, adder in adding:
                    for statement, row in adder(view, event, fact):
                        added.setdefault(statement, []).append(row)
        if added:
            _insert_rows(db, added)

    def _fold_every_kind(
        self, db: apsw.Connection, fact: Fact, added: dict[str, list[Row]]
    ) -> None:
        """Fold a fact into the views that handle every kind, and trace its sources."""
        if self._every_kind:
            _insert_rows(db, added)
            for view in self._every_kind:
                view.fold(db, fact)
        if fact.because:
            for view in self._by_handler:
                view.trace(db, fact)

    def mark_current(self, db: apsw.Connection, head: int) -> None:
        """Mark our views as folded by every writer; views we do not know stay at `head`."""
        ours, others = self._keep_up_sql
        db.execute(ours)
        db.execute(others, (head,))

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Delete from every view the rows that came from these positions."""
        for view in self.all:
            view.forget(db, positions)


def _insert_rows(db: apsw.Connection, added: dict[str, list[Row]]) -> None:
    """Insert rows, those of one statement together."""
    for statement, some in added.items():
        if len(some) == 1:
            db.execute(statement, some[0])
        else:
            db.executemany(statement, some)
    added.clear()
