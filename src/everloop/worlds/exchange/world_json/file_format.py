"""The format of our own exports: a world, a scene or a character as one JSON file.

It has facts of the story in order, as they count, branch by branch. Facts are numbered through the
whole file: those of the first branch, then those of the others. `because` of a fact, where a branch
left another, and what a memory was made of are such numbers. Turns that a model took leave only
their replies, and what was retracted on every branch is not in the file.
"""

from bisect import bisect_right
from collections.abc import Iterator
from itertools import accumulate
from typing import Final, Literal, cast

import msgspec

from everloop.errors import EverloopError, Invalid
from everloop.log import Event
from everloop.log.model.event import decode
from everloop.worlds.exchange.formats.json_text import JsonObject, as_object
from everloop.worlds.model import events as e
from everloop.worlds.model import story_events as s
from everloop.worlds.model.values import PLAYER, CharacterSheet

FORMAT: Final = "everloop.world"  # how the JSON of our own exports begins
VERSION: Final = 2  # 1 had the current branch alone, and no memories
AGAIN: Final = "Export it again."
Scope = Literal["world", "scene", "character"]


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


class FileBranch(msgspec.Struct, frozen=True, omit_defaults=True):
    """A branch that left another one after a fact.

    `without` are facts before it, or its own, that do not count here but on another branch; what
    follows from them does not count either.
    """

    after: int = 0
    facts: tuple[FileFact, ...] = ()
    without: tuple[int, ...] = ()


class FileMemory(msgspec.Struct, frozen=True, omit_defaults=True):
    """What people of the world remember, and the facts that it was made of."""

    text: str
    kind: str
    clock: str
    witnesses: tuple[str, ...]
    because: tuple[int, ...]
    scene_id: str = ""
    message_id: str = ""
    significance: int = 0
    pinned: bool = False


class WorldFile(msgspec.Struct, frozen=True, omit_defaults=True):
    """The content of an export. `facts` are those of the first branch; `current` counts from it."""

    format: str
    version: int
    scope: Scope
    title: str
    world_id: str = ""
    characters: tuple[FileCharacter, ...] = ()
    facts: tuple[FileFact, ...] = ()
    lore: tuple[s.LoreEntry, ...] = ()  # where facts about lore are not among the facts
    without: tuple[int, ...] = ()
    branches: tuple[FileBranch, ...] = ()
    current: int = 0
    memories: tuple[FileMemory, ...] = ()

    def all_branches(self) -> tuple[FileBranch, ...]:
        """Every branch, the first one included."""
        return (FileBranch(0, self.facts, self.without), *self.branches)

    def all_facts(self) -> Iterator[FileFact]:
        """Every fact, in the order of the numbers."""
        for branch in self.all_branches():
            yield from branch.facts


class FactNumbers:
    """Which fact of a file lies on which branch, and which branches have it."""

    def __init__(self, branches: tuple[FileBranch, ...]) -> None:
        self._left_after = [branch.after for branch in branches]
        ends = list(accumulate(len(branch.facts) for branch in branches))
        self.starts, self.count = [0, *ends[:-1]], ends[-1]

    def branch_of(self, number: int) -> int:
        """The branch on which a fact was recorded."""
        return bisect_right(self.starts, number) - 1

    def has(self, branch: int, number: int) -> bool:
        """Whether a fact lies on a branch or on those it comes from, before they parted."""
        owner, upto = self.branch_of(number), self.count - 1
        while branch > owner:
            upto = self._left_after[branch]
            branch = self.branch_of(upto)
        return branch == owner and number <= upto


def encode_file(file: WorldFile) -> bytes:
    """The file as JSON."""
    return msgspec.json.format(msgspec.json.encode(file), indent=1)


def decode_file(content: bytes) -> WorldFile:
    """The content of an export.

    Raises:
        Invalid: it is none, damaged, or of a newer version.
    """
    try:
        file = msgspec.json.decode(content, type=WorldFile)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as problem:
        raise Invalid(f"the export is damaged: {problem}", hint=AGAIN) from None
    if file.format != FORMAT or file.version > VERSION:
        raise Invalid(
            f"the export has version {file.version}, and this program reads {VERSION}",
            hint="Update Everloop.",
        )
    if file.scope != "character":
        _check_numbers(file)
    return file


def _check_numbers(file: WorldFile) -> None:
    """Check that every number in a file is that of a fact that can be meant there."""
    branches = file.all_branches()
    if not file.facts or not 0 <= file.current < len(branches):
        raise Invalid("the export has no story, or no current branch", hint=AGAIN)
    numbers = FactNumbers(branches)
    for place, branch in enumerate(branches):
        first = numbers.starts[place]
        if place and not 0 <= branch.after < first:
            raise Invalid(f"branch {place} of the export leaves no other branch", hint=AGAIN)
        for number, fact in enumerate(branch.facts, start=first):
            if not all(0 <= each < number and numbers.has(place, each) for each in fact.because):
                raise Invalid(
                    f"fact {number} of the export follows from one that comes later or lies on"
                    " another branch",
                    hint=AGAIN,
                )
        if not all(
            0 < each < numbers.count and numbers.has(place, each) for each in branch.without
        ):
            raise Invalid(f"branch {place} of the export leaves out what it has not", hint=AGAIN)
    for memory in file.memories:
        if not memory.because or not all(0 <= each < numbers.count for each in memory.because):
            raise Invalid("a memory in the export was made of nothing in it", hint=AGAIN)


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
    for fact in file.all_facts():
        if fact.kind in (e.MessageWritten.wire, e.VersionRendered.wire):
            found.add(str(as_object(msgspec.json.decode(fact.data)).get("message_id", "")))
    return found - {"", PLAYER}
