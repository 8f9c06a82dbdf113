"""Projections of imports: the imports themselves, lorebooks, and where messages came from."""

from collections.abc import Iterable
from typing import ClassVar

from everloop.log import Fact, Projection, RowInsert, adds
from everloop.worlds.exchange.model import events as x

_IMPORT = "INSERT INTO world_imports VALUES (?, ?, ?, ?)"
_BOOK = "INSERT INTO world_books VALUES (?, ?, ?)"
_ORIGIN = "INSERT INTO world_origins VALUES (?, ?, ?, ?)"


class ExchangeTables(Projection):
    """Which facts are about which import, lorebook, and origin of a world or message."""

    name = "world_exchange"
    tables: ClassVar[tuple[str, ...]] = ("world_imports", "world_books", "world_origins")
    schema = """
    CREATE TABLE world_imports (
        position  INTEGER PRIMARY KEY,
        branch    TEXT NOT NULL,
        import_id TEXT NOT NULL,
        ended     INTEGER NOT NULL
    ) STRICT;
    CREATE INDEX world_imports_id ON world_imports (import_id, position);
    CREATE TABLE world_books (
        position INTEGER PRIMARY KEY,
        branch   TEXT NOT NULL,
        book_id  TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_books_id ON world_books (book_id, position);
    CREATE TABLE world_origins (
        position   INTEGER PRIMARY KEY,
        branch     TEXT NOT NULL,
        world_id   TEXT NOT NULL,
        message_id TEXT NOT NULL
    ) STRICT;
    CREATE INDEX world_origins_order ON world_origins (world_id, message_id, position);
    """

    @adds(x.ImportBegun, x.ImportEnded)
    def _import(self, happened: x.ImportBegun | x.ImportEnded, fact: Fact) -> Iterable[RowInsert]:
        ended = int(isinstance(happened, x.ImportEnded))
        yield _IMPORT, (fact.position, fact.branch, happened.import_id, ended)

    @adds(x.LorebookAdded)
    def _book(self, added: x.LorebookAdded, fact: Fact) -> Iterable[RowInsert]:
        yield _BOOK, (fact.position, fact.branch, added.book_id)

    @adds(x.ChatImported)
    def _chat(self, chat: x.ChatImported, fact: Fact) -> Iterable[RowInsert]:
        yield _ORIGIN, (fact.position, fact.branch, chat.world_id, "")

    @adds(x.MessageImported)
    def _message(self, message: x.MessageImported, fact: Fact) -> Iterable[RowInsert]:
        yield _ORIGIN, (fact.position, fact.branch, message.world_id, message.message_id)
