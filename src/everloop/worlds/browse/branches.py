"""Branches of a world: list them as a tree, compare two of them side by side."""

import msgspec

from everloop.errors import Invalid, NotFound
from everloop.log import Log, visible
from everloop.log.model.branches import Branch
from everloop.worlds.model.state import WORLD, World, world_stream
from everloop.worlds.queries import StoryMessage, opening_clock, story_messages

COMPARED_MAX = 500  # messages of a branch that a comparison reads


class WorldBranch(msgspec.Struct, frozen=True):
    """A branch of a world: its parent, where it left it, its newest message, how many are its own.

    `left_after` is the message after which it left its parent.
    """

    branch: str
    parent: str
    at: int
    current: bool
    left_after: str
    newest: StoryMessage | None
    own: int


class WorldComparison(msgspec.Struct, frozen=True):
    """Two branches: the last message they share, what each has after it, and each one's state."""

    shared: StoryMessage | None
    first: tuple[StoryMessage, ...]
    second: tuple[StoryMessage, ...]
    first_world: World
    second_world: World


def world_branches(log: Log, world_id: str) -> list[WorldBranch]:
    """Every branch of a world, the main branch first.

    Raises:
        NotFound: there is no such world.
    """
    tree = world_stream(world_id)
    if tree not in log.branches:
        raise NotFound(f"no world {world_id!r}", hint="`everloop worlds` lists them.")
    current = log.branches.current[tree]
    own = [branch for branch in log.branches.by_name.values() if branch.root == tree]
    found = [_load(log, world_id, branch, current) for branch in own]
    return [one for one in found if one is not None]


def compare_world_branches(log: Log, world_id: str, first: str, second: str) -> WorldComparison:
    """Compare two branches of a world.

    Raises:
        Invalid: one of them is not a branch of this world.
    """
    one, two = (_messages(log, world_id, branch) for branch in (first, second))
    shared = 0
    while shared < min(len(one), len(two)) and _same(one[shared], two[shared]):
        shared += 1
    states = [_world(log, world_id, branch) for branch in (first, second)]
    last = one[shared - 1] if shared else None
    return WorldComparison(last, tuple(one[shared:]), tuple(two[shared:]), *states)


def check_branch(log: Log, world_id: str, branch: str) -> None:
    """Check that a branch is one of this world.

    Raises:
        Invalid: it is not.
    """
    if branch not in log.branches.by_name or log.branches[branch].root != world_stream(world_id):
        raise Invalid(
            f"{branch!r} is not a branch of world {world_id!r}",
            hint="Choose one of its branches.",
        )


def _same(one: StoryMessage, two: StoryMessage) -> bool:
    return (one.message_id, one.chosen, one.text) == (two.message_id, two.chosen, two.text)


def _load(log: Log, world_id: str, branch: Branch, current: str) -> WorldBranch | None:
    """A branch; None if the world is not there: while it is imported, or after an undo of that."""
    with log.reading(branch=branch.name) as reader:
        if not opening_clock(reader, world_id):
            return None
        newest = story_messages(reader, world_id, limit=1)
        own = reader.rows(_OWN_COUNT, (world_id, branch.name))[0][0]
        left = reader.rows(_LEFT_AFTER, (world_id, branch.at)) if branch.parent else []
    return WorldBranch(
        branch.name,
        branch.parent.name if branch.parent else "",
        branch.at,
        branch.name == current,
        left[0][0] if left else "",
        newest[0] if newest else None,
        own,
    )


def _messages(log: Log, world_id: str, branch: str) -> list[StoryMessage]:
    check_branch(log, world_id, branch)
    with log.reading(branch=branch) as reader:
        return story_messages(reader, world_id, limit=COMPARED_MAX)


def _world(log: Log, world_id: str, branch: str) -> World:
    known = log.state(WORLD, world_stream(world_id), branch=branch)
    if known is None:
        raise NotFound(f"no world {world_id!r}", hint="`everloop worlds` lists them.")
    return known


_OWN_COUNT = f"""
SELECT count(DISTINCT m.message_id) FROM world_messages m
WHERE m.world_id = ? AND m.branch = ? AND m.act IN ('written', 'rendered') AND {visible("m")}
"""  # noqa: S608 - our own condition
_LEFT_AFTER = f"""
SELECT m.message_id FROM world_messages m
WHERE m.world_id = ? AND m.position <= ? AND m.act IN ('written', 'rendered') AND {visible("m")}
ORDER BY m.position DESC LIMIT 1
"""  # noqa: S608 - our own condition
