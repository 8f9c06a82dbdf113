"""Imports an export of a world, a scene or a character: the same facts, recorded again.

Ids stay as they are where they are free. What was interrupted goes on where it was.
"""

import base64
import binascii
from collections.abc import Iterator

import msgspec

from everloop.errors import Invalid
from everloop.log import Draft, Reader, visible
from everloop.worlds.exchange.importer import Importer
from everloop.worlds.exchange.imports import digest_of
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.exchange.world_file import (
    FileCharacter,
    FileFact,
    WorldFile,
    decode_file,
    message_ids,
    rename_ids,
    world_facts,
)
from everloop.worlds.model import story_commands as s
from everloop.worlds.model.state import CHARACTER, WORLD, character_stream, world_stream

BATCH = 500  # facts recorded in one append


def import_file(importer: Importer, content: bytes) -> None:
    """Import an export.

    Raises:
        Invalid: it is damaged, or of a newer version.
    """
    file = decode_file(content)
    names = {one.character_id: _import_character(importer, one) for one in file.characters}
    if file.scope == "character":
        importer.advance(len(content))
        return
    world_id = _free_world(importer, file)
    if world_id != file.world_id:
        mark = digest_of(importer.import_id, world_id)[:8]
        names |= {each: f"{each}-{mark}" for each in message_ids(file)}
        names[file.world_id] = world_id
    _replay(importer, file, world_id, {old: new for old, new in names.items() if old != new})
    importer.worlds.append(world_id)
    importer.report.keep(file.title, f"{file.scope} with {len(file.facts):,} facts")
    importer.advance(len(content))


def _import_character(importer: Importer, character: FileCharacter) -> str:
    """Add a character to the library; one that is there and equal is used as it is."""
    log = importer.ports.log
    for digest, packed in character.files.items():
        _store(importer, digest, packed, character.sheet.name)
    known = log.state(CHARACTER, character_stream(character.character_id))
    if known is not None and known.sheet == character.sheet:
        importer.report.keep(character.sheet.name, "it is in the library")
        return character.character_id
    taken = known is not None
    fresh = f"chr-{digest_of(importer.import_id, character.character_id)}"
    character_id = fresh if taken else character.character_id
    importer.author(character_id, character.sheet, "the export")
    return character_id


def _store(importer: Importer, digest: str, packed: str, name: str) -> None:
    if not packed:
        importer.report.drop(name, "a file of it was missing when it was exported")
        return
    try:
        content = base64.b64decode(packed, validate=True)
    except (binascii.Error, ValueError):
        raise Invalid("a file in the export is damaged", hint="Export it again.") from None
    if importer.ports.files.store(name, "application/octet-stream", [content]).digest != digest:
        raise Invalid("a file in the export is not what it says", hint="Export it again.")


def _free_world(importer: Importer, file: WorldFile) -> str:
    """The id of the world: its own, unless another world has it."""
    known = importer.ports.log.state(WORLD, world_stream(file.world_id))
    if known is None:
        return file.world_id
    with importer.ports.log.reading() as reader:
        is_ours = bool(reader.rows(_DERIVED, (importer.root, known.position)))
    return file.world_id if is_ours else f"wld-{digest_of(importer.import_id, file.world_id)}"


def _replay(importer: Importer, file: WorldFile, world_id: str, names: dict[str, str]) -> None:
    log, bus, _, __ = importer.ports
    log.create_tree(world_stream(world_id), actor=importer.by.actor)
    with log.reading() as reader:
        positions = _recorded(reader, world_id)
    for start in range(len(positions), len(file.facts), BATCH):
        part = file.facts[start : start + BATCH]
        drafts = tuple(_drafts(importer, part, positions, names))
        receipt = bus.do(x.ReplayFacts(world_id, drafts), by=importer.by)
        positions += [fact.position for fact in receipt.facts]
    lore = [
        msgspec.structs.replace(one, audience=tuple(names.get(each, each) for each in one.audience))
        for one in file.lore
    ]
    bus.do_many([s.SetLoreEntry(world_id, one, (importer.root,)) for one in lore], by=importer.by)


def _recorded(reader: Reader, world_id: str) -> list[int]:
    return [fact.position for fact in world_facts(reader, world_id)]


def _drafts(
    importer: Importer, part: tuple[FileFact, ...], positions: list[int], names: dict[str, str]
) -> Iterator[Draft]:
    done = len(positions)
    for number, fact in enumerate(part):
        data = rename_ids(fact.data, names) if names else fact.data
        if not all(0 <= each < done + number for each in fact.because):
            raise Invalid("a fact in the export follows from a later one", hint="Export it again.")
        because = tuple(positions[each] for each in fact.because if each < done)
        beside = tuple(each - done for each in fact.because if each >= done)
        root = () if because or beside else (importer.root,)
        yield Draft(msgspec.structs.replace(fact, data=data).event(), because or root, beside)


_DERIVED = f"""
SELECT 1 FROM log_because b JOIN log l ON l.position = b.dependant
WHERE b.source = ? AND b.dependant = ? AND {visible("l")}
"""  # noqa: S608 - our own condition
