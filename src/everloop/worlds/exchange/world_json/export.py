"""Writes a world, a scene or a character as our own JSON; see `file_format`."""

import base64
from collections.abc import Collection, Iterable, Sequence
from typing import Any, Final

import msgspec

from everloop.errors import NotFound
from everloop.log import Log, Reader
from everloop.memory.model.events import Remembered
from everloop.memory.model.scopes import OWNER, Viewer
from everloop.memory.projections.queries import Item, items_at
from everloop.worlds.exchange.import_report import FileKeeper
from everloop.worlds.exchange.world_json.file_format import (
    FORMAT,
    VERSION,
    FileBranch,
    FileCharacter,
    FileFact,
    FileMemory,
    WorldFile,
)
from everloop.worlds.exchange.world_json.world_tree import (
    SetSight,
    StoredFact,
    WorldTree,
    world_facts,
)
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.queries import find_character, lore_entries
from everloop.worlds.witness_memory import listed_memory, world_scope

_FRAME: Final = (
    e.WorldOpened,
    e.WorldRenamed,
    e.StyleSet,
    e.AuthorNoteSet,
    e.CastJoined,
    e.CastLeft,
)
_SUBJECTS: Final = ("event_id", "plot_id", "prop_id")


def export_character(reader: Reader, character_id: str, files: FileKeeper) -> WorldFile:
    """A character of the library.

    Raises:
        NotFound: there is none of that id.
    """
    character = _character(reader, character_id, files)
    return WorldFile(FORMAT, VERSION, "character", character.sheet.name, "", (character,))


def export_world(
    log: Log, reader: Reader, world_id: str, title: str, files: FileKeeper
) -> WorldFile:
    """A whole world with all its branches."""
    tree = WorldTree(log, reader, world_id)
    facts = [fact for branch in tree.branches for fact in tree.facts[branch.name]]
    numbers = {fact.position: number for number, fact in enumerate(facts)}
    written = list(_numbered(reader, facts, numbers))
    first, *others = (
        FileBranch(
            tree.left_after(branch, numbers),
            tuple(written[numbers[one.position]] for one in tree.facts[branch.name]),
            _first_of(tree.hidden[branch.name], numbers, written),
        )
        for branch in tree.branches
    )
    memories = _memories(reader, world_id, numbers, tree.sights())
    reader.use_sight(log.branches.sight())
    return WorldFile(
        FORMAT,
        VERSION,
        "world",
        title,
        world_id,
        _cast(reader, facts, files),
        first.facts,
        without=first.without,
        branches=tuple(others),
        current=tree.current,
        memories=tuple(memories),
    )


def export_scene(
    reader: Reader, world_id: str, scene_id: str, title: str, files: FileKeeper
) -> WorldFile:
    """One scene with its cast, its place, and what its events and plots refer to.

    Raises:
        NotFound: the world has no such scene.
    """
    facts = _of_scene(world_facts(reader, world_id), scene_id)
    numbers = {fact.position: number for number, fact in enumerate(facts)}
    return WorldFile(
        FORMAT,
        VERSION,
        "scene",
        title,
        world_id,
        _cast(reader, facts, files),
        tuple(_numbered(reader, facts, numbers)),
        tuple(lore_entries(reader, world_id)),
        memories=tuple(_memories(reader, world_id, numbers, [lambda _: True])),
    )


def _cast(
    reader: Reader, facts: Sequence[StoredFact], files: FileKeeper
) -> tuple[FileCharacter, ...]:
    joined = [one.event.character_id for one in facts if isinstance(one.event, e.CastJoined)]
    return tuple(_character(reader, each, files) for each in dict.fromkeys(joined))


def _numbered(
    reader: Reader, facts: Sequence[StoredFact], numbers: dict[int, int]
) -> Iterable[FileFact]:
    sources: dict[int, list[int]] = {}
    for source, dependant in reader.rows(_BECAUSE, (_json(numbers),)):
        sources.setdefault(dependant, []).append(source)
    for number, fact in enumerate(facts):
        known = sorted(numbers[at] for at in sources.get(fact.position, ()) if at in numbers)
        because = tuple(known) or ((0,) if number else ())
        yield FileFact(fact.kind, msgspec.Raw(fact.data.encode()), fact.schema, because)


def _first_of(
    hidden: Collection[int], numbers: dict[int, int], written: Sequence[FileFact]
) -> tuple[int, ...]:
    """The numbers of hidden facts, without those that follow from others among them."""
    gone = {numbers[position] for position in hidden if position in numbers}
    return tuple(sorted(each for each in gone if gone.isdisjoint(written[each].because)))


def _memories(
    reader: Reader, world_id: str, numbers: dict[int, int], sights: Iterable[SetSight]
) -> list[FileMemory]:
    """What was remembered of these facts and counts in one of these sights, in their order."""
    sources: dict[int, set[int]] = {}
    for item, source in reader.rows(_MADE_OF, (_json(numbers), Remembered.wire)):
        sources.setdefault(item, set()).add(source)
    viewer = Viewer(OWNER, (world_scope(world_id),))
    found: dict[int, Item] = {}
    for sees in sights:
        left = [item for item in sources if item not in found and all(map(sees, sources[item]))]
        found |= {one.position: one for one in items_at(reader, viewer, left)}
    made = [
        _memory(world_id, item, tuple(sorted(numbers[each] for each in sources[position])))
        for position, item in sorted(found.items())
    ]
    return sorted(made, key=lambda one: max(one.because))


def _memory(world_id: str, item: Item, because: tuple[int, ...]) -> FileMemory:
    memory = listed_memory(world_id, item)
    return FileMemory(
        memory.text,
        memory.kind,
        memory.clock.isoformat(),
        memory.witnesses,
        because,
        memory.scene_id,
        memory.message_id,
        memory.significance,
        memory.pinned,
    )


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


def _json(positions: Iterable[int]) -> str:
    return msgspec.json.encode(list(positions)).decode()


_BECAUSE = """
SELECT b.source, b.dependant FROM json_each(?) j JOIN log_because b ON b.dependant = j.value
"""
_MADE_OF = """
SELECT b.dependant, b.source FROM json_each(?) j JOIN log_because b ON b.source = j.value
JOIN log l ON l.position = b.dependant WHERE l.kind = ?
"""
