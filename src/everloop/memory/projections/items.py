"""The views of memory: items with their versions and marks, passages with their words, audiences.

Every row belongs to one fact and carries its position, so a sight filters it like any other. Rows
of one item share `item`, the position at which it was taken in.
"""

from collections.abc import Iterator, Sequence
from datetime import datetime
from hashlib import sha256
from itertools import groupby
from typing import Any, ClassVar

import apsw
import msgspec

from everloop.log import Added, Fact, Projection, Reader, adds
from everloop.log.model.record import microseconds
from everloop.log.sql_rows import rows
from everloop.memory.model.events import (
    AudienceGranted,
    AudienceRevoked,
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
from everloop.memory.projections.fts_index import TAKE_IN, WAITING, closes_group
from everloop.memory.text.analysis import document
from everloop.memory.text.language import MARK
from everloop.memory.text.passages import PASSAGES_MAX, passages

_encode = msgspec.json.Encoder().encode


class MemoryShelf(Projection):
    """Every item, every version of it, and what was marked on it."""

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
    def _remembered(self, new: Remembered, fact: Fact) -> Iterator[Added]:
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
    def _revised(self, new: Revised, fact: Fact) -> Iterator[Added]:
        yield from _version(new, fact, fact.because[0])

    @adds(Rated, Pinned, Unpinned, PinGaveWay, Retired, Demoted)
    def _marked(self, new: MemoryEvent, fact: Fact) -> Iterator[Added]:
        mark, value, note = _mark(new)
        row = (fact.position, fact.branch, fact.because[0], mark, value, note)
        yield "INSERT INTO memory_marks VALUES (?, ?, ?, ?, ?, ?)", row

    @adds(Cited, CitationClosed)
    def _cited(self, new: Cited | CitationClosed, fact: Fact) -> Iterator[Added]:
        opened = isinstance(new, Cited)
        by_user = isinstance(new, Cited) and new.by_user
        item = fact.because[0]
        row = (fact.position, fact.branch, item, new.citer, int(by_user), int(opened))
        yield "INSERT INTO memory_citations VALUES (?, ?, ?, ?, ?, ?)", row

    @adds(Related)
    def _related(self, new: Related, fact: Fact) -> Iterator[Added]:
        row = (fact.position, fact.branch, fact.because[0], new.other_id, new.relation)
        yield "INSERT INTO memory_relations VALUES (?, ?, ?, ?, ?)", row

    @adds(Repeated)
    def _repeated(self, new: Repeated, fact: Fact) -> Iterator[Added]:
        row = (fact.position, fact.branch, fact.because[0], new.text, new.similarity)
        yield "INSERT INTO memory_repeats VALUES (?, ?, ?, ?, ?)", row


class MemoryWords(Projection):
    """Every version in passages, with the terms it is found by.

    The index holds each passage under its own terms, or will (`indexing.py`). What was said before
    it counts as well, but who may see that is decided when somebody asks, so `recall` adds it then.
    """

    name = "memory_words"
    version = 6
    tables: ClassVar[tuple[str, ...]] = ("memory_passages", "memory_words", "memory_words_terms")
    schema = """
    CREATE TABLE memory_passages (
        passage  INTEGER PRIMARY KEY,
        position INTEGER NOT NULL,
        item_id  TEXT NOT NULL,
        follows  TEXT NOT NULL,
        terms    TEXT NOT NULL,
        length   INTEGER NOT NULL,
        digest   BLOB NOT NULL
    ) STRICT;
    CREATE VIRTUAL TABLE memory_words
        USING fts5 (terms, content='', contentless_delete=1, tokenize='ascii');
    CREATE VIRTUAL TABLE memory_words_terms USING fts5vocab (memory_words, instance);
    """

    @adds(Remembered)
    def _remembered(self, new: Remembered, fact: Fact) -> Iterator[Added]:
        return _passages(new, new.follows, fact.position)

    @adds(Revised)
    def _revised(self, new: Revised, fact: Fact) -> Iterator[Added]:
        return _passages(new, "", fact.position)

    def forget(self, db: apsw.Connection, positions: Sequence[int]) -> None:
        """Erase the passages, and all traces in the index."""
        touched = 0
        for position in positions:
            bounds = (position * PASSAGES_MAX, (position + 1) * PASSAGES_MAX)
            db.execute("DELETE FROM memory_words WHERE rowid >= ? AND rowid < ?", bounds)
            db.execute("DELETE FROM memory_passages WHERE passage >= ? AND passage < ?", bounds)
            touched += db.changes()
        if touched:
            db.execute("INSERT INTO memory_words (memory_words) VALUES ('optimize')")

    def dump(self, db: apsw.Connection) -> Iterator[tuple[Any, ...]]:
        """The passages, and every term at every place, be it in the index or on its way there."""
        yield ("memory_passages", *rows(db, "SELECT * FROM memory_passages ORDER BY passage"))
        db.execute(
            "CREATE VIRTUAL TABLE temp.memory_terms USING fts5vocab (main, memory_words, instance)"
        )
        waiting = [
            (term, passage, "terms", place)
            for passage, terms in rows(db, WAITING)
            for place, term in enumerate(terms.split(" "))
        ]
        yield ("memory_words", *sorted(rows(db, "SELECT * FROM temp.memory_terms") + waiting))
        db.execute("DROP TABLE temp.memory_terms")


class Audiences(Projection):
    """Who may ask, and within which scopes."""

    name = "memory_audiences"
    tables: ClassVar[tuple[str, ...]] = ("memory_audiences",)
    schema = """
    CREATE TABLE memory_audiences (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        principal TEXT NOT NULL,
        scopes    TEXT NOT NULL
    ) STRICT;
    CREATE INDEX memory_audiences_principal ON memory_audiences (principal, position);
    """

    @adds(AudienceGranted)
    def _granted(self, new: AudienceGranted, fact: Fact) -> Iterator[Added]:
        return _audience(fact, new.principal, new.scopes)

    @adds(AudienceRevoked)
    def _revoked(self, new: AudienceRevoked, fact: Fact) -> Iterator[Added]:
        return _audience(fact, new.principal, ())


def _version(new: Remembered | Revised, fact: Fact, item: int) -> Iterator[Added]:
    position, restricted = fact.position, int(bool(new.witnesses))
    row = (position, fact.branch, item, new.title, new.text, new.scope, restricted)
    yield "INSERT INTO memory_versions VALUES (?, ?, ?, ?, ?, ?, ?)", row
    for principal in new.witnesses:
        yield "INSERT INTO memory_witnesses VALUES (?, ?)", (position, principal)


def _passages(new: Remembered | Revised, follows: str, position: int) -> Iterator[Added]:
    for number, titled in enumerate(titled_passages(new.title, new.text), position * PASSAGES_MAX):
        terms = document(titled)
        digest = sha256(titled.encode()).digest()
        length = terms.count(" ") + 1 - terms.count(MARK)  # a word in two languages is one word
        row = (number, position, new.item_id, follows, terms, length, digest)
        yield "INSERT INTO memory_passages VALUES (?, ?, ?, ?, ?, ?, ?)", row
        follows = ""
    if closes_group(position):
        yield TAKE_IN, ((position + 1) * PASSAGES_MAX,)


def _audience(fact: Fact, principal: str, scopes: Sequence[str]) -> Iterator[Added]:
    row = (fact.position, fact.branch, principal, _encode(scopes).decode())
    yield "INSERT INTO memory_audiences VALUES (?, ?, ?, ?)", row


def titled_passages(title: str, text: str) -> list[str]:
    """A text in passages, each with its item's title, unless it begins with that."""
    opening = title.rstrip("…")
    parts = passages(text)
    return [part if part.startswith(opening) else f"{title}\n{part}" for part in parts]


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
            raise AssertionError(f"{new.wire} is no mark")


def _moment(text: str) -> int:
    return microseconds(datetime.fromisoformat(text)) if text else 0


def passage_texts(reader: Reader, wanted: Sequence[int]) -> dict[int, str]:
    """The texts that the vectors of passages are made of; without those that were purged."""
    found: dict[int, str] = {}
    of_version = groupby(sorted(wanted), lambda number: number // PASSAGES_MAX)
    asked = {position: list(numbers) for position, numbers in of_version}
    for position, title, text in reader.db.executemany(_TEXT, [(each,) for each in asked]):
        parts = titled_passages(title, text)
        for number in asked[position]:
            if number % PASSAGES_MAX < len(parts):  # else it is of another build's making
                found[number] = parts[number % PASSAGES_MAX]
    return found


_TEXT = "SELECT position, title, text FROM memory_versions WHERE position = ?"
