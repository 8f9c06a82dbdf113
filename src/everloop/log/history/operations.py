"""Changing history without losing it: branches, standing, rewinding, retracting, purging.

Each of these is a fact like any other. Only a purge erases something, and it says so.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log.history.impact import Impact, purge_impact, retraction_impact, rewind_impact
from everloop.log.maintenance.backup import Backups
from everloop.log.model.branches import MAIN
from everloop.log.model.facts import (
    STREAM,
    BranchForked,
    BranchPlanted,
    BranchStood,
    Purged,
    Retracted,
)
from everloop.log.read.reader import Reader
from everloop.log.sqlite.file import LogFile
from everloop.log.write.append import Desk, Draft, Receipt
from everloop.ports import Ids

KEEP_TRIES = 3  # backups before a purge, if what it erases grows meanwhile


class History(ABC):
    """The part of a log that branches and takes back."""

    file: LogFile
    ids: Ids
    backups: Backups | None

    @abstractmethod
    def decide(
        self,
        stream: str,
        decision: Callable[[Desk], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Run a decision inside the writing transaction and record what it leads to."""

    @abstractmethod
    def scrub(self) -> None:
        """Rewrite the file, so that no trace of erased text is left in it."""

    def plant(self, *roots: str, actor: str, request_id: str | None = None) -> Receipt:
        """Begin a tree of its own for the streams named `root` and `root:…`, for each root."""

        def decide(_: Desk) -> list[Draft]:
            new = [root for root in dict.fromkeys(roots) if root not in self.file.branches]
            return [Draft(BranchPlanted(branch=root)) for root in new]

        return self._log_work(decide, actor, request_id)

    def fork(
        self,
        *,
        parent: str = MAIN,
        at: int | None = None,
        name: str | None = None,
        actor: str,
        request_id: str | None = None,
    ) -> Receipt:
        """Begin a branch that sees `parent` up to position `at` (by default, all of it so far)."""
        chosen = name or self.ids.new("branch")

        def decide(desk: Desk) -> list[Draft]:
            return [Draft(self._forked(desk, chosen, parent, at))]

        return self._log_work(decide, actor, request_id)

    def stand(self, branch: str, *, actor: str, request_id: str | None = None) -> Receipt:
        """Make a branch the present of its tree. Nothing is lost: the others stay reachable."""

        def decide(_: Desk) -> list[Draft]:
            line = self.file.branches[branch]
            if self.file.branches.standing[line.root] == branch:
                return []
            return [Draft(BranchStood(branch=branch))]

        return self._log_work(decide, actor, request_id)

    def rewind(
        self,
        to: int,
        *,
        tree: str = MAIN,
        name: str | None = None,
        actor: str,
        request_id: str | None = None,
    ) -> Receipt:
        """Go back to a position: fork there and stand on the fork. The old future stays."""
        chosen = name or self.ids.new("branch")

        def decide(desk: Desk) -> list[Draft]:
            fork = self._forked(desk, chosen, self._standing(tree), to)
            return [Draft(fork), Draft(BranchStood(branch=chosen))]

        return self._log_work(decide, actor, request_id)

    def preview_rewind(self, to: int, *, tree: str = MAIN) -> Impact:
        """What would no longer count after going back to a position, and what would again."""
        with self.file.reading() as reader:
            _check_there(to, reader.head())
            line = self.file.branches[self._standing(tree)]
            return rewind_impact(reader, to, line, self.file.branches.sight())

    def preview_retract(self, positions: Sequence[int]) -> Impact:
        """What retracting these facts would change, as it stands now."""
        with self.file.reading() as reader:
            branch = self._tree_of(reader, positions)
            return retraction_impact(reader, positions, self.file.branches.standing_with(branch))

    def retract(
        self, positions: Sequence[int], *, reason: str, actor: str, request_id: str | None = None
    ) -> Receipt:
        """Make facts and all that was derived from them stop counting. Retract that to undo it."""
        with self.file.reading() as reader:
            branch = self._tree_of(reader, positions)

        def decide(desk: Desk) -> list[Draft]:
            retraction_impact(desk.reader, positions, desk.sight)
            return [Draft(Retracted(positions=tuple(positions), reason=reason))]

        return self._log_work(decide, actor, request_id, branch=branch)

    def preview_purge(self, positions: Sequence[int]) -> Impact:
        """Whose payloads a purge would erase."""
        with self.file.reading() as reader:
            return purge_impact(reader, positions)

    def purge(
        self, positions: Sequence[int], *, reason: str, actor: str, request_id: str | None = None
    ) -> Receipt:
        """Erase payloads for good: theirs, and those of all that was derived from them.

        Raises:
            Conflict: what it would erase grew faster than a backup of it could be made.
        """
        receipt = self._purge(positions, reason, actor, request_id)
        self.scrub()
        return receipt

    def _purge(
        self, positions: Sequence[int], reason: str, actor: str, request_id: str | None
    ) -> Receipt:
        """Purge what a backup holds. It is made between two decisions, so nobody waits for it."""
        kept = 0  # how far it goes

        def decide(desk: Desk) -> list[Draft]:
            erased = tuple(
                touched.position for touched in purge_impact(desk.reader, positions).hides
            )
            if self.backups and max(erased, default=0) > kept:
                raise _NotKept(
                    f"position {max(erased)} is in no backup yet", hint="Purge once more."
                )
            return [Draft(Purged(positions=erased, reason=reason))] if erased else []

        for tries in count(1):
            try:
                return self._log_work(decide, actor, request_id)
            except _NotKept:
                if self.backups is None or tries > KEEP_TRIES:
                    raise
                kept = self.backups.keep()
        raise AssertionError("it returns or raises")

    def _forked(self, desk: Desk, name: str, parent: str, at: int | None) -> BranchForked:
        head = desk.reader.head()
        point = head if at is None else at
        if name in self.file.branches:
            raise Conflict(f"there is a branch {name!r} already", hint="Choose another name.")
        _check_there(point, head)
        return BranchForked(branch=name, parent=self.file.branches[parent].name, at=point)

    def _standing(self, tree: str) -> str:
        """The branch on which a tree stands."""
        standing = self.file.branches.standing.get(tree)
        if standing is None:
            raise NotFound(f"no tree {tree!r}", hint="`everloop log branches` lists them.")
        return standing

    def _tree_of(self, reader: Reader, positions: Sequence[int]) -> str:
        """The branch on which the tree of these facts stands."""
        branches = self.file.branches
        roots = {branches[reader.record(position).branch].root for position in positions}
        if len(roots) > 1:
            raise Invalid(
                "these facts belong to several trees",
                hint="Retract those of each tree by themselves.",
            )
        return branches.standing[roots.pop()] if roots else MAIN

    def _log_work(
        self,
        decision: Callable[[Desk], Sequence[Draft]],
        actor: str,
        request_id: str | None,
        *,
        branch: str = MAIN,
    ) -> Receipt:
        return self.decide(STREAM, decision, actor=actor, branch=branch, request_id=request_id)


class _NotKept(Conflict):
    """Something would be erased that the backup for this purge does not hold."""


def _check_there(point: int, head: int) -> None:
    if not 0 <= point <= head:
        raise Invalid(
            f"position {point} is not between 0 and {head}",
            hint="`everloop log tail` shows the newest positions.",
        )
