"""The projection of memory items: their versions, marks, citations, relations and repetitions.

Every row belongs to one fact and carries its position, so a sight filters it like any other. Rows
of one item share `item`, the position of its first fact.

A new item is compared with all others before its write transaction. Inside the transaction, it is
checked here that no item of the same scope and kind was recorded since, so that of two processes or
nodes that store the same text at once, the second becomes a repetition of the first: an optimistic
concurrency check.
"""

from collections.abc import Iterator
from datetime import datetime
from typing import ClassVar

import msgspec

from everloop.errors import Conflict
from everloop.log import Fact, Projection, Reader, RowInsert, adds
from everloop.log.model.record import to_microseconds
from everloop.memory.model.commands import RememberCompared
from everloop.memory.model.events import (
    CitationClosed,
    Cited,
    Demoted,
    MemoryEvent,
    PinGaveWay,
    Pinned,
    Rated,
    Related,
    Remembered,
    Repeated,
    Retired,
    Revised,
    Unpinned,
)

_encode = msgspec.json.Encoder().encode


class ItemTable(Projection):
    """Every item with its versions, marks, sources, citations, relations and repetitions."""

    name = "memory_shelf"
    version = 4
    tables: ClassVar[tuple[str, ...]] = (
        "memory_items",
        "memory_versions",
        "memory_witnesses",
        "memory_sources",
        "memory_marks",
        "memory_citations",
        "memory_relations",
        "memory_repeats",
    )
    schema = """
    CREATE TABLE memory_items (
        position    INTEGER PRIMARY KEY,
        branch      TEXT NOT NULL,
        item_id     TEXT NOT NULL,
        kind        TEXT NOT NULL,
        learned_via TEXT NOT NULL,
        holds_until INTEGER NOT NULL,
        happened_at INTEGER NOT NULL,
        recorded_at INTEGER NOT NULL,
        follows     TEXT NOT NULL,
        author      TEXT NOT NULL,
        origin      TEXT NOT NULL,
        session     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_items_id ON memory_items (item_id);
    CREATE INDEX memory_items_follows ON memory_items (follows) WHERE follows <> '';
    CREATE INDEX memory_items_happened ON memory_items (happened_at);
    CREATE TABLE memory_versions (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        item       INTEGER NOT NULL,
        title      TEXT NOT NULL,
        text       TEXT NOT NULL,
        scope      TEXT NOT NULL,
        restricted INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX memory_versions_item ON memory_versions (item, position);
    CREATE TABLE memory_witnesses (
        position  INTEGER NOT NULL,
        principal TEXT NOT NULL,
        PRIMARY KEY (position, principal)
    ) STRICT, WITHOUT ROWID;
    CREATE TABLE memory_sources (
        position  INTEGER NOT NULL,
        source_id TEXT NOT NULL,
        PRIMARY KEY (source_id, position)
    ) STRICT, WITHOUT ROWID;
    CREATE INDEX memory_sources_position ON memory_sources (position);
    CREATE TABLE memory_marks (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        item     INTEGER NOT NULL,
        mark     TEXT NOT NULL,
        value    INTEGER NOT NULL,
        note     TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_marks_item ON memory_marks (item, mark, position);
    CREATE INDEX memory_marks_demoted ON memory_marks (note) WHERE mark = 'demoted';
    CREATE TABLE memory_citations (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        item     INTEGER NOT NULL,
        citer    TEXT NOT NULL,
        by_user  INTEGER NOT NULL,
        open     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX memory_citations_item ON memory_citations (item, citer, position);
    CREATE TABLE memory_relations (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        item     INTEGER NOT NULL,
        other_id TEXT NOT NULL,
        relation TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_relations_item ON memory_relations (item);
    CREATE INDEX memory_relations_other ON memory_relations (other_id);
    CREATE TABLE memory_repeats (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        item       INTEGER NOT NULL,
        text       TEXT NOT NULL,
        similarity REAL NOT NULL
    ) STRICT;
    CREATE INDEX memory_repeats_item ON memory_repeats (item);
    """

    @adds(Remembered)
    def _remembered(self, new: Remembered, fact: Fact) -> Iterator[RowInsert]:
        happened = _moment(new.happened_at) or fact.recorded_us
        holds_until = 0 if new.durability == "durable" else _moment(new.durability)
        position = fact.position
        yield (
            "INSERT INTO memory_items VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            (
                position,
                fact.branch,
                new.item_id,
                new.kind,
                new.learned_via,
                holds_until,
                happened,
                fact.recorded_us,
                new.follows,
                fact.actor,
                _encode(new.origin).decode(),
                new.session,
            ),
        )
        for source in sorted(set(new.derived_from)):
            yield "INSERT INTO memory_sources VALUES (?, ?)", (position, source)
        yield from _version(new, fact, position)

    @adds(Revised)
    def _revised(self, new: Revised, fact: Fact) -> Iterator[RowInsert]:
        yield from _version(new, fact, fact.because[0])

    @adds(Rated, Pinned, Unpinned, PinGaveWay, Retired, Demoted)
    def _marked(self, new: MemoryEvent, fact: Fact) -> Iterator[RowInsert]:
        mark, value, note = _mark(new)
        row = (fact.position, fact.branch, fact.because[0], mark, value, note)
        yield "INSERT INTO memory_marks VALUES (?, ?, ?, ?, ?, ?)", row

    @adds(Cited, CitationClosed)
    def _cited(self, new: Cited | CitationClosed, fact: Fact) -> Iterator[RowInsert]:
        opened = isinstance(new, Cited)
        by_user = isinstance(new, Cited) and new.by_user
        item = fact.because[0]
        row = (fact.position, fact.branch, item, new.citer, int(by_user), int(opened))
        yield "INSERT INTO memory_citations VALUES (?, ?, ?, ?, ?, ?)", row

    @adds(Related)
    def _related(self, new: Related, fact: Fact) -> Iterator[RowInsert]:
        row = (fact.position, fact.branch, fact.because[0], new.other_id, new.relation)
        yield "INSERT INTO memory_relations VALUES (?, ?, ?, ?, ?)", row

    @adds(Repeated)
    def _repeated(self, new: Repeated, fact: Fact) -> Iterator[RowInsert]:
        row = (fact.position, fact.branch, fact.because[0], new.text, new.similarity)
        yield "INSERT INTO memory_repeats VALUES (?, ?, ?, ?, ?)", row


class StaleComparison(Conflict):
    """The comparison is stale: an item was recorded after it. Compare again."""


def check_comparison_is_current(reader: Reader, command: RememberCompared) -> None:
    """Accept an item that was compared with everything recorded before it.

    Raises:
        StaleComparison: an item of the same scope and kind was recorded since.
    """
    if reader.rows(_RECORDED_SINCE, (command.upto, command.scope, command.kind)):
        raise StaleComparison("another item was stored at the same time", hint="Try again.")


def _version(new: Remembered | Revised, fact: Fact, item: int) -> Iterator[RowInsert]:
    position, restricted = fact.position, int(bool(new.witnesses))
    row = (position, fact.branch, item, new.title, new.text, new.scope, restricted)
    yield "INSERT INTO memory_versions VALUES (?, ?, ?, ?, ?, ?, ?)", row
    for principal in new.witnesses:
        yield "INSERT INTO memory_witnesses VALUES (?, ?)", (position, principal)


def _mark(new: MemoryEvent) -> tuple[str, int, str]:
    match new:
        case Rated(significance=significance):
            return "rated", significance, ""
        case Pinned():
            return "pinned", 1, ""
        case Unpinned():
            return "pinned", 0, ""
        case PinGaveWay(to=newer):
            return "gave_way", 0, newer
        case Retired(reason=reason):
            return "retired", 1, reason
        case Demoted(in_favour_of=summary):
            return "demoted", 1, summary
        case _:
            raise AssertionError(f"{new.wire} sets no mark")


def _moment(text: str) -> int:
    return to_microseconds(datetime.fromisoformat(text)) if text else 0


_RECORDED_SINCE = """
SELECT 1 FROM memory_versions v JOIN memory_items i ON i.position = v.item
WHERE v.position > ? AND v.scope = ? AND i.kind = ? LIMIT 1
"""
