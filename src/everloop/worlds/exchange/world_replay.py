"""Imports an export of a world, a scene or a character: the same facts, recorded again.

Ids stay as they are where they are free. What was interrupted goes on where it was: each append has
a request id. Until all branches are there, the tree of the world stands on an empty branch, so
nothing is made from half of a story.
"""

import base64
import binascii
from collections.abc import Iterator, Sequence
from itertools import groupby

import msgspec

from everloop.errors import Invalid
from everloop.log import Command, Context, Draft, visible
from everloop.memory.model.commands import PinItem, RateItem, RememberItem, UnpinItem
from everloop.memory.model.events import PIVOTAL
from everloop.worlds.exchange.card_import import Importer
from everloop.worlds.exchange.import_report import digest_of
from everloop.worlds.exchange.model import commands as x
from everloop.worlds.exchange.world_json.file_format import (
    FactNumbers,
    FileCharacter,
    FileFact,
    FileMemory,
    WorldFile,
    decode_file,
    message_ids,
    rename_ids,
)
from everloop.worlds.model import story_events as s
from everloop.worlds.model.state import CHARACTER, character_stream, world_stream
from everloop.worlds.witness_memory import EVENT, event_memory_id, memory_id, new_memory

BATCH = 500  # facts recorded in one append
ENGINE = Context(actor="engine")
LORE = (s.LoreEntrySet.wire, s.LoreEntryRemoved.wire)  # in a stream of their own
NOT_HERE = "it does not count on this branch of the imported world"


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
    changed = {old: new for old, new in names.items() if old != new}
    count = WorldReplay(importer, file, world_id, changed).run()
    importer.worlds.append(world_id)
    branches = f" on {len(file.branches) + 1:,} branches" if file.branches else ""
    importer.report.keep(file.title, f"{file.scope} with {count:,} facts{branches}")
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
    log, root = importer.ports.log, world_stream(file.world_id)
    for branch in log.branches.by_name.values():
        if branch.root == root:
            with log.reading(branch=branch.name) as reader:
                others = reader.rows(_OTHERS, (file.world_id, importer.root))
            if others:
                return f"wld-{digest_of(importer.import_id, file.world_id)}"
    return file.world_id


class WorldReplay:
    """Records the facts, memories and retractions of a file in a tree of their own."""

    def __init__(
        self, importer: Importer, file: WorldFile, world_id: str, names: dict[str, str]
    ) -> None:
        self._importer, self._log, self._bus = importer, importer.ports.log, importer.ports.bus
        self._file, self._world_id, self._names = file, world_id, names
        self._branches = file.all_branches()
        self._numbers = FactNumbers(self._branches)
        self._positions: list[int] = []
        self._mark = digest_of(importer.import_id, str(importer.root), world_id)
        self._root = world_stream(world_id)

    def run(self) -> int:
        """Record all of it; returns how many facts there are."""
        self._log.create_tree(self._root, actor=self._actor)
        self._stand_on_empty_branch()
        for place, branch in enumerate(self._branches):
            if place:
                self._fork(place)
            self._record(branch.facts, self._name(place))
        self._record_lore()
        self._finish()
        return len(self._positions)

    @property
    def _actor(self) -> str:
        return self._importer.by.actor

    def _name(self, place: int) -> str:
        return f"branch-{self._mark}-{place}" if place else self._root

    def _request(self, step: str) -> str:
        return f"import-{self._mark}-{step}"

    def _stand_on_empty_branch(self) -> None:
        name, step = f"branch-{self._mark}-import", self._request("empty")
        self._log.fork(parent=self._root, name=name, actor=self._actor, request_id=step)
        self._stand(name, "begin")

    def _stand(self, branch: str, step: str) -> None:
        name = self._request(f"stand-{step}")
        self._log.switch_branch(branch, actor=self._actor, request_id=name)

    def _fork(self, place: int) -> None:
        after = self._branches[place].after
        self._log.fork(
            parent=self._name(self._numbers.branch_of(after)),
            at=self._positions[after],
            name=self._name(place),
            actor=self._actor,
            request_id=self._request(f"fork-{place}"),
        )

    def _record(self, facts: Sequence[FileFact], branch: str) -> None:
        for about_lore, run in groupby(facts, key=lambda fact: fact.kind in LORE):
            of_stream = list(run)
            for start in range(0, len(of_stream), BATCH):
                drafts = tuple(self._drafts(of_stream[start : start + BATCH]))
                self._append(drafts, branch, about_lore=about_lore)

    def _append(self, drafts: tuple[Draft, ...], branch: str, *, about_lore: bool) -> None:
        replay = x.ReplayLore if about_lore else x.ReplayFacts
        step = self._request(f"{len(self._positions)}")
        command = replay(self._world_id, drafts)
        receipt = self._bus.do(command, by=self._importer.by, branch=branch, request_id=step)
        self._positions += [fact.position for fact in receipt.facts]

    def _drafts(self, part: Sequence[FileFact]) -> Iterator[Draft]:
        done = len(self._positions)
        for fact in part:
            data = rename_ids(fact.data, self._names) if self._names else fact.data
            because = tuple(self._positions[each] for each in fact.because if each < done)
            beside = tuple(each - done for each in fact.because if each >= done)
            root = () if because or beside else (self._importer.root,)
            yield Draft(msgspec.structs.replace(fact, data=data).event(), because or root, beside)

    def _record_lore(self) -> None:
        """Record the lore of a scene, or of a file of version 1, on the first branch."""
        set_facts = tuple(
            Draft(s.LoreEntrySet(self._world_id, self._heard_by(entry)), (self._importer.root,))
            for entry in self._file.lore
        )
        if set_facts:
            step = self._request("lore")
            command = x.ReplayLore(self._world_id, set_facts)
            self._bus.do(command, by=self._importer.by, branch=self._root, request_id=step)

    def _heard_by(self, entry: s.LoreEntry) -> s.LoreEntry:
        return msgspec.structs.replace(entry, audience=self._people(entry.audience))

    def _people(self, named: Sequence[str]) -> tuple[str, ...]:
        return tuple(self._names.get(who, who) for who in named)

    def _finish(self) -> None:
        """Store what is remembered, hide what does not count on a branch, and go to the current."""
        memories: dict[int, list[tuple[int, FileMemory]]] = {}
        for number, memory in enumerate(self._file.memories):
            place = self._numbers.branch_of(max(memory.because))
            memories.setdefault(place, []).append((number, memory))
        for place, branch in enumerate(self._branches):
            if place in memories or branch.without:
                self._stand(self._name(place), f"{place}")
                self._remember(memories.get(place, []))
            if branch.without:
                self._log.retract(
                    [self._positions[each] for each in branch.without],
                    reason=NOT_HERE,
                    actor=self._actor,
                    request_id=self._request(f"without-{place}"),
                )
        self._stand(self._name(self._file.current), "end")

    def _remember(self, memories: Sequence[tuple[int, FileMemory]]) -> None:
        items = [(memory, self._item(number, memory)) for number, memory in memories]
        self._bus.do_many([item for _, item in items], by=ENGINE)
        marks = [mark for memory, item in items for mark in _marks(memory, item.item_id)]
        self._bus.do_many(marks, by=ENGINE)

    def _item(self, number: int, memory: FileMemory) -> RememberItem:
        because = tuple(self._positions[each] for each in memory.because)
        message_id = self._names.get(memory.message_id, memory.message_id)
        own_id = f"mem-{digest_of(self._mark, str(number))}"
        item_id = memory_id(own_id, message_id) if message_id else own_id
        return new_memory(
            self._world_id,
            event_memory_id(because[0]) if memory.kind == EVENT else item_id,
            memory.text,
            kind=memory.kind,
            witnesses=self._people(memory.witnesses),
            clock=memory.clock,
            scene_id=memory.scene_id,
            because=because,
        )


def _marks(memory: FileMemory, item_id: str) -> Iterator[Command]:
    """What makes a memory matter as much as it did, with or without a pin."""
    if memory.significance:
        yield RateItem(item_id, memory.significance)
    if memory.pinned and memory.significance != PIVOTAL:
        yield PinItem(item_id)
    if memory.significance == PIVOTAL and not memory.pinned:
        yield UnpinItem(item_id)


_OTHERS = f"""
SELECT 1 FROM world_worlds w WHERE w.world_id = ?1 AND w.act = 'opened' AND {visible("w")}
AND NOT EXISTS (SELECT 1 FROM log_because b WHERE b.source = ?2 AND b.dependant = w.position)
"""  # noqa: S608 - our own condition
