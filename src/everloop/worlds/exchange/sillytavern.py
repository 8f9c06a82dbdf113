"""Imports a user folder of SillyTavern: personas, lorebooks, characters, chats and groups."""

from collections import Counter
from collections.abc import Callable, Iterator
from pathlib import PurePosixPath
from typing import Final

import msgspec

from everloop.errors import Invalid, Rejected
from everloop.worlds.exchange.card_import import CastMember, Importer
from everloop.worlds.exchange.chat_importer import ChatPlan, import_chat
from everloop.worlds.exchange.formats.archives import FileSet
from everloop.worlds.exchange.formats.chats import ChatHeader, read_chat
from everloop.worlds.exchange.formats.json_text import (
    JsonObject,
    as_object,
    as_text,
    as_texts,
    decode_object,
    encode_json,
)
from everloop.worlds.exchange.import_report import CastQuestion, digest_of
from everloop.worlds.exchange.sources import USER_FOLDERS
from everloop.worlds.model.values import CharacterSheet

ROOM: Final = 2  # characters in a world
PERSONA: Final = "persona"  # the tag of the player's own characters in the library
SETTINGS: Final = "settings.json"
_CARDS: Final = (".png", ".json", ".charx", ".yaml", ".yml")


class PlayerPersona(msgspec.Struct, frozen=True):
    """Whom the player plays: a name and a description."""

    name: str
    description: str = ""
    lorebook: str = ""


def import_folder(importer: Importer, files: FileSet) -> None:
    """Import everything of a user folder that belongs to worlds; what fails is reported."""
    _FolderImport(importer, files).run()


def import_personas(importer: Importer, settings: JsonObject) -> dict[str, PlayerPersona]:
    """Add the player's personas to the library; returns them by avatar."""
    place = settings if "personas" in settings else as_object(settings.get("power_user"))
    descriptions = as_object(place.get("persona_descriptions"))
    found: dict[str, PlayerPersona] = {}
    for avatar, name in as_object(place.get("personas")).items():
        told = as_object(descriptions.get(avatar))
        persona = PlayerPersona(
            as_text(name).strip() or PERSONA,
            as_text(told.get("description")),
            as_text(told.get("lorebook")),
        )
        found[avatar] = persona
        card = encode_json({"persona": {"avatar": avatar, "name": name, "description": told}})
        sheet = CharacterSheet(persona.name[:100], persona.description, tags=(PERSONA,), card=card)
        importer.author(f"chr-{digest_of(importer.import_id, PERSONA, avatar)}", sheet, "personas")
    default = as_text(place.get("default_persona"))
    return {**({"": found[default]} if default in found else {}), **found}


class _FolderImport:
    def __init__(self, importer: Importer, files: FileSet) -> None:
        self._importer, self._files = importer, files
        self._root = _find_root(files)
        self._personas: dict[str, PlayerPersona] = {}
        self._books: dict[str, str] = {}
        self._cast: dict[str, CastMember] = {}  # by the file name of the card

    def run(self) -> None:
        """Import everything; later parts refer to earlier ones."""
        self._each("", self._settings, lambda path: path.name == SETTINGS)
        self._each("worlds", self._book, lambda path: path.suffix == ".json")
        self._each("characters", self._card, lambda path: path.suffix.lower() in _CARDS)
        self._each("chats", self._chat, lambda path: path.suffix == ".jsonl")
        self._each("groups", self._group, lambda path: path.suffix == ".json")
        self._report_rest()

    def _each(
        self,
        folder: str,
        take: Callable[[str, bytes], None],
        wanted: Callable[[PurePosixPath], bool],
    ) -> None:
        for name in self._in_folder(folder):
            if not wanted(PurePosixPath(name)):
                continue
            try:
                take(name, self._files.read(name))
            except (Invalid, Rejected) as problem:
                self._importer.report.drop(self._short(name), str(problem))

    def _in_folder(self, folder: str) -> Iterator[str]:
        start = f"{self._root}{folder}/" if folder else self._root
        for name in sorted(self._files.sizes):
            rest = name.removeprefix(start)
            if name.startswith(start) and (folder == "chats" or "/" not in rest):
                yield name

    def _short(self, name: str) -> str:
        return name.removeprefix(self._root)

    def _settings(self, name: str, content: bytes) -> None:
        settings = decode_object(content, self._short(name), self._importer.limits)
        self._personas = import_personas(self._importer, settings)
        self._importer.advance(len(content))

    def _book(self, name: str, content: bytes) -> None:
        book_id = self._importer.import_book(content, self._short(name))
        self._books[PurePosixPath(name).stem] = book_id

    def _card(self, name: str, content: bytes) -> None:
        member = self._importer.import_card(content, self._short(name))
        self._cast[PurePosixPath(name).name] = member

    def _chat(self, name: str, content: bytes) -> None:
        folder = PurePosixPath(name).parent.name
        member = next(
            (one for file, one in self._cast.items() if PurePosixPath(file).stem == folder), None
        )
        if member is None:
            sheet = CharacterSheet(folder[:100].strip() or "Unknown")
            character_id = f"chr-{digest_of(self._importer.import_id, 'chats', folder)}"
            self._importer.author(character_id, sheet, "its chats")
            self._importer.report.change(sheet.name, "its card is missing; only the name is known")
            member = self._cast[f"{folder}.png"] = CastMember(character_id, sheet, f"{folder}.png")
        self._make_world(name, content, (member,), PurePosixPath(name).stem)

    def _group(self, name: str, content: bytes) -> None:
        group = decode_object(content, self._short(name), self._importer.limits)
        title = as_text(group.get("name")) or PurePosixPath(name).stem
        listed = as_texts(group.get("members"))
        members = [self._cast[file] for file in listed if file in self._cast]
        missing = len(listed) - len(members)
        if missing:
            self._importer.report.drop(title, f"{missing} members have no card in this folder")
        cast = self._choose(title, members)
        if cast is None:
            return
        for chat in dict.fromkeys((*as_texts(group.get("chats")), as_text(group.get("chat_id")))):
            path = f"{self._root}group chats/{chat}.jsonl"
            if chat and path in self._files.sizes:
                self._make_world(path, self._files.read(path), cast, f"{title}: {chat}")

    def _choose(self, title: str, members: list[CastMember]) -> tuple[CastMember, ...] | None:
        """The characters of a group that play; None if the player must say which."""
        if len(members) <= ROOM:
            return tuple(members)
        casts = self._importer.choices.casts
        wanted = casts.get(title) or casts.get("", ())
        chosen = [one for one in members if one.sheet.name in wanted]
        if len(wanted) == len(chosen) and 0 < len(chosen) <= ROOM:
            return tuple(chosen)
        names = tuple(one.sheet.name for one in members)
        self._importer.report.ask(CastQuestion(title, names, ROOM))
        return None

    def _make_world(
        self, name: str, content: bytes, cast: tuple[CastMember, ...], title: str
    ) -> None:
        header = next(iter(read_chat(content, name, self._importer.limits)), None)
        metadata = header.metadata if isinstance(header, ChatHeader) else {}
        persona = self._personas.get(as_text(metadata.get("persona"))) or self._personas.get("")
        linked = [
            as_text(metadata.get("world_info")),
            persona.lorebook if persona else "",
            *(_linked_book(one.sheet) for one in cast),
        ]
        books = tuple(dict.fromkeys(self._books[each] for each in linked if each in self._books))
        plan = ChatPlan(
            title,
            cast,
            persona.name if persona else "",
            persona.description if persona else "",
            books,
        )
        import_chat(self._importer, content, self._short(name), plan)
        if parent := as_text(metadata.get("main_chat")):
            self._importer.report.change(title, f"a branch of {parent!r} is a world of its own")

    def _report_rest(self) -> None:
        handled = {SETTINGS, *USER_FOLDERS}
        rest = Counter(
            PurePosixPath(self._short(name)).parts[0]
            for name in self._files.sizes
            if name.startswith(self._root)
            and PurePosixPath(self._short(name)).parts[0] not in handled
        )
        for part, count in sorted(rest.items()):
            self._importer.report.drop(part, f"not a part of worlds ({count:,} files)")


def _find_root(files: FileSet) -> str:
    """The folder, inside a zip or a larger folder, that has the characters and chats."""
    roots = {
        "".join(f"{part}/" for part in parts[:at])
        for parts in (PurePosixPath(name).parts[:-1] for name in files.sizes)
        for at, part in enumerate(parts)
        if part in USER_FOLDERS
    }
    return min(roots, key=lambda root: (root.count("/"), root), default="")


def _linked_book(sheet: CharacterSheet) -> str:
    card = msgspec.json.decode(sheet.card, type=dict[str, object]) if sheet.card else {}
    extensions = as_object(as_object(card.get("data")).get("extensions"))
    return as_text(extensions.get("world"))
