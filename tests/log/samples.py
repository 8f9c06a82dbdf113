"""Sample events, folds and projections for the tests of the log."""

from collections.abc import Iterator
from typing import ClassVar

import apsw
import msgspec

from everloop.log import Event, Fact, Fold, Projection, RowInsert, adds, event, on


@event("sample.said")
class Said(Event, frozen=True):
    """Someone said something."""

    text: str


@event("sample.counted")
class Counted(Event, frozen=True):
    """Something was counted; the value may be any number."""

    value: float


class Words(msgspec.Struct, frozen=True):
    """What was said, in order."""

    texts: tuple[str, ...] = ()


def evolve(state: Words | None, fact: Fact) -> Words:
    """Fold: add the text of a fact."""
    before = state or Words()
    match fact.event:
        case Said(text=text):
            return Words((*before.texts, text))
        case _:
            return before


WORDS = Fold("sample.words", Words, evolve)


class Sayings(Projection):
    """Everything said, with full-text search."""

    name = "sayings"
    tables: ClassVar[tuple[str, ...]] = ("sayings", "sayings_text")
    schema = """
    CREATE TABLE sayings (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        stream   TEXT NOT NULL,
        text     TEXT NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE sayings_text USING fts5 (text, position UNINDEXED);
    """

    @on(Said)
    def _said(self, db: apsw.Connection, said: Said, fact: Fact) -> None:
        db.execute(
            "INSERT INTO sayings VALUES (?, ?, ?, ?)",
            (fact.position, fact.branch, fact.stream, said.text),
        )
        db.execute("INSERT INTO sayings_text VALUES (?, ?)", (said.text, fact.position))


class Tally(Projection):
    """How often each actor spoke on each branch."""

    name = "tally"
    tables: ClassVar[tuple[str, ...]] = ("tally",)
    schema = """
    CREATE TABLE tally (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        actor    TEXT NOT NULL
    ) STRICT
    """

    @adds(Said)
    def _said(self, said: Said, fact: Fact) -> Iterator[RowInsert]:
        del said
        yield "INSERT INTO tally VALUES (?, ?, ?)", (fact.position, fact.branch, fact.actor)
