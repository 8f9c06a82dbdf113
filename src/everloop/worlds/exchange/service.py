"""Importing and exporting, as the doors and background jobs use it."""

from pathlib import Path

import msgspec

from everloop.errors import Conflict, Invalid, Rejected
from everloop.log import Context, Impact
from everloop.log.idempotency import first_result, step_request_id
from everloop.ports import Progress
from everloop.worlds.exchange.card_import import CastMember, ExchangePorts, Importer
from everloop.worlds.exchange.chat_importer import ChatPlan, import_chat
from everloop.worlds.exchange.exports import Exporter
from everloop.worlds.exchange.formats import png
from everloop.worlds.exchange.formats.chats import ChatHeader, ChatLine, read_chat
from everloop.worlds.exchange.formats.json_text import decode_object
from everloop.worlds.exchange.import_report import (
    CastQuestion,
    ImportChoices,
    WorldImportResult,
    digest_of,
)
from everloop.worlds.exchange.queries import find_import
from everloop.worlds.exchange.settings import ExchangeLimits
from everloop.worlds.exchange.sillytavern import ROOM, import_folder, import_personas
from everloop.worlds.exchange.sources import ImportSource, open_source
from everloop.worlds.exchange.world_replay import import_file
from everloop.worlds.model.commands import ReviseCharacter
from everloop.worlds.model.values import CharacterSheet
from everloop.worlds.queries import find_character, list_characters

UNDONE = "the import was undone"
FAILED = "the import failed"


class TooManySpeakers(Conflict):
    """More characters speak in a chat than a world has room for: which of them play?"""

    def __init__(self, question: CastQuestion) -> None:
        room, count = question.room, len(question.names)
        message = f"a world has room for {room} characters, and {count} speak in this chat"
        super().__init__(message, hint=f"Choose {room} of them: {', '.join(question.names)}.")
        self.question = question


class ExchangeService:
    """Imports into worlds, and exports of them."""

    def __init__(self, ports: ExchangePorts, limits: ExchangeLimits) -> None:
        self._ports, self._limits = ports, limits
        self.exports = Exporter(ports)

    def open(self, path: Path, name: str = "") -> ImportSource:
        """What lies at a path.

        Raises:
            Rejected: nothing that can be imported, or hostile.
        """
        return open_source(path, self._limits, name)

    def run(
        self,
        source: ImportSource,
        by: Context,
        choices: ImportChoices | None = None,
        progress: Progress | None = None,
    ) -> WorldImportResult:
        """Import a file or folder. A file that cannot be imported leaves nothing behind.

        Raises:
            Rejected: it is damaged or hostile, or the caller may not import.
        """
        importer = Importer(self._ports, self._limits, by)
        is_new = importer.begin(source, choices or ImportChoices(), progress)
        try:
            self._import(importer, source)
        except Rejected:
            if is_new:
                self._ports.log.retract([importer.root], reason=FAILED, actor=by.actor)
            raise
        return importer.end(source)

    def set_portrait(self, character_id: str, content: bytes, by: Context) -> None:
        """Give a character of the library another picture.

        Raises:
            NotFound: there is no such character.
            Invalid: it is no picture, or a damaged or hostile one.
        """
        media_type = png.picture_media_type(content)
        if not media_type:
            raise Invalid("this is no picture", hint="Choose a PNG, JPEG, GIF or WebP file.")
        if media_type == png.MEDIA_TYPE:
            png.read_chunks(content, "the portrait", self._limits)
        with self._ports.log.reading() as reader:
            sheet = find_character(reader, character_id).sheet
        stored = self._ports.files.store(f"{sheet.name} portrait", media_type, [content])
        revised = msgspec.structs.replace(sheet, portrait=stored.digest)
        self._ports.bus.do(ReviseCharacter(character_id, revised), by=by)

    def undo(self, import_id: str, by: Context) -> int:
        """Undo a whole import. Retract the position that this returns to have it back.

        Raises:
            NotFound: there is no such import, or it was undone.
        """
        log, name = self._ports.log, step_request_id(by)
        if first := first_result(log, by):
            return first[-1].position
        with log.reading() as reader:
            past = find_import(reader, import_id)
        done = log.retract([past.position], reason=UNDONE, actor=by.actor, request_id=name)
        return done.position

    def preview_undo(self, import_id: str) -> Impact:
        """What would go if an import were undone."""
        with self._ports.log.reading() as reader:
            past = find_import(reader, import_id)
        return self._ports.log.preview_retract([past.position])

    def _import(self, importer: Importer, source: ImportSource) -> None:
        match source.kind:
            case "card":
                importer.import_card(source.content, source.name)
            case "lorebook":
                importer.import_book(source.content, source.name)
            case "chat":
                self._chat(importer, source)
            case "personas":
                value = decode_object(source.content, source.name, self._limits)
                import_personas(importer, value)
            case "sillytavern":
                assert source.files is not None, "a folder has files"
                import_folder(importer, source.files)
            case "everloop":
                import_file(importer, source.content)

    def _chat(self, importer: Importer, source: ImportSource) -> None:
        """A chat alone: its characters are those of the library with the same names."""
        names: dict[str, None] = {}
        player = importer.choices.player_name
        for line in read_chat(source.content, source.name, self._limits):
            if isinstance(line, ChatHeader) and line.character_name:
                names[line.character_name] = None
            elif isinstance(line, ChatLine) and line.is_user:
                player = player or line.name
            elif isinstance(line, ChatLine) and line.name and not line.hidden:
                names[line.name] = None
        wanted = importer.choices.casts.get(source.name) or importer.choices.casts.get("")
        wanted = wanted or tuple(names)
        if len(wanted) > ROOM:
            raise TooManySpeakers(CastQuestion(source.name, wanted, ROOM))
        cast = tuple(self._member(importer, name) for name in wanted)
        title = source.name.rpartition(".")[0] or source.name
        import_chat(importer, source.content, source.name, ChatPlan(title, cast, player))

    def _member(self, importer: Importer, name: str) -> CastMember:
        with self._ports.log.reading() as reader:
            known = [one for one in list_characters(reader) if one.sheet.name == name]
        if known:
            return CastMember(known[0].character_id, known[0].sheet)
        sheet = CharacterSheet(name[:100])
        character_id = f"chr-{digest_of(importer.import_id, name)}"
        importer.author(character_id, sheet, "its chat")
        importer.report.change(name, "no character of that name was in the library")
        return CastMember(character_id, sheet)
