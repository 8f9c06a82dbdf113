"""Branches: who sees which part of the log.

A branch is one row, whatever the history: its parent and the position after which it left it. What
it sees is its lineage: its own records, and its ancestors' up to where the line left them. Each
tree has a root; the streams named after a root live in its tree, all others in `main`. So
rewinding one conversation or one world leaves everything else where it is.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from functools import cached_property

from everloop.errors import NotFound

MAIN = "main"
ALL = 2**62  # a cap above every position


@dataclass(frozen=True, slots=True)
class Branch:
    """A line of history. `parent` is already the ancestor on which `at` lies."""

    name: str
    root: str
    parent: "Branch | None" = None
    at: int = 0

    def lineage(self) -> Iterator[tuple[str, int]]:
        """This branch and its ancestors, each with the highest position seen on it."""
        node, cap = self, ALL
        while True:
            yield node.name, cap
            if node.parent is None:
                return
            node, cap = node.parent, node.at


@dataclass(frozen=True)  # without slots: `key` is kept
class Sight:
    """What can be seen: for each branch in view, the highest position."""

    caps: dict[str, int]
    upto: int = ALL

    @cached_property
    def key(self) -> tuple[tuple[str, int], ...]:
        """Equal for equal sights."""
        return tuple(sorted(self.caps.items()))

    def sees(self, branch: str, position: int) -> bool:
        """Whether a record there lies in the lineage. Retraction is another question."""
        return position <= self.caps.get(branch, -1)


@dataclass(slots=True)
class Branches:
    """All branches, and on which one each tree stands: the fold of the log's branch facts."""

    by_name: dict[str, Branch] = field(default_factory=lambda: {MAIN: Branch(MAIN, MAIN)})
    standing: dict[str, str] = field(default_factory=lambda: {MAIN: MAIN})
    _standing: list[Sight] = field(default_factory=list[Sight], repr=False, compare=False)

    def plant(self, name: str) -> None:
        """Take in a new root."""
        self.by_name[name] = Branch(name, name)
        self.standing[name] = name
        self._standing = []

    def fork(self, name: str, parent: str, at: int) -> None:
        """Take in a fork. One that leaves before its parent began hangs on the right ancestor."""
        node = self[parent]
        while node.parent is not None and at <= node.at:
            node = node.parent
        self.by_name[name] = Branch(name, node.root, node, at)

    def stand(self, name: str) -> None:
        """Take in a move."""
        self.standing[self[name].root] = name
        self._standing = []

    def __getitem__(self, name: str) -> Branch:
        """The branch of that name.

        Raises:
            NotFound: there is none.
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
        """The tree a stream lives in: the longest root that names it or a part before a colon."""
        name = stream
        while name and name not in self.standing:  # its keys are the roots
            name = name.rpartition(":")[0]
        return name or MAIN

    def home_of(self, stream: str) -> Branch:
        """The branch on which a stream goes on now."""
        return self.by_name[self.standing[self.root_of(stream)]]

    def sight(self, names: Iterable[str] | None = None, upto: int = ALL) -> Sight:
        """What these branches see together; by default, where every tree stands."""
        kept = self._standing  # taken first: a move meanwhile begins another list
        if names is None and upto == ALL and kept:
            return kept[0]
        caps: dict[str, int] = {}
        for name in tuple(self.standing.values()) if names is None else names:
            for branch, cap in self[name].lineage():
                caps[branch] = min(upto, max(cap, caps.get(branch, -1)))
        made = Sight(caps, upto)
        if names is None and upto == ALL:
            kept.append(made)
        return made

    def standing_with(self, branch: str) -> Sight:
        """What one sees who stands on `branch` in its tree, and where one stands in all others."""
        root = self[branch].root
        if self.standing[root] == branch:
            return self.sight()
        return self.sight({**self.standing, root: branch}.values())
