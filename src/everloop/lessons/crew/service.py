"""The crew service: what the doors call to manage skills, personas and teams, and to install packs.

Every change is a command; every query is filtered by the principal's audience.
"""

from collections.abc import Callable, Sequence
from typing import Literal

import msgspec

from everloop.errors import NotFound, Rejected
from everloop.lessons.crew.commands import (
    ActivateEntry,
    ArchiveEntry,
    EnlistEntry,
    RemoveEntry,
    ReviseEntry,
)
from everloop.lessons.crew.events import Sort
from everloop.lessons.crew.pack import Pack, PackEntry, enlist_command, propose_command
from everloop.lessons.crew.queries import (
    EntrySummary,
    FullEntry,
    entry_summaries,
    find_entry,
    pack_counts,
)
from everloop.lessons.crew.state import CREW_ENTRY, entry_stream
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.service import LessonService
from everloop.log import CommandBus, Context, Log, Receipt
from everloop.memory.markdown.folder import PageProblem
from everloop.memory.projections.queries import load_viewer

ChangeKind = Literal["new", "changed", "unchanged", "known"]


class EntryResult(msgspec.Struct, frozen=True):
    """The outcome for an entry. `withheld`: it stays inactive until the user activates it.

    A lesson that was `known` has the pack's text now. `positions` are the recorded facts:
    retracting the first undoes all of them.
    """

    sort: str
    name: str
    what: ChangeKind
    status: str
    withheld: bool
    positions: tuple[int, ...] = ()


class PackResult(msgspec.Struct, frozen=True):
    """The outcome for a pack or a folder: each entry that was added, and each problem."""

    pack_id: str
    entries: tuple[EntryResult, ...]
    troubles: tuple[PageProblem, ...]


class CrewService:
    """Commands and queries on the crew, over one log."""

    def __init__(self, log: Log, bus: CommandBus, teacher: LessonService) -> None:
        self.log = log
        self._bus = bus
        self._teacher = teacher

    def entry_summaries(
        self, principal: str, sort: Sort, statuses: Sequence[str] = ("draft", "active")
    ) -> list[EntrySummary]:
        """The entries of a sort that the principal may see, by name."""
        with self.log.reading() as reader:
            return entry_summaries(reader, load_viewer(reader, principal), sort, statuses)

    def find_entry(self, principal: str, sort: Sort, name: str) -> FullEntry:
        """One entry in full, with the promoted lessons that target it.

        Raises:
            NotFound: there is none that the principal may see.
        """
        with self.log.reading() as reader:
            return find_entry(reader, load_viewer(reader, principal), sort, name)

    def pack_counts(self, principal: str) -> dict[str, dict[str, int]]:
        """The packs, each with how many visible entries of each sort it added."""
        with self.log.reading() as reader:
            return pack_counts(reader, load_viewer(reader, principal))

    def enlist(
        self, command: EnlistEntry, *, by: Context, request_id: str | None = None
    ) -> EntryResult:
        """Add a skill, persona or team.

        Raises:
            Conflict: there is one of that name.
        """
        receipt = self._bus.do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt, wanted=not command.draft)

    def revise(
        self, command: ReviseEntry, *, by: Context, request_id: str | None = None
    ) -> EntryResult:
        """Update an entry."""
        receipt = self._bus.do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt)

    def change_status(
        self,
        command: ActivateEntry | ArchiveEntry | RemoveEntry,
        *,
        by: Context,
        request_id: str | None = None,
    ) -> Receipt:
        """Activate, archive or remove an entry."""
        return self._bus.do(command, by=by, request_id=request_id)

    def import_entries(self, offers: Pack, *, by: Context) -> PackResult:
        """Import skills, personas and teams from a folder; existing ones are updated."""
        return self._each(offers, lambda offer: self._import(offer, by))

    def install(self, pack: Pack, *, by: Context) -> PackResult:
        """Install a pack, or what is new in it. What was removed here is not restored.

        What the user installs, or a host that they trust, is active at once; anyone else's pack
        stays inactive until the user activates it.
        """
        return self._each(pack, lambda offer: self._install(offer, pack.pack_id, by))

    def _each(self, pack: Pack, act: Callable[[PackEntry], EntryResult]) -> PackResult:
        """Process each offer; a rejected one is reported and does not stop the rest."""
        entries: list[EntryResult] = []
        troubles = list(pack.troubles)
        for offer in pack.offers:
            try:
                entries.append(act(offer))
            except Rejected as problem:
                troubles.append(PageProblem(offer.source, str(problem), problem.hint))
        return PackResult(pack.pack_id, tuple(entries), tuple(troubles))

    def _import(self, offer: PackEntry, by: Context) -> EntryResult:
        command = enlist_command(offer)
        try:
            self.find_entry(by.actor, command.sort, command.name)
        except NotFound:
            return self.enlist(command, by=by)
        revision = ReviseEntry(
            command.sort, command.name, command.profile, evidence=command.evidence or None
        )
        return self.revise(revision, by=by)

    def _install(self, offer: PackEntry, pack_id: str, by: Context) -> EntryResult:
        if offer.sort != "lesson":
            return self.enlist(enlist_command(offer, pack_id), by=by)
        done = self._teacher.propose(propose_command(offer, pack_id), by=by)
        what: ChangeKind = "known" if done.updated else "new"
        withheld = done.withheld or done.status is Status.PENDING
        return EntryResult("lesson", done.lesson_id, what, done.status, withheld, (done.position,))

    def _outcome(
        self, sort: Sort, name: str, receipt: Receipt, *, wanted: bool = True
    ) -> EntryResult:
        """The outcome of an append for an entry."""
        entry = self.log.state(CREW_ENTRY, entry_stream(sort, name))
        status = entry.status if entry else "removed"
        positions = tuple(fact.position for fact in receipt.facts)
        what: ChangeKind = "unchanged"
        if receipt.facts:
            what = "changed" if receipt.facts[0].because else "new"
        withheld = wanted and status == "draft"
        return EntryResult(sort, name, what, status, withheld, positions)
