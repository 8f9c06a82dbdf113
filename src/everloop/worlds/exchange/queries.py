"""Queries of imports: past imports with their reports, lorebooks, where messages came from."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from everloop.errors import NotFound
from everloop.log import Event, Reader, visible
from everloop.log.model.event import decode
from everloop.log.model.record import from_microseconds
from everloop.worlds.exchange.formats.lorebooks import LoreBook
from everloop.worlds.exchange.model import events as x
from everloop.worlds.queries import lore_entries


class PastWorldImport(msgspec.Struct, frozen=True):
    """An import that was not undone. Retract `position` to undo it."""

    import_id: str
    position: int
    source: str
    name: str
    begun_at: datetime
    ended: bool = False
    notes: tuple[x.ImportNote, ...] = ()


def world_imports(reader: Reader) -> list[PastWorldImport]:
    """The imports that count, newest first."""
    found: dict[str, PastWorldImport] = {}
    for position, event, at in _events(reader, _IMPORTS, ()):
        match event:
            case x.ImportBegun(import_id=key, source=source, name=name):
                found[key] = PastWorldImport(key, position, source, name, at)
            case x.ImportEnded(import_id=key, notes=notes) if key in found:
                found[key] = msgspec.structs.replace(found[key], ended=True, notes=notes)
            case _:
                pass
    return list(reversed(found.values()))


def find_import(reader: Reader, import_id: str) -> PastWorldImport:
    """An import; `last` is the newest.

    Raises:
        NotFound: there is none of that id, or it was undone.
    """
    known = world_imports(reader)
    if import_id == "last" and known:
        return known[0]
    for one in known:
        if one.import_id == import_id:
            return one
    raise NotFound(f"no import {import_id!r}", hint="`everloop worlds imports` lists them.")


def list_lorebooks(reader: Reader) -> list[LoreBook]:
    """The lorebooks of the library by name, without their entries."""
    books = [
        LoreBook(event.book_id, event.name, _form(event.form), event.frame)
        for _, event, __ in _events(reader, _BOOKS, ())
        if isinstance(event, x.LorebookAdded)
    ]
    return sorted(books, key=lambda book: book.name.casefold())


def find_lorebook(reader: Reader, book_id: str) -> LoreBook:
    """A lorebook of the library with its entries, by id or name.

    Raises:
        NotFound: there is none.
    """
    for book in list_lorebooks(reader):
        if book_id in (book.book_id, book.name):
            entries = tuple(lore_entries(reader, book.book_id))
            return msgspec.structs.replace(book, entries=entries)
    raise NotFound(f"no lorebook {book_id!r}", hint="`everloop worlds books` lists them.")


def chat_origin(reader: Reader, world_id: str) -> x.ChatImported | None:
    """The chat that a world was made of."""
    for _, event, __ in _events(reader, _ORIGINS, (world_id, '[""]')):
        if isinstance(event, x.ChatImported):
            return event
    return None


def message_origins(
    reader: Reader, world_id: str, message_ids: Sequence[str]
) -> dict[str, x.MessageImported]:
    """Where messages came from, by their ids; those written here are not in it."""
    named = msgspec.json.encode(list(message_ids)).decode()
    return {
        event.message_id: event
        for _, event, __ in _events(reader, _ORIGINS, (world_id, named))
        if isinstance(event, x.MessageImported)
    }


def _form(form: str) -> Any:
    return form


def _events(
    reader: Reader, sql: str, bindings: tuple[Any, ...]
) -> Iterable[tuple[int, Event, datetime]]:
    for position, kind, schema, data, recorded_us in reader.rows(sql, bindings):
        if data is not None:
            yield position, decode(kind, schema, data), from_microseconds(recorded_us)


_FACT = "l.position, l.kind, l.schema, l.data, l.recorded_at"
_IMPORTS = f"""
SELECT {_FACT} FROM world_imports w JOIN log l ON l.position = w.position
WHERE {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
_BOOKS = f"""
SELECT {_FACT} FROM world_books w JOIN log l ON l.position = w.position
WHERE {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
_ORIGINS = f"""
SELECT {_FACT} FROM json_each(?2) j
CROSS JOIN world_origins w ON w.world_id = ?1 AND w.message_id = j.value
JOIN log l ON l.position = w.position WHERE {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
