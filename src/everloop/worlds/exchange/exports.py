"""Exports of characters, lorebooks, chats, scenes and worlds, each as one file."""

import re
from collections.abc import Iterator
from typing import Final, Literal

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Reader
from everloop.worlds.exchange.book_export import EVERYTHING, make_book, write_markdown
from everloop.worlds.exchange.card_import import ExchangePorts
from everloop.worlds.exchange.epub import MEDIA_TYPE, write_epub
from everloop.worlds.exchange.formats.card_files import CARD_JSON, CardForm, write_charx, write_png
from everloop.worlds.exchange.formats.cards import card_from_sheet, card_version
from everloop.worlds.exchange.formats.chats import WrittenLine, write_lines, write_message
from everloop.worlds.exchange.formats.json_text import JsonObject, as_object
from everloop.worlds.exchange.formats.lorebooks import new_book, write_book
from everloop.worlds.exchange.queries import chat_origin, find_lorebook, message_origins
from everloop.worlds.exchange.world_json.export import (
    export_character,
    export_scene,
    export_world,
)
from everloop.worlds.exchange.world_json.file_format import encode_file
from everloop.worlds.model.state import World
from everloop.worlds.model.values import NARRATOR, PLAYER, CharacterSheet
from everloop.worlds.queries import StoryMessage, find_character, lore_entries, story_messages

WorldForm = Literal["json", "markdown", "epub", "chat", "lorebook"]
CharacterForm = Literal["png", "json", "charx", "everloop"]
_WORDS: Final = re.compile(r"[^\w]+")
_JSON: Final = "application/json"


class ExportedFile(msgspec.Struct, frozen=True):
    """An export: a name for the file, its media type and its content."""

    name: str
    media_type: str
    content: bytes


class Exporter:
    """Exports from one log, as things stand on the current branches; JSON of a world has all."""

    def __init__(self, ports: ExchangePorts) -> None:
        self._ports = ports

    def character(self, character_id: str, form: CharacterForm) -> ExportedFile:
        """A character as a card, in the version it came in, or as our own JSON.

        Raises:
            NotFound: there is none of that id.
        """
        with self._ports.log.reading() as reader:
            sheet = find_character(reader, character_id).sheet
            if form == "everloop":
                whole = export_character(reader, character_id, self._ports.files)
                return _named(sheet.name, "json", _JSON, encode_file(whole))
        return self._card(sheet, form)

    def lorebook(self, book_id: str) -> ExportedFile:
        """A lorebook of the library, in the form it came in.

        Raises:
            NotFound: there is none of that id or name.
        """
        with self._ports.log.reading() as reader:
            book = find_lorebook(reader, book_id)
        return _named(book.name, "json", _JSON, msgspec.json.encode(write_book(book)))

    def world(self, world_id: str, world: World, form: WorldForm) -> ExportedFile:
        """A world as JSON that can be imported, as a book to read, as a chat, or its lore."""
        title = world.title
        with self._ports.log.reading() as reader:
            match form:
                case "json":
                    file = export_world(self._ports.log, reader, world_id, title, self._ports.files)
                    return _named(title, "json", _JSON, encode_file(file))
                case "chat":
                    chat = _write_chat(reader, world_id, world)
                    return _named(title, "jsonl", "application/jsonl", chat)
                case "lorebook":
                    lore = new_book(lore_entries(reader, world_id), title)
                    return _named(title, "json", _JSON, msgspec.json.encode(write_book(lore)))
                case _:
                    book = make_book(reader, world_id, world, self._ports.clock.now())
        if form == "epub":
            return _named(title, "epub", MEDIA_TYPE, write_epub(book))
        return _named(title, "md", "text/markdown; charset=utf-8", write_markdown(book).encode())

    def scene(self, world_id: str, scene_id: str, title: str) -> ExportedFile:
        """One scene as JSON that can be imported.

        Raises:
            NotFound: the world has no such scene.
        """
        with self._ports.log.reading() as reader:
            file = export_scene(reader, world_id, scene_id, title, self._ports.files)
        return _named(f"{title} {scene_id}", "json", _JSON, encode_file(file))

    def _card(self, sheet: CharacterSheet, form: CardForm) -> ExportedFile:
        card = card_from_sheet(sheet)
        if form == "json":
            return _named(sheet.name, "json", _JSON, msgspec.json.encode(card))
        if form == "png":
            older = card_from_sheet(sheet, "v2") if card_version(card) == "v3" else None
            picture = self._read(sheet.portrait)
            return _named(sheet.name, "png", "image/png", write_png(card, older, picture, "it"))
        if card_version(card) != "v3":
            card = card_from_sheet(sheet, "v3")
        assets = {one.name: self._read(one.digest) for one in sheet.files if one.name != CARD_JSON}
        if sheet.portrait and not assets:
            card, assets = _with_icon(card, self._read(sheet.portrait))
        return _named(sheet.name, "charx", "application/zip", write_charx(card, assets))

    def _read(self, digest: str) -> bytes:
        if not digest:
            return b""
        try:
            return self._ports.files.path(digest).read_bytes()
        except (NotFound, OSError):
            raise Invalid("a file of the character is missing", hint="Export as JSON.") from None


def _with_icon(card: JsonObject, portrait: bytes) -> tuple[JsonObject, dict[str, bytes]]:
    path = "assets/icon/images/main.png"
    icon = {"type": "icon", "uri": f"embeded://{path}", "name": "main", "ext": "png"}
    data = as_object(card["data"])
    if data.get("assets"):
        return card, {path: portrait}
    return {**card, "data": {**data, "assets": [icon]}}, {path: portrait}


def _write_chat(reader: Reader, world_id: str, world: World) -> bytes:
    origin = chat_origin(reader, world_id)
    header: JsonObject = {
        "chat_metadata": {},
        "user_name": world.player_name,
        "character_name": next(iter(world.cast.values()), ""),
    }
    if origin is not None:
        header = msgspec.json.decode(origin.header)
    messages = [
        write_message(_line(world, message, at), source)
        for message, at, source in _messages(reader, world_id)
    ]
    return write_lines(header, messages)


def _messages(reader: Reader, world_id: str) -> Iterator[tuple[StoryMessage, str, str]]:
    messages = story_messages(reader, world_id, limit=EVERYTHING)
    origins = message_origins(reader, world_id, [one.message_id for one in messages])
    for one in messages:
        origin = origins.get(one.message_id)
        yield (one, origin.said_at, origin.source) if origin else (one, "", "")


def _line(world: World, message: StoryMessage, said_at: str) -> WrittenLine:
    versions = tuple(one.text for one in message.versions)
    ids = [one.version_id for one in message.versions]
    name = "Narrator" if message.speaker == NARRATOR else world.name_of(message.speaker)
    return WrittenLine(
        name,
        message.speaker == PLAYER,
        message.text,
        versions if len(versions) > 1 or said_at else (),
        ids.index(message.chosen) if message.chosen in ids else 0,
        message.hidden,
        said_at,
        message.edited,
    )


def _named(title: str, ending: str, media_type: str, content: bytes) -> ExportedFile:
    words = _WORDS.sub("-", title).strip("-")[:80].strip("-") or "export"
    return ExportedFile(f"{words}.{ending}", media_type, content)
