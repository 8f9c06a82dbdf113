"""Queries of worlds: the list, messages as they stand now, the timeline, characters, lore."""

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any

import msgspec

from everloop.errors import NotFound
from everloop.log import Event, Reader, visible
from everloop.log.model.event import decode
from everloop.log.model.record import from_microseconds
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import Character
from everloop.worlds.model.values import CharacterSheet, LearnedVia, Passage

PAGE = 50


class WorldSummary(msgspec.Struct, frozen=True):
    """A world in a list."""

    world_id: str
    title: str
    player_name: str
    archived: bool
    since: datetime


class CharacterEntry(msgspec.Struct, frozen=True):
    """A character of the library."""

    character_id: str
    sheet: CharacterSheet
    removed: bool
    since: datetime


class MessageVersion(msgspec.Struct, frozen=True):
    """One version of a message; a message that was written has only one."""

    version_id: str
    text: str
    passages: tuple[Passage, ...]
    position: int
    model: str = ""
    finish: str = "stop"


class StoryMessage(msgspec.Struct, frozen=True):
    """A message of a story as it stands now: its chosen version, its witnesses, whether hidden."""

    message_id: str
    scene_id: str
    speaker: str
    position: int
    text: str
    passages: tuple[Passage, ...]
    witnesses: tuple[str, ...]
    addressee: str = ""
    versions: tuple[MessageVersion, ...] = ()
    chosen: str = ""
    chosen_at: int = 0
    hidden: bool = False
    edited: bool = False
    learned_via: dict[str, LearnedVia] = {}

    @property
    def counts(self) -> bool:
        """Whether it happened: a rendered message does once one of its versions is chosen."""
        return bool(self.chosen) or not self.versions

    def reaches(self, who: str) -> bool:
        """Whether someone knows of it, and a model may be told."""
        return not self.hidden and who in self.witnesses


class TimelineEntry(msgspec.Struct, frozen=True):
    """Something that happened in a world, besides messages."""

    position: int
    kind: str
    scene_id: str
    subject: str
    event: Event
    at: datetime


def list_worlds(reader: Reader, *, archived: bool = False) -> list[WorldSummary]:
    """The worlds, newest first; archived ones only if asked for."""
    found: dict[str, WorldSummary] = {}
    for _, event, at in _events(reader, _WORLDS, ()):
        match event:
            case e.WorldOpened(world_id=world_id, title=title, player_name=name):
                found[world_id] = WorldSummary(world_id, title, name, archived=False, since=at)
            case e.WorldRenamed(world_id=world_id, title=title):
                found[world_id] = msgspec.structs.replace(found[world_id], title=title)
            case e.WorldArchived(world_id=world_id) | e.WorldRestored(world_id=world_id):
                gone = isinstance(event, e.WorldArchived)
                found[world_id] = msgspec.structs.replace(found[world_id], archived=gone)
            case _:
                pass
    return [one for one in reversed(found.values()) if archived or not one.archived]


def opening_clock(reader: Reader, world_id: str) -> str:
    """The clock of a world when it began."""
    for _, event, __ in _events(reader, _OPENED, (world_id,)):
        if isinstance(event, e.WorldOpened):
            return event.clock
    return ""


def list_characters(reader: Reader, *, removed: bool = False) -> list[CharacterEntry]:
    """The characters of the library by name; removed ones only if asked for."""
    found: dict[str, CharacterEntry] = {}
    for _, event, at in _events(reader, _CHARACTERS, ()):
        match event:
            case e.CharacterAuthored(character_id=key, sheet=sheet):
                found[key] = CharacterEntry(key, sheet, removed=False, since=at)
            case e.CharacterRevised(character_id=key, sheet=sheet):
                found[key] = msgspec.structs.replace(found[key], sheet=sheet)
            case e.CharacterRemoved(character_id=key) | e.CharacterRestored(character_id=key):
                gone = isinstance(event, e.CharacterRemoved)
                found[key] = msgspec.structs.replace(found[key], removed=gone)
            case _:
                pass
    kept = [one for one in found.values() if removed or not one.removed]
    return sorted(kept, key=lambda one: one.sheet.name.casefold())


def find_character(reader: Reader, character_id: str) -> Character:
    """A character of the library.

    Raises:
        NotFound: there is none of that id.
    """
    found = find_character_entry(reader, character_id)
    return Character(0, found.sheet, found.removed)


def find_character_entry(reader: Reader, character_id: str) -> CharacterEntry:
    """A character of the library, as it is listed.

    Raises:
        NotFound: there is none of that id.
    """
    for one in list_characters(reader, removed=True):
        if one.character_id == character_id:
            return one
    raise NotFound(
        f"no character {character_id!r}", hint="`everloop worlds characters` lists them."
    )


def story_messages(
    reader: Reader, world_id: str, *, scene_id: str = "", before: int = 0, limit: int = PAGE
) -> list[StoryMessage]:
    """Messages in the order of the story, the newest `limit` before a position."""
    asked = {"world": world_id, "before": before, "limit": limit}
    if scene_id:
        rows = reader.rows(_NEWEST_IN_SCENE, {**asked, "scene": scene_id})
    else:
        rows = reader.rows(_NEWEST, asked)
    return _messages(reader, [row[0] for row in reversed(rows)])


def find_story_message(reader: Reader, world_id: str, message_id: str) -> StoryMessage:
    """A message.

    Raises:
        NotFound: there is none of that id on this branch.
    """
    found = _messages(reader, [message_id])
    if not found or not reader.rows(_IN_WORLD, (message_id, world_id)):
        raise NotFound(f"no message {message_id!r}", hint="It may lie on another branch.")
    return found[0]


def last_mark_and_changes_since(
    reader: Reader, world_id: str, message: StoryMessage
) -> tuple[int, list[StoryMessage]]:
    """Where a message ends with the marks recorded with it, and what up to it was changed since.

    The changed messages are as they stand now.
    """
    at = max(message.position, message.chosen_at)
    later = reader.rows(_MESSAGES_SINCE, (world_id, at))
    own = {position for position, message_id in later if message_id == message.message_id}
    while at + 1 in own:
        at += 1
    named = dict.fromkeys(message_id for position, message_id in later if position > at)
    return at, [one for one in _messages(reader, list(named)) if one.position <= at]


def timeline(
    reader: Reader, world_id: str, kinds: Sequence[str] = (), *, after: int = 0
) -> list[TimelineEntry]:
    """What happened besides messages, in order; of these kinds if some are named."""
    named = msgspec.json.encode(list(kinds)).decode()
    rows = reader.rows(_TIMELINE, (world_id, after, len(kinds), named))
    return [_entry(row) for row in rows]


def newest_entries(
    reader: Reader, world_id: str, kind: str, subject: str = "", *, limit: int = PAGE
) -> list[TimelineEntry]:
    """The newest entries of a kind, the newest last; of one subject if it is named."""
    rows = reader.rows(_NEWEST_ENTRIES, (world_id, kind, subject, subject, limit))
    return [_entry(row) for row in reversed(rows)]


def scene_entries(
    reader: Reader, world_id: str, scene_id: str, kinds: Sequence[str]
) -> list[TimelineEntry]:
    """What of these kinds is recorded of a scene, in order."""
    named = msgspec.json.encode(list(kinds)).decode()
    return [_entry(row) for row in reader.rows(_SCENE_ENTRIES, (world_id, scene_id, named))]


def unread_replies(reader: Reader, after: int = 0) -> list[tuple[str, str]]:
    """Chosen replies that were not read for their effects: world and message, in order.

    Imported ones are not: what a chat came to is read with the first turn that follows it.
    """
    return [(row[0], row[1]) for row in reader.rows(_UNREAD, (after,))]


def effect_positions(reader: Reader, world_id: str, message_id: str) -> list[int]:
    """Where the effects of a message begin."""
    return [row[0] for row in reader.rows(_EFFECTS_OF, (world_id, message_id))]


def scene_effects(reader: Reader, world_id: str, scene_id: str) -> dict[str, int]:
    """The messages of a scene that were read, and where their effects begin."""
    return {row[0]: row[1] for row in reader.rows(_EFFECTS_IN, (world_id, scene_id))}


def count_messages(reader: Reader, world_id: str, scene_id: str) -> int:
    """How many messages a scene has."""
    return int(reader.rows(_COUNT, (world_id, scene_id))[0][0])


def lore_entries(reader: Reader, world_id: str) -> list[s.LoreEntry]:
    """The lore entries of a world in their order."""
    found: dict[str, s.LoreEntry] = {}
    for _, event, __ in _events(reader, _LORE, (world_id,)):
        if isinstance(event, s.LoreEntrySet):
            found[event.entry.entry_id] = event.entry
        elif isinstance(event, s.LoreEntryRemoved):
            found.pop(event.entry_id, None)
    return sorted(found.values(), key=lambda entry: (entry.order, entry.entry_id))


# -- inside ----------------------------------------------------------------------------------------


def _messages(reader: Reader, message_ids: Sequence[str]) -> list[StoryMessage]:
    if not message_ids:
        return []
    named = msgspec.json.encode(list(message_ids)).decode()
    found: dict[str, StoryMessage] = {}
    for position, event, _ in _events(reader, _FACTS_OF_MESSAGES, (named,)):
        _apply(found, position, event)
    return [found[each] for each in message_ids if each in found]


def _apply(found: dict[str, StoryMessage], position: int, event: Event) -> None:
    match event:
        case e.MessageWritten():
            found[event.message_id] = _written(position, event)
        case e.VersionRendered():
            found[event.message_id] = _rendered(found.get(event.message_id), position, event)
        case _:
            key: str = getattr(event, "message_id", "")
            if key in found:
                found[key] = _marked(found[key], position, event)


def _written(position: int, event: e.MessageWritten) -> StoryMessage:
    return StoryMessage(
        event.message_id,
        event.scene_id,
        event.speaker,
        position,
        event.text,
        event.passages,
        event.witnesses,
        event.addressee,
    )


def _rendered(known: StoryMessage | None, position: int, event: e.VersionRendered) -> StoryMessage:
    version = MessageVersion(
        event.version_id, event.text, event.passages, position, event.model, event.finish
    )
    if known is not None:
        return msgspec.structs.replace(known, versions=(*known.versions, version))
    return StoryMessage(
        event.message_id,
        event.scene_id,
        event.speaker,
        position,
        event.text,
        event.passages,
        event.witnesses,
        versions=(version,),
    )


def _marked(known: StoryMessage, position: int, event: Event) -> StoryMessage:
    replace = msgspec.structs.replace
    match event:
        case e.VersionChosen(version_id=version_id):
            return _with_choice(known, position, version_id)
        case e.MessageEdited(version_id=version_id, text=text, passages=passages):
            applies = version_id == known.chosen
            return replace(known, text=text, passages=passages, edited=True) if applies else known
        case e.MessageHidden():
            return replace(known, hidden=True)
        case e.MessageUnhidden():
            return replace(known, hidden=False)
        case e.WitnessesCorrected(witnesses=witnesses, learned_via=learned_via):
            return replace(known, witnesses=witnesses, learned_via=learned_via)
        case _:
            return known


def _with_choice(known: StoryMessage, position: int, version_id: str) -> StoryMessage:
    for version in known.versions:
        if version.version_id == version_id:
            return msgspec.structs.replace(
                known,
                text=version.text,
                passages=version.passages,
                chosen=version_id,
                chosen_at=position,
                edited=False,
            )
    return known


def _entry(row: tuple[Any, ...]) -> TimelineEntry:
    position, kind, scene, subject, wire, schema, data, when = row
    return TimelineEntry(position, kind, scene, subject, decode(wire, schema, data), _at(when))


def _events(
    reader: Reader, sql: str, bindings: tuple[Any, ...]
) -> Iterable[tuple[int, Event, datetime]]:
    for position, kind, schema, data, recorded_us in reader.rows(sql, bindings):
        if data is not None:
            yield position, decode(kind, schema, data), _at(recorded_us)


_at = from_microseconds
_FACT = "l.position, l.kind, l.schema, l.data, l.recorded_at"
_WORLDS = f"""
SELECT {_FACT} FROM world_worlds w JOIN log l ON l.position = w.position
WHERE {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
_OPENED = f"""
SELECT {_FACT} FROM world_worlds w JOIN log l ON l.position = w.position
WHERE w.world_id = ? AND w.act = 'opened' AND {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
_CHARACTERS = f"""
SELECT {_FACT} FROM world_characters w JOIN log l ON l.position = w.position
WHERE {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
_BEGAN = f"""
SELECT m.message_id FROM world_messages m
WHERE m.world_id = :world AND m.act IN ('written', 'rendered') AND {visible("m")}
AND (:before = 0 OR m.position < :before)
AND NOT EXISTS (
    SELECT 1 FROM world_messages f WHERE f.message_id = m.message_id AND f.position < m.position
    AND f.act IN ('written', 'rendered') AND {visible("f")})
"""  # noqa: S608 - our own conditions
_NEWEST = f"{_BEGAN} ORDER BY m.position DESC LIMIT :limit"
_NEWEST_IN_SCENE = f"{_BEGAN} AND m.scene_id = :scene ORDER BY m.position DESC LIMIT :limit"
_IN_WORLD = f"""
SELECT 1 FROM world_messages m WHERE m.message_id = ? AND +m.world_id = ? AND {visible("m")} LIMIT 1
"""  # noqa: S608 - our own conditions
_MESSAGES_SINCE = f"""
SELECT m.position, m.message_id FROM world_messages m
WHERE m.world_id = ? AND m.position > ? AND {visible("m")} ORDER BY m.position
"""  # noqa: S608 - our own conditions
_FACTS_OF_MESSAGES = f"""
SELECT {_FACT} FROM json_each(?) j
JOIN world_messages m ON m.message_id = j.value JOIN log l ON l.position = m.position
WHERE {visible("m")} ORDER BY m.position
"""  # noqa: S608 - our own conditions
_TIMELINE = f"""
SELECT t.position, t.kind, t.scene_id, t.subject, l.kind, l.schema, l.data, l.recorded_at
FROM world_timeline t JOIN log l ON l.position = t.position
WHERE t.world_id = ? AND t.position > ? AND l.data IS NOT NULL
AND (? = 0 OR t.kind IN (SELECT value FROM json_each(?))) AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own conditions
_ENTRY = """
SELECT t.position, t.kind, t.scene_id, t.subject, l.kind, l.schema, l.data, l.recorded_at
FROM world_timeline t JOIN log l ON l.position = t.position
"""
_NEWEST_ENTRIES = f"""
{_ENTRY} WHERE t.world_id = ? AND t.kind = ? AND (? = '' OR t.subject = ?)
AND l.data IS NOT NULL AND {visible("t")} ORDER BY t.position DESC LIMIT ?
"""
_SCENE_ENTRIES = f"""
{_ENTRY} WHERE t.world_id = ? AND t.scene_id = ?
AND t.kind IN (SELECT value FROM json_each(?))
AND l.data IS NOT NULL AND {visible("t")} ORDER BY t.position
"""  # noqa: S608 - our own conditions
_UNREAD = f"""
SELECT m.world_id, m.message_id FROM world_messages m
WHERE m.act = 'chosen' AND m.position > ? AND {visible("m")}
AND NOT EXISTS (SELECT 1 FROM world_effects x WHERE x.world_id = m.world_id
                AND x.message_id = m.message_id AND x.version_id = m.version_id AND {visible("x")})
AND NOT EXISTS (SELECT 1 FROM world_origins o
                WHERE o.world_id = m.world_id AND o.message_id = m.message_id)
ORDER BY m.position
"""  # noqa: S608 - our own conditions
_EFFECTS_OF = f"""
SELECT DISTINCT x.position FROM world_effects x
WHERE x.world_id = ? AND x.covered = ? AND {visible("x")}
"""  # noqa: S608 - our own conditions
_EFFECTS_IN = f"""
SELECT x.covered, x.position FROM world_effects x
WHERE x.world_id = ? AND x.scene_id = ? AND {visible("x")} ORDER BY x.position
"""  # noqa: S608 - our own conditions
_COUNT = f"""
SELECT count(DISTINCT m.message_id) FROM world_messages m
WHERE m.world_id = ? AND m.scene_id = ? AND m.act IN ('written', 'rendered') AND {visible("m")}
"""  # noqa: S608 - our own conditions
_LORE = f"""
SELECT {_FACT} FROM world_lore w JOIN log l ON l.position = w.position
WHERE w.world_id = ? AND {visible("w")} ORDER BY w.position
"""  # noqa: S608 - our own conditions
