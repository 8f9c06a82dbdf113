"""The facts of a world: those that count on the current branch, and the tree of all branches."""

from bisect import bisect_right
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Final

import msgspec

from everloop.errors import NotFound
from everloop.log import Event, Log, Reader, visible
from everloop.log.model.branches import Branch, Sight
from everloop.log.model.event import decode
from everloop.log.read.folded_state import hidden_positions
from everloop.worlds.model import events as e
from everloop.worlds.model.state import lore_stream, world_stream

SetSight = Callable[[int], bool]  # whether a position is in a sight that the reader has now
_TURNS: Final = (
    e.TurnRecorded,
    e.TurnSending,
    e.TurnStreaming,
    e.ReplySaved,
    e.TurnFailed,
    e.TurnLeftUncertain,
)


class StoredFact(msgspec.Struct, frozen=True):
    """A fact of a world as the log has it."""

    position: int
    kind: str
    schema: int
    data: str
    event: Event


def world_facts(reader: Reader, world_id: str) -> list[StoredFact]:
    """The facts of a world that count, in order, without turns and lore."""
    rows = reader.rows(_FACTS, (world_stream(world_id),))
    found = [_stored(*row) for row in rows]
    return [fact for fact in found if not isinstance(fact.event, _TURNS)]


class WorldTree:
    """The branches of a world, each with the facts that were recorded on it and count somewhere.

    `hidden` are facts in the lineage of a branch that do not count there. `current` is the place of
    the current branch; the first branch is the one on which the world was opened.
    """

    def __init__(self, log: Log, reader: Reader, world_id: str) -> None:
        self._reader = reader
        branches, root = log.branches, world_stream(world_id)
        streams = (root, lore_stream(world_id))
        recorded: dict[str, list[StoredFact]] = {}
        for branch, *row in reader.rows(_RECORDED, streams):
            recorded.setdefault(branch, []).append(_stored(*row))
        self._sights = {
            each.name: branches.sight_from(each.name)
            for each in branches.by_name.values()
            if each.root == root
        }
        self.hidden = {
            name: {at for stream in streams for at in hidden_positions(reader, stream, sight)}
            for name, sight in self._sights.items()
        }
        owner, opened = self._opened(recorded, branches[branches.current[root]])
        self.branches = [
            branches[name] for name, sight in self._sights.items() if sight.sees(owner, opened)
        ]
        self.current = [each.name for each in self.branches].index(branches.current[root])
        self.facts = {
            each.name: [
                fact
                for fact in recorded.get(each.name, ())
                if not isinstance(fact.event, _TURNS) and self._counts(each.name, fact.position)
            ]
            for each in self.branches
        }
        self._where = {fact.position: name for name, facts in self.facts.items() for fact in facts}

    def left_after(self, branch: Branch, numbers: dict[int, int]) -> int:
        """The number of the last fact that a branch shares with those it comes from."""
        for name, upto in islice(branch.lineage(), 1, None):
            before = self.facts.get(name, [])
            count = bisect_right(before, upto, key=_position)
            if count:
                return numbers[before[count - 1].position]
        return 0

    def sights(self) -> Iterator[SetSight]:
        """Set the reader's sight to each branch in turn, and say which positions are in it."""
        for branch in self.branches:
            sight = self._sights[branch.name]
            self._reader.use_sight(sight)
            yield self._sees(sight)

    def _sees(self, sight: Sight) -> SetSight:
        return lambda position: sight.sees(self._where[position], position)

    def _opened(self, recorded: dict[str, list[StoredFact]], current: Branch) -> tuple[str, int]:
        """The branch and position where the world was opened that counts on the current branch."""
        for name, upto in current.lineage():
            for fact in recorded.get(name, ()):
                counts = fact.position <= upto and fact.position not in self.hidden[current.name]
                if counts and isinstance(fact.event, e.WorldOpened):
                    return name, fact.position
        raise NotFound("the world has no beginning", hint="`everloop worlds` lists them.")

    def _counts(self, owner: str, position: int) -> bool:
        """Whether a fact counts on some branch."""
        return position not in self.hidden[owner] or any(
            self._sights[each.name].sees(owner, position) and position not in self.hidden[each.name]
            for each in self.branches
        )


def _position(fact: StoredFact) -> int:
    return fact.position


def _stored(position: int, kind: str, schema: int, data: str) -> StoredFact:
    return StoredFact(position, kind, schema, data, decode(kind, schema, data))


_FACTS = f"""
SELECT l.position, l.kind, l.schema, l.data FROM log l
WHERE l.stream = ? AND l.data IS NOT NULL AND {visible("l")} ORDER BY l.position
"""  # noqa: S608 - our own condition
_RECORDED = """
SELECT l.branch, l.position, l.kind, l.schema, l.data FROM log l
WHERE l.stream IN (?, ?) AND l.data IS NOT NULL ORDER BY l.position
"""
