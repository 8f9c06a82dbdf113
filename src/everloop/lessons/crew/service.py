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
from everloop.lessons.crew.pack import Offer, Pack, enlistment, proposal
from everloop.lessons.crew.queries import Headline, Whole, headlines, packs, whole
from everloop.lessons.crew.state import ENTRY, stream_of
from everloop.lessons.model.lifecycle import Status
from everloop.lessons.service import Teacher
from everloop.log import CommandBus, Context, Log, Receipt
from everloop.memory.markdown.folder import Trouble
from everloop.memory.projections.queries import asker

What = Literal["new", "changed", "unchanged", "known"]


class Enlisted(msgspec.Struct, frozen=True):
    """The outcome for an entry. `withheld`: it stays inactive until the user activates it.

    A lesson that was `known` has the pack's text now. `positions` are the recorded facts:
    retracting the first undoes all of them.
    """

    sort: str
    name: str
    what: What
    status: str
    withheld: bool
    positions: tuple[int, ...] = ()


class TakenIn(msgspec.Struct, frozen=True):
    """The outcome for a pack or a folder: each entry that was added, and each problem."""

    pack_id: str
    entries: tuple[Enlisted, ...]
    troubles: tuple[Trouble, ...]


class Guild:
    """Commands and queries on the crew, over one log."""

    def __init__(self, log: Log, bus: CommandBus, teacher: Teacher) -> None:
        self.log = log
        self._bus = bus
        self._teacher = teacher

    def headlines(
        self, principal: str, sort: Sort, statuses: Sequence[str] = ("draft", "active")
    ) -> list[Headline]:
        """The entries of a sort that the principal may see, by name."""
        with self.log.reading() as reader:
            return headlines(reader, asker(reader, principal), sort, statuses)

    def whole(self, principal: str, sort: Sort, name: str) -> Whole:
        """One entry in full, with the promoted lessons that target it.

        Raises:
            NotFound: there is none that the principal may see.
        """
        with self.log.reading() as reader:
            return whole(reader, asker(reader, principal), sort, name)

    def packs(self, principal: str) -> dict[str, dict[str, int]]:
        """The packs, each with how many visible entries of each sort it added."""
        with self.log.reading() as reader:
            return packs(reader, asker(reader, principal))

    def enlist(
        self, command: EnlistEntry, *, by: Context, request_id: str | None = None
    ) -> Enlisted:
        """Add a skill, persona or team.

        Raises:
            Conflict: there is one of that name.
        """
        receipt = self._bus.do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt, wanted=not command.draft)

    def revise(
        self, command: ReviseEntry, *, by: Context, request_id: str | None = None
    ) -> Enlisted:
        """Update an entry."""
        receipt = self._bus.do(command, by=by, request_id=request_id)
        return self._outcome(command.sort, command.name, receipt)

    def change(
        self,
        command: ActivateEntry | ArchiveEntry | RemoveEntry,
        *,
        by: Context,
        request_id: str | None = None,
    ) -> Receipt:
        """Activate, archive or remove an entry."""
        return self._bus.do(command, by=by, request_id=request_id)

    def take_in(self, offers: Pack, *, by: Context) -> TakenIn:
        """Import skills, personas and teams from a folder; existing ones are updated."""
        return self._each(offers, lambda offer: self._import(offer, by))

    def install(self, pack: Pack, *, by: Context) -> TakenIn:
        """Install a pack, or what is new in it. What was removed here is not restored.

        What the user installs, or a host that they trust, is active at once; anyone else's pack
        stays inactive until the user activates it.
        """
        return self._each(pack, lambda offer: self._install(offer, pack.pack_id, by))

    def _each(self, pack: Pack, act: Callable[[Offer], Enlisted]) -> TakenIn:
        """Process each offer; a rejected one is reported and does not stop the rest."""
        entries: list[Enlisted] = []
        troubles = list(pack.troubles)
        for offer in pack.offers:
            try:
                entries.append(act(offer))
            except Rejected as problem:
                troubles.append(Trouble(offer.source, str(problem), problem.hint))
        return TakenIn(pack.pack_id, tuple(entries), tuple(troubles))

    def _import(self, offer: Offer, by: Context) -> Enlisted:
        command = enlistment(offer)
        try:
            self.whole(by.actor, command.sort, command.name)
        except NotFound:
            return self.enlist(command, by=by)
        revision = ReviseEntry(
            command.sort, command.name, command.profile, evidence=command.evidence or None
        )
        return self.revise(revision, by=by)

    def _install(self, offer: Offer, pack_id: str, by: Context) -> Enlisted:
        if offer.sort != "lesson":
            return self.enlist(enlistment(offer, pack_id), by=by)
        done = self._teacher.propose(proposal(offer, pack_id), by=by)
        what: What = "known" if done.updated else "new"
        withheld = done.withheld or done.status is Status.PENDING
        return Enlisted("lesson", done.lesson_id, what, done.status, withheld, (done.position,))

    def _outcome(self, sort: Sort, name: str, receipt: Receipt, *, wanted: bool = True) -> Enlisted:
        """The outcome of an append for an entry."""
        entry = self.log.state(ENTRY, stream_of(sort, name))
        status = entry.status if entry else "removed"
        positions = tuple(fact.position for fact in receipt.facts)
        what: What = "unchanged"
        if receipt.facts:
            what = "changed" if receipt.facts[0].because else "new"
        withheld = wanted and status == "draft"
        return Enlisted(sort, name, what, status, withheld, positions)
