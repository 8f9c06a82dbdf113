"""Deciders of importing. Only the player imports: what is imported counts as the player's words."""

from typing import Final

import msgspec

from everloop.errors import Corrupt, Forbidden, Invalid, NotFound
from everloop.log import DecisionContext, Draft, Event, Fact, Fold
from everloop.worlds.exchange.model import commands as c
from everloop.worlds.exchange.model import events as x
from everloop.worlds.message_parsing import parse_message
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.checks import (
    NAME_MAX,
    TITLE_MAX,
    require_line,
    require_scene,
    require_world,
)
from everloop.worlds.model.decide_story import check_lore_entry
from everloop.worlds.model.state import Lore, Scene, World

IMPORTS_STREAM: Final = "world-imports"
NOTES_MAX: Final = 500
VERSIONS_MAX: Final = 500
LORE: Final = (s.LoreEntrySet, s.LoreEntryRemoved)  # in a stream of their own


class ImportState(msgspec.Struct, frozen=True):
    """An import: where it began, and whether it is complete."""

    position: int
    ended: bool = False


class Imports(msgspec.Struct, frozen=True):
    """The imports of worlds of one log."""

    known: dict[str, ImportState] = {}


class StoredLorebook(msgspec.Struct, frozen=True):
    """A lorebook of the library."""

    position: int


def evolve_imports(before: Imports | None, fact: Fact) -> Imports:
    """The imports after an event."""
    known = before.known if before else {}
    match fact.event:
        case x.ImportBegun(import_id=import_id):
            return Imports({**known, import_id: ImportState(fact.position)})
        case x.ImportEnded(import_id=import_id):
            return Imports({**known, import_id: ImportState(known[import_id].position, ended=True)})
        case _:
            raise Corrupt(f"{fact.event.wire} at {fact.position} is not about an import")


def evolve_book(before: StoredLorebook | None, fact: Fact) -> StoredLorebook:
    """A lorebook of the library after an event."""
    return before or StoredLorebook(fact.position)


IMPORTS: Final = Fold("worlds.imports", Imports, evolve_imports)
BOOK: Final = Fold("worlds.lorebook", StoredLorebook, evolve_book)


def book_stream(book_id: str) -> str:
    """The stream of a lorebook of the library."""
    return f"lorebook:{book_id}"


def begin_import(
    known: Imports | None, command: c.BeginImport, asking: DecisionContext
) -> list[Event]:
    """Begin an import or go on with it. Idempotent: the same files are one import."""
    _check_actor(asking)
    if known and command.import_id in known.known:
        return []
    name = " ".join(command.name.split())[:TITLE_MAX]
    return [x.ImportBegun(command.import_id, command.source, name)]


def end_import(known: Imports | None, command: c.EndImport, _: DecisionContext) -> list[Draft]:
    """Record what became of a file."""
    begun = known.known.get(command.import_id) if known else None
    if begun is None:
        raise NotFound(f"no import {command.import_id!r}", hint="It may have been undone.")
    ended = x.ImportEnded(command.import_id, command.notes[:NOTES_MAX])
    return [Draft(ended, (begun.position,))]


def add_lorebook(
    known: StoredLorebook | None, command: c.AddLorebook, asking: DecisionContext
) -> list[Draft]:
    """Add a lorebook to the library. Idempotent."""
    _check_actor(asking)
    if known is not None:
        return []
    require_line(command.book_id, "a lorebook's id", NAME_MAX)
    name = " ".join(command.name.split())[:TITLE_MAX] or "Lorebook"
    added = x.LorebookAdded(command.book_id, name, command.form, command.frame)
    return [Draft(added, command.because)]


def import_chat(known: World | None, command: c.ImportChat, asking: DecisionContext) -> list[Draft]:
    """Record which chat a world is made of."""
    world = require_world(known, command.world_id, asking)
    made = x.ChatImported(command.world_id, command.import_id, command.name, command.header)
    return [Draft(made, (world.position,))]


def import_messages(
    known: World | None, command: c.ImportMessages, asking: DecisionContext
) -> list[Draft]:
    """Import messages into the open scene. `asking.known` are the ids of those that exist."""
    _check_actor(asking)
    world = require_world(known, command.world_id, asking)
    scene = require_scene(world)
    drafts: list[Draft] = []
    for message in command.messages:
        if message.message_id not in asking.known:
            drafts += _drafts(world, scene, command.world_id, message, len(drafts))
    return drafts


def replay_facts(
    known: World | None, command: c.ReplayFacts, asking: DecisionContext
) -> list[Draft]:
    """Record the facts of an exported world. The first opens it."""
    _check_actor(asking)
    for number, draft in enumerate(command.drafts):
        event = draft.event
        if isinstance(event, LORE) or getattr(event, "world_id", "") != command.world_id:
            raise Invalid(f"{event.wire} is no fact of this world", hint="Export the world again.")
        if isinstance(event, e.WorldOpened) != (known is None and number == 0):
            raise Invalid("an exported world begins once", hint="Export the world again.")
    return list(command.drafts)


def replay_lore(known: Lore | None, command: c.ReplayLore, asking: DecisionContext) -> list[Draft]:
    """Record the facts about the lore of an exported world."""
    _check_actor(asking)
    entries = set(known.entries) if known else set[str]()
    for draft in command.drafts:
        event = draft.event
        if not isinstance(event, LORE) or event.world_id != command.world_id:
            raise Invalid(f"{event.wire} is no lore of this world", hint="Export the world again.")
        if isinstance(event, s.LoreEntrySet):
            check_lore_entry(event.entry, entries)
            entries.add(event.entry.entry_id)
        else:
            entries.discard(event.entry_id)
    return list(command.drafts)


def _drafts(
    world: World, scene: Scene, world_id: str, message: c.ImportedMessage, first: int
) -> list[Draft]:
    here = (scene.position,)
    if message.versions:
        drafts = [
            Draft(_version(scene, world_id, message, number), here)
            for number in range(min(len(message.versions), VERSIONS_MAX))
        ]
        chosen = e.VersionChosen(world_id, message.message_id, _version_id(message, message.chosen))
        drafts.append(Draft(chosen, beside=(first + message.chosen,)))
    else:
        drafts = [Draft(_written(scene, world_id, message), here)]
    if message.said_at or message.source:
        origin = x.MessageImported(world_id, message.message_id, message.said_at, message.source)
        drafts.append(Draft(origin, beside=(first,)))
    if message.hidden:
        hidden = e.MessageHidden(world_id, message.message_id)
        drafts.append(Draft(hidden, (world.position,), beside=(first,)))
    return drafts


def _written(scene: Scene, world_id: str, message: c.ImportedMessage) -> e.MessageWritten:
    return e.MessageWritten(
        world_id,
        scene.scene_id,
        message.message_id,
        message.speaker,
        message.text,
        parse_message(message.text),
        message.witnesses,
        "",
    )


def _version(
    scene: Scene, world_id: str, message: c.ImportedMessage, number: int
) -> e.VersionRendered:
    text = message.versions[number]
    return e.VersionRendered(
        world_id,
        scene.scene_id,
        message.message_id,
        _version_id(message, number),
        message.speaker,
        text,
        parse_message(text),
        message.witnesses,
        "",
        "stop",
        "",
    )


def _version_id(message: c.ImportedMessage, number: int) -> str:
    return f"{message.message_id}-v{number}"


def _check_actor(asking: DecisionContext) -> None:
    if asking.by.actor != "user":
        raise Forbidden(
            f"{asking.by.actor!r} may not import into worlds", hint="Only the player can."
        )
