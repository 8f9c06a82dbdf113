"""Branches: which part of the log each reader sees.

A branch is one row, however long the history: its parent, and the position after which it left the
parent. Its lineage is its own records plus those of its ancestors up to where it left them. Every
tree has a root; streams named after a root belong to its tree, all others to `main`. So rewinding
one conversation or one world does not affect the rest.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from everloop.errors import NotFound

MAIN = "main"
POSITION_MAX = 2**62  # a cap above every position


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of history. `parent` is the ancestor that contains position `at`."""

    name: str
    root: str
    parent: "Branch | None" = None
    at: int = 0

    def lineage(self) -> Iterator[tuple[str, int]]:
        """This branch and its ancestors, each with the highest position seen on it."""
        node, cap = self, POSITION_MAX
        while True:
            yield node.name, cap
            if node.parent is None:
                return
            node, cap = node.parent, node.at


@dataclass(frozen=True)  # without slots: `key` is cached
class Sight:
    """The visible part of the log: for each visible branch, the highest position."""

    caps: dict[str, int]
    upto: int = POSITION_MAX

    @cached_property
    def key(self) -> tuple[tuple[str, int], ...]:
        """A hashable key that is equal for equal sights."""
        return tuple(sorted(self.caps.items()))

    def sees(self, branch: str, position: int) -> bool:
        """Whether a position on a branch is visible. Does not check retractions."""
        return position <= self.caps.get(branch, -1)


@dataclass(slots=True)
class Branches:
    """All branches and the current one of each tree, folded from the log's branch facts."""

    by_name: dict[str, Branch] = field(default_factory=lambda: {MAIN: Branch(MAIN, MAIN)})
    current: dict[str, str] = field(default_factory=lambda: {MAIN: MAIN})
    _current_sight: list[Sight] = field(default_factory=list[Sight], repr=False, compare=False)

    def add_root(self, name: str) -> None:
        """Add a root branch, which starts a new tree."""
        self.by_name[name] = Branch(name, name)
        self.current[name] = name
        self._current_sight = []

    def add_fork(self, name: str, parent: str, at: int) -> None:
        """Add a fork. If it starts before its parent did, the ancestor becomes its parent."""
        node = self[parent]
        while node.parent is not None and at <= node.at:
            node = node.parent
        self.by_name[name] = Branch(name, node.root, node, at)

    def switch(self, name: str) -> None:
        """Make a branch the current one of its tree."""
        self.current[self[name].root] = name
        self._current_sight = []

    def __getitem__(self, name: str) -> Branch:
        """The branch of that name.

        Raises:
            NotFound: there is no such branch.
        """
        try:
            return self.by_name[name]
        except KeyError:
            raise NotFound(
                f"no branch {name!r}", hint="`everloop log branches` lists them."
            ) from None

    def __contains__(self, name: str) -> bool:
        """Whether there is a branch of that name."""
        return name in self.by_name

    def root_of(self, stream: str) -> str:
        """The root of a stream's tree: the longest root that is the name or a prefix of it."""
        name = stream
        while name and name not in self.current:  # its keys are the roots
            name = name.rpartition(":")[0]
        return name or MAIN

    def current_branch_of(self, stream: str) -> Branch:
        """The current branch of a stream's tree, to which new facts of the stream go."""
        return self.by_name[self.current[self.root_of(stream)]]

    def sight(self, names: Iterable[str] | None = None, upto: int = POSITION_MAX) -> Sight:
        """What these branches see together; by default, the current branch of every tree."""
        cached = self._current_sight  # read once: a concurrent switch replaces the list
        if names is None and upto == POSITION_MAX and cached:
            return cached[0]
        caps: dict[str, int] = {}
        for name in tuple(self.current.values()) if names is None else names:
            for branch, cap in self[name].lineage():
                caps[branch] = min(upto, max(cap, caps.get(branch, -1)))
        sight = Sight(caps, upto)
        if names is None and upto == POSITION_MAX:
            cached.append(sight)
        return sight

    def sight_from(self, branch: str) -> Sight:
        """What is visible if `branch` were the current one of its tree; other trees as they are."""
        root = self[branch].root
        if self.current[root] == branch:
            return self.sight()
        return self.sight({**self.current, root: branch}.values())
