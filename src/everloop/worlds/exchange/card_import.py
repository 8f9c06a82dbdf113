"""Imports cards and lorebooks into the library.

Ids are made from the content, so an import that was interrupted goes on where it was, and the same
file again changes nothing. Everything derives from the event that began the import.
"""

from typing import NamedTuple

import msgspec

from everloop.log import CommandBus, Context, Log
from everloop.ports import Clock, Progress
from everloop.worlds.exchange.card_lore import character_lore
from everloop.worlds.exchange.formats import png
from everloop.worlds.exchange.formats.card_files import CardFile, read_card_file
from everloop.worlds.exchange.formats.cards import sheet_from_card
from everloop.worlds.exchange.formats.json_text import decode_object
from everloop.worlds.exchange.formats.lorebooks import read_book
from everloop.worlds.exchange.import_report import (
    FileKeeper,
    ImportChoices,
    ImportReport,
    WorldImportResult,
    digest_of,
)
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.exchange.model.decide import IMPORTS, IMPORTS_STREAM
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.exchange.sources import ImportSource
from everloop.worlds.model import commands as c
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.state import CHARACTER, character_stream
from everloop.worlds.model.values import CharacterSheet, SheetFile


class ExchangePorts(NamedTuple):
    """What importing and exporting need from the engine."""

    log: Log
    bus: CommandBus
    files: FileKeeper
    clock: Clock


class CastMember(msgspec.Struct, frozen=True):
    """A character of the library, with the file name of its card."""

    character_id: str
    sheet: CharacterSheet
    avatar: str = ""


class Importer:
    """One import. It can be interrupted at any moment, and run again."""

    def __init__(self, ports: ExchangePorts, limits: ExchangeLimits, by: Context) -> None:
        self.ports, self.limits, self.by = ports, limits, by
        self.report = ImportReport()
        self.choices = ImportChoices()
        self.characters: list[str] = []
        self.worlds: list[str] = []
        self.books: list[str] = []
        self.messages = 0
        self.import_id, self.root = "", 0
        self._progress: Progress | None = None
        self._done, self._total = 0, 0

    def begin(
        self, source: ImportSource, choices: ImportChoices, progress: Progress | None
    ) -> bool:
        """Record that the import begins; False if it had begun before, and goes on."""
        self.choices, self._progress, self._total = choices, progress, source.size
        self.import_id = source.import_id
        begin = x.BeginImport(self.import_id, source.kind, source.name)
        receipt = self.ports.bus.do(begin, by=self.by)
        known = self.ports.log.state(IMPORTS, IMPORTS_STREAM)
        assert known is not None, "it was begun just now"
        self.root = known.known[self.import_id].position
        return bool(receipt.facts)

    def end(self, source: ImportSource) -> WorldImportResult:
        """Record what became of everything."""
        notes = self.report.notes()
        self.ports.bus.do(x.EndImport(self.import_id, notes), by=self.by)
        return WorldImportResult(
            self.import_id,
            self.root,
            source.kind,
            source.name,
            tuple(self.characters),
            tuple(self.worlds),
            tuple(self.books),
            self.messages,
            notes,
            tuple(self.report.questions),
        )

    def advance(self, size: int) -> None:
        """Note that so many bytes more are done."""
        self._done += size
        if self._progress:
            self._progress(min(self._done, self._total), self._total)

    def import_card(self, content: bytes, name: str) -> CastMember:
        """Add the character on a card to the library.

        Raises:
            Invalid: it is no card, or damaged or hostile.
        """
        file = read_card_file(content, name, self.limits)
        character_id = f"chr-{digest_of(self.import_id, name, content)}"
        sheet = self._sheet(file, name)
        self.author(character_id, sheet, name)
        if book := character_lore(character_id, sheet):
            self.report.keep(sheet.name, f"lorebook with {len(book):,} entries")
        self.advance(len(content))
        return CastMember(character_id, sheet, name.rpartition("/")[2])

    def author(self, character_id: str, sheet: CharacterSheet, name: str) -> None:
        """Add a character to the library, unless it is there."""
        if self.ports.log.state(CHARACTER, character_stream(character_id)) is None:
            command = c.AuthorCharacter(character_id, sheet, (self.root,))
            self.ports.bus.do(command, by=self.by)
        self.characters.append(character_id)
        self.report.keep(sheet.name, f"character from {name}")

    def import_book(self, content: bytes, name: str) -> str:
        """Add a lorebook to the library, and to a world if one was chosen; returns its id.

        Raises:
            Invalid: it is no lorebook.
        """
        value = decode_object(content, name, self.limits)
        file_name = name.rpartition("/")[2]
        title = file_name.rpartition(".")[0] or file_name
        book_id = f"bok-{digest_of(self.import_id, name, content)}"
        found = read_book(value, book_id, title)
        added = x.AddLorebook(book_id, title, found.book.form, found.book.frame, (self.root,))
        targets = [each for each in (book_id, self.choices.into_world) if each]
        entries = [
            s.SetLoreEntry(target, entry, (self.root,))
            for target in targets
            for entry in found.book.entries
        ]
        self.ports.bus.do_many([added, *entries], by=self.by)
        self.books.append(book_id)
        self.report.keep(title, f"lorebook with {len(found.book.entries):,} entries")
        for change in found.changed:
            self.report.change(title, change)
        self.advance(len(content))
        return book_id

    def _sheet(self, file: CardFile, name: str) -> CharacterSheet:
        store = self.ports.files.store
        portrait = ""
        if file.portrait:
            portrait = store(name, png.picture_media_type(file.portrait), [file.portrait]).digest
        sheet = sheet_from_card(file.card, portrait=portrait)
        kept = tuple(
            SheetFile(each, store(each, "application/octet-stream", [data]).digest)
            for each, data in file.assets.items()
            if data
        )
        return msgspec.structs.replace(sheet, files=kept)
