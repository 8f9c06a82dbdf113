"""History operations: fork, switch branch, rewind, retract, purge, and a preview of each.

Each operation appends a fact like any other. Only a purge erases something, and its fact says so.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from itertools import count

from everloop.errors import Conflict, Invalid, NotFound
from everloop.log.history.impact_preview import (
    Impact,
    purge_impact,
    retraction_impact,
    rewind_impact,
)
from everloop.log.maintenance.backup import BackupRotation
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
from everloop.log.write.append import Draft, Receipt, TransactionContext
from everloop.ports import Ids

BACKUP_TRIES = 3  # backups before a purge, if what it would erase grows meanwhile


class HistoryOperations(ABC):
    """The operations of a log that change history: branches, retractions, purges."""

    file: LogFile
    ids: Ids
    backups: BackupRotation | None

    @abstractmethod
    def decide(
        self,
        stream: str,
        decision: Callable[[TransactionContext], Sequence[Draft]],
        *,
        actor: str,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Run a decision inside the write transaction and append the events it returns."""

    @abstractmethod
    def scrub(self) -> None:
        """Rewrite the file so that no trace of erased text remains in it."""

    def create_tree(self, *roots: str, actor: str, request_id: str | None = None) -> Receipt:
        """Create a separate tree for the streams named `root` and `root:…`, for each root."""

        def decide(_: TransactionContext) -> list[Draft]:
            new = [root for root in dict.fromkeys(roots) if root not in self.file.branches]
            return [Draft(BranchPlanted(branch=root)) for root in new]

        return self._append_to_log_stream(decide, actor, request_id)

    def fork(
        self,
        *,
        parent: str = MAIN,
        at: int | None = None,
        name: str | None = None,
        actor: str,
        request_id: str | None = None,
    ) -> Receipt:
        """Create a branch that sees `parent` up to position `at` (by default, all of it so far)."""
        chosen = name or self.ids.new("branch")

        def decide(desk: TransactionContext) -> list[Draft]:
            return [Draft(self._fork_event(desk, chosen, parent, at))]

        return self._append_to_log_stream(decide, actor, request_id)

    def switch_branch(self, branch: str, *, actor: str, request_id: str | None = None) -> Receipt:
        """Switch a tree to a branch. Nothing is lost: the other branches stay."""

        def decide(_: TransactionContext) -> list[Draft]:
            line = self.file.branches[branch]
            if self.file.branches.current[line.root] == branch:
                return []
            return [Draft(BranchStood(branch=branch))]

        return self._append_to_log_stream(decide, actor, request_id)

    def rewind(
        self,
        to: int,
        *,
        tree: str = MAIN,
        name: str | None = None,
        actor: str,
        request_id: str | None = None,
    ) -> Receipt:
        """Go back to a position: fork there and switch to the fork. The old branch stays."""
        chosen = name or self.ids.new("branch")

        def decide(desk: TransactionContext) -> list[Draft]:
            fork = self._fork_event(desk, chosen, self._current_branch(tree), to)
            return [Draft(fork), Draft(BranchStood(branch=chosen))]

        return self._append_to_log_stream(decide, actor, request_id)

    def preview_rewind(self, to: int, *, tree: str = MAIN) -> Impact:
        """Preview a rewind: which facts would stop counting, and which would count again."""
        with self.file.reading() as reader:
            _require_position(to, reader.head())
            line = self.file.branches[self._current_branch(tree)]
            return rewind_impact(reader, to, line, self.file.branches.sight())

    def preview_retract(self, positions: Sequence[int]) -> Impact:
        """Preview a retraction of these facts on the current branch."""
        with self.file.reading() as reader:
            branch = self._current_branch_of(reader, positions)
            return retraction_impact(reader, positions, self.file.branches.sight_from(branch))

    def retract(
        self,
        positions: Sequence[int],
        *,
        reason: str,
        actor: str,
        branch: str | None = None,
        request_id: str | None = None,
    ) -> Receipt:
        """Make facts and all derived from them stop counting. To undo, retract the retraction.

        They stop counting on a branch; by default, on the current one of their tree.
        """
        with self.file.reading() as reader:
            branch = branch or self._current_branch_of(reader, positions)

        def decide(desk: TransactionContext) -> list[Draft]:
            retraction_impact(desk.reader, positions, desk.sight)
            return [Draft(Retracted(positions=tuple(positions), reason=reason))]

        return self._append_to_log_stream(decide, actor, request_id, branch=branch)

    def preview_purge(self, positions: Sequence[int]) -> Impact:
        """Preview a purge: the payloads it would erase."""
        with self.file.reading() as reader:
            return purge_impact(reader, positions)

    def purge(
        self, positions: Sequence[int], *, reason: str, actor: str, request_id: str | None = None
    ) -> Receipt:
        """Erase the payloads of these facts and of all derived from them, for good.

        Raises:
            Conflict: new derived facts kept arriving while the backup before it was made.
        """
        receipt = self._purge(positions, reason, actor, request_id)
        self.scrub()
        return receipt

    def _purge(
        self, positions: Sequence[int], reason: str, actor: str, request_id: str | None
    ) -> Receipt:
        """Purge after a backup, which runs between two transactions so that nobody waits for it."""
        backed_up = 0  # the head of the backup

        def decide(desk: TransactionContext) -> list[Draft]:
            erased = tuple(
                touched.position for touched in purge_impact(desk.reader, positions).hides
            )
            if self.backups and max(erased, default=0) > backed_up:
                raise _NotBackedUp(
                    f"position {max(erased)} is in no backup yet", hint="Repeat the purge."
                )
            return [Draft(Purged(positions=erased, reason=reason))] if erased else []

        for tries in count(1):
            try:
                return self._append_to_log_stream(decide, actor, request_id)
            except _NotBackedUp:
                if self.backups is None or tries > BACKUP_TRIES:
                    raise
                backed_up = self.backups.make_and_get_head()
        raise AssertionError("it returns or raises")

    def _fork_event(
        self, desk: TransactionContext, name: str, parent: str, at: int | None
    ) -> BranchForked:
        head = desk.reader.head()
        point = head if at is None else at
        if name in self.file.branches:
            raise Conflict(f"a branch named {name!r} already exists", hint="Choose another name.")
        _require_position(point, head)
        return BranchForked(branch=name, parent=self.file.branches[parent].name, at=point)

    def _current_branch(self, tree: str) -> str:
        """The current branch of a tree."""
        standing = self.file.branches.current.get(tree)
        if standing is None:
            raise NotFound(f"no tree {tree!r}", hint="`everloop log branches` lists them.")
        return standing

    def _current_branch_of(self, reader: Reader, positions: Sequence[int]) -> str:
        """The current branch of the tree that these facts belong to."""
        branches = self.file.branches
        roots = {branches[reader.record(position).branch].root for position in positions}
        if len(roots) > 1:
            raise Invalid(
                "these facts belong to several trees",
                hint="Retract the facts of each tree separately.",
            )
        return branches.current[roots.pop()] if roots else MAIN

    def _append_to_log_stream(
        self,
        decision: Callable[[TransactionContext], Sequence[Draft]],
        actor: str,
        request_id: str | None,
        *,
        branch: str = MAIN,
    ) -> Receipt:
        return self.decide(STREAM, decision, actor=actor, branch=branch, request_id=request_id)


class _NotBackedUp(Conflict):
    """The purge would erase something that is in no backup yet."""


def _require_position(point: int, head: int) -> None:
    if not 0 <= point <= head:
        raise Invalid(
            f"position {point} is not between 0 and {head}",
            hint="`everloop log tail` shows the newest positions.",
        )
