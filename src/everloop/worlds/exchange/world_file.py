"""A world, a scene or a character as one JSON file that can be imported again.

It has the facts of the story as they stand on the current branch, in order; `because` of a fact
names earlier ones by their number. Turns that a model took leave only their replies.
"""

import base64
from collections.abc import Iterable, Sequence
from typing import Any, Final, Literal, cast

import msgspec

from everloop.errors import EverloopError, Invalid, NotFound
from everloop.log import Event, Reader, visible
from everloop.log.model.event import decode
from everloop.worlds.exchange.formats.json_text import JsonObject, as_object
from everloop.worlds.exchange.imports import FileKeeper
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import world_stream
from everloop.worlds.model.values import PLAYER, CharacterSheet
from everloop.worlds.queries import find_character, lore_entries

FORMAT: Final = "everloop.world"  # how the JSON of our own exports begins
VERSION: Final = 1
Scope = Literal["world", "scene", "character"]
_TURNS: Final = (
    e.TurnRecorded,
    e.TurnSending,
    e.TurnStreaming,
    e.ReplySaved,
    e.TurnFailed,
    e.TurnLeftUncertain,
)
_FRAME: Final = (
    e.WorldOpened,
    e.WorldRenamed,
    e.StyleSet,
    e.AuthorNoteSet,
    e.CastJoined,
    e.CastLeft,
)
_SUBJECTS: Final = ("event_id", "plot_id", "prop_id")


class FileFact(msgspec.Struct, frozen=True, omit_defaults=True):
    """A fact of the story. `because` are the numbers of facts before it."""

    kind: str
    data: msgspec.Raw
    schema: int = 1
    because: tuple[int, ...] = ()

    def event(self) -> Event:
        """The event.

        Raises:
            Invalid: it is none that this version knows.
        """
        try:
            return decode(self.kind, self.schema, bytes(self.data).decode())
        except (EverloopError, msgspec.MsgspecError, ValueError, KeyError, TypeError) as problem:
            raise Invalid(
                f"the file has a fact that cannot be read: {self.kind!r}: {problem}",
                hint="It was made by a newer version, or damaged.",
            ) from None


class FileCharacter(msgspec.Struct, frozen=True, omit_defaults=True):
    """A character with its files, in base64 by their digests."""

    character_id: str
    sheet: CharacterSheet
    files: dict[str, str] = {}


class WorldFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of an export."""

    format: str
    version: int
    scope: Scope
    title: str
    world_id: str = ""
    characters: tuple[FileCharacter, ...] = ()
    facts: tuple[FileFact, ...] = ()
    lore: tuple[s.LoreEntry, ...] = ()


class StoredFact(msgspec.Struct, frozen=True):
    """A fact of a world as the log has it."""

    position: int
    kind: str
    schema: int
    data: str
    event: Event


def encode_file(file: WorldFile) -> bytes:
    """The file as JSON."""
    return msgspec.json.format(msgspec.json.encode(file), indent=1)


def decode_file(content: bytes) -> WorldFile:
    """The content of an export.

    Raises:
        Invalid: it is none, or of a newer version.
    """
    try:
        file = msgspec.json.decode(content, type=WorldFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Invalid(f"the export is damaged: {problem}", hint="Export it again.") from None
    if file.format != FORMAT or file.version > VERSION:
        raise Invalid(
            f"the export has version {file.version}, and this program reads {VERSION}",
            hint="Update Everloop.",
        )
    return file


def export_character(reader: Reader, character_id: str, files: FileKeeper) -> WorldFile:
    """A character of the library.

    Raises:
        NotFound: there is none of that id.
    """
    character = _character(reader, character_id, files)
    return WorldFile(FORMAT, VERSION, "character", character.sheet.name, "", (character,))


def export_world(reader: Reader, world_id: str, title: str, files: FileKeeper) -> WorldFile:
    """A whole world as it stands on its current branch."""
    return _file(reader, world_id, "world", title, world_facts(reader, world_id), files)


def export_scene(
    reader: Reader, world_id: str, scene_id: str, title: str, files: FileKeeper
) -> WorldFile:
    """One scene with its cast, its place, and what its events and plots refer to.

    Raises:
        NotFound: the world has no such scene.
    """
    chosen = _of_scene(world_facts(reader, world_id), scene_id)
    return _file(reader, world_id, "scene", title, chosen, files)


def world_facts(reader: Reader, world_id: str) -> list[StoredFact]:
    """The facts of a world that count, in order, without turns."""
    found = [
        StoredFact(position, kind, schema, data, decode(kind, schema, data))
        for position, kind, schema, data in reader.rows(_FACTS, (world_stream(world_id),))
    ]
    return [fact for fact in found if not isinstance(fact.event, _TURNS)]


def _file(
    reader: Reader,
    world_id: str,
    scope: Scope,
    title: str,
    facts: Sequence[StoredFact],
    files: FileKeeper,
) -> WorldFile:
    joined = [one.event.character_id for one in facts if isinstance(one.event, e.CastJoined)]
    cast = [_character(reader, each, files) for each in dict.fromkeys(joined)]
    return WorldFile(
        FORMAT,
        VERSION,
        scope,
        title,
        world_id,
        tuple(cast),
        tuple(_numbered(reader, facts)),
        tuple(lore_entries(reader, world_id)),
    )


def _numbered(reader: Reader, facts: Sequence[StoredFact]) -> Iterable[FileFact]:
    numbers = {fact.position: number for number, fact in enumerate(facts)}
    sources: dict[int, list[int]] = {}
    named = msgspec.json.encode(list(numbers)).decode()
    for source, dependant in reader.rows(_BECAUSE, (named,)):
        sources.setdefault(dependant, []).append(source)
    for number, fact in enumerate(facts):
        known = sorted(numbers[at] for at in sources.get(fact.position, ()) if at in numbers)
        because = tuple(known) or ((0,) if number else ())
        yield FileFact(fact.kind, msgspec.Raw(fact.data.encode()), fact.schema, because)


def _character(reader: Reader, character_id: str, files: FileKeeper) -> FileCharacter:
    sheet = find_character(reader, character_id).sheet
    digests = {sheet.portrait, *(one.digest for one in sheet.files)} - {""}
    return FileCharacter(
        character_id, sheet, {each: _content(files, each) for each in sorted(digests)}
    )


def _content(files: FileKeeper, digest: str) -> str:
    try:
        return base64.b64encode(files.path(digest).read_bytes()).decode()
    except (NotFound, OSError):
        return ""


def _of_scene(facts: Sequence[StoredFact], scene_id: str) -> list[StoredFact]:
    begins = [one for one in facts if isinstance(one.event, e.SceneOpened)]
    own = next((one for one in begins if _get(one, "scene_id") == scene_id), None)
    if own is None:
        raise NotFound(f"no scene {scene_id!r}", hint="Look at the timeline of the world.")
    end = next((one.position for one in begins if one.position > own.position), 2**62)
    inside = [one for one in facts if own.position <= one.position < end]
    after = [one for one in facts if one.position >= end and _is_about(one, scene_id)]
    before = _before_scene([one for one in facts if one.position < own.position], own, inside)
    return [*before, *inside, *after]


def _before_scene(
    facts: Sequence[StoredFact], own: StoredFact, inside: Sequence[StoredFact]
) -> list[StoredFact]:
    """What a scene needs from before it."""
    place = _get(own, "place_id")
    wanted = {_get(one, key) for one in inside for key in _SUBJECTS} - {""}
    wanted |= {one.event.prop.prop_id for one in inside if isinstance(one.event, s.PropIntroduced)}
    clocks = [one for one in facts if isinstance(one.event, s.TimeElided | s.TimeJumped)]
    return [
        one
        for one in facts
        if isinstance(one.event, _FRAME)
        or (isinstance(one.event, e.PlaceDefined) and one.event.place.place_id == place)
        or (clocks and one is clocks[-1])
        or any(_get(one, key) in wanted for key in _SUBJECTS)
    ]


def _is_about(fact: StoredFact, scene_id: str) -> bool:
    told = isinstance(fact.event, e.SceneSummarised | e.DigestRecorded)
    return told and _get(fact, "scene_id") == scene_id


def _get(fact: StoredFact, key: str) -> str:
    value: Any = getattr(fact.event, key, "")
    return value if isinstance(value, str) else ""


def rename_ids(data: msgspec.Raw, names: dict[str, str]) -> msgspec.Raw:
    """The data of a fact with other ids in it: every text that is one of them, and every key."""
    value: object = msgspec.json.decode(data)
    return msgspec.Raw(msgspec.json.encode(_renamed(value, names)))


def _renamed(value: object, names: dict[str, str]) -> object:
    if isinstance(value, str):
        return names.get(value, value)
    if isinstance(value, list):
        return [_renamed(one, names) for one in cast("list[object]", value)]
    if isinstance(value, dict):
        inner = cast("JsonObject", value)
        return {names.get(key, key): _renamed(one, names) for key, one in inner.items()}
    return value


def message_ids(file: WorldFile) -> set[str]:
    """The ids of the messages in an export, which must be unique in a log."""
    found: set[str] = set()
    for fact in file.facts:
        if fact.kind in (e.MessageWritten.wire, e.VersionRendered.wire):
            found.add(str(as_object(msgspec.json.decode(fact.data)).get("message_id", "")))
    return found - {"", PLAYER}


_FACTS = f"""
SELECT l.position, l.kind, l.schema, l.data FROM log l
WHERE l.stream = ? AND l.data IS NOT NULL AND {visible("l")} ORDER BY l.position
"""  # noqa: S608 - our own condition
_BECAUSE = """
SELECT b.source, b.dependant FROM json_each(?) j JOIN log_because b ON b.dependant = j.value
"""
